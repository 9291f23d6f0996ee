/**
 * The texts that recall chooses among: files, or stretches of long ones, as they were read in parts. A stretch owns whole
 * lines; a block that begins in it may end in the next. Never scores and never reads files.
 */
import { MAX_BLOCK_LINES, type Block } from './block.js';
import { blocksOf, linesOf } from './blocks.js';
import { GiveWay } from './give-way.js';
import { TermIndex } from './lexical.js';
import type { IndexedPart } from './recall-index.js';
import { lastLineOf } from './text-mass.js';
import type { CutText } from './text-cache.js';

export interface RecalledText {
  readonly path: string;
  /** Hash of the file. */
  readonly contentHash: string;
  /** Lines of the file that are its own, both ends included; a file's last stretch goes on for ever. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** Positions, among all parts, of those that its blocks may touch. */
  readonly parts: readonly number[];
}

/** One text for each line of a file that a part begins in; `parts` are ordered as `RecallIndex.all` gives them. */
export function recalledTexts(parts: readonly IndexedPart[]): RecalledText[] {
  const texts: RecalledText[] = [];
  for (let from = 0; from < parts.length;) {
    const { path, contentHash } = parts[from]!;
    let to = from + 1;
    while (parts[to]?.path === path) to++;
    const starts = [...new Set(parts.slice(from, to).map(part => part.firstLine))];
    starts.forEach((firstLine, at) => {
      const lastLine = (starts[at + 1] ?? Infinity) - 1;
      const touched: number[] = [];
      for (let i = from; i < to; i++) {
        const part = parts[i]!;
        if (part.firstLine <= lastLine + MAX_BLOCK_LINES && lastLineOf(part) >= firstLine) touched.push(i);
      }
      texts.push({ path, contentHash, firstLine, lastLine, parts: touched });
    });
    from = to;
  }
  return texts;
}

/** Ends of lines looked for without a break. */
const LINES_AT_ONCE = 10_000;

/** The lines of a text, of which some are looked at: an array of all would take several times its size. */
export class FileLines {
  private constructor(
    private readonly text: string,
    /** Where each line begins, and one more. */
    private readonly starts: readonly number[],
  ) {}

  static async of(text: string): Promise<FileLines> {
    const starts = [0];
    const way = new GiveWay();
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      starts.push(at + 1);
      if (starts.length % LINES_AT_ONCE === 0) await way.step();
    }
    starts.push(text.length + 1);
    return new FileLines(text, starts);
  }

  get count(): number {
    return this.starts.length - 1;
  }

  /** Lines from 1, both ends included; what is outside is left out. */
  between(first: number, last: number): string[] {
    const from = Math.max(1, first);
    const to = Math.min(this.count, last);
    if (from > to) return [];
    let end = this.starts[to]! - 1;
    if (to < this.count && this.text[end - 1] === '\r') end--;
    return linesOf(this.text.slice(this.starts[from - 1], end));
  }
}

/** Text of a place that is shown at most: a line may have megabytes. */
export const MOST_CHARACTERS = 20_000;

/** Exact text of lines, both ends included, as far as it is shown; the last line of that, and how many characters are left out. */
export function shownText(
  lines: FileLines,
  startLine: number,
  endLine: number,
): { readonly endLine: number; readonly text: string; readonly cut?: number } {
  const whole = lines.between(startLine, endLine).join('\n');
  if (whole.length <= MOST_CHARACTERS) return { endLine, text: whole };
  const splits = /[\ud800-\udbff]/.test(whole[MOST_CHARACTERS - 1]!);
  const text = whole.slice(0, MOST_CHARACTERS - (splits ? 1 : 0));
  return { endLine: startLine + linesOf(text).length - 1, text, cut: whole.length - text.length };
}

/** Blocks that begin in a text's own lines, numbered as in the file, and its terms. */
export async function cutText({ path, firstLine, lastLine }: RecalledText, lines: FileLines): Promise<CutText> {
  const first = Math.max(1, firstLine - MAX_BLOCK_LINES);
  const own = lines.between(first, lastLine + MAX_BLOCK_LINES);
  const before = first - 1;
  const blocks: Block[] = [];
  for (const { startLine, endLine, headLine } of blocksOf(path, own)) {
    const block = { startLine: Math.max(firstLine, startLine + before), endLine: endLine + before };
    if (block.startLine > lastLine || block.endLine < firstLine) continue;
    blocks.push(headLine === undefined ? block : { ...block, headLine: Math.max(firstLine, headLine + before) });
  }
  return { blocks, terms: await TermIndex.of(own, before) };
}
