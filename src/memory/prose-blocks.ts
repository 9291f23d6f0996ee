/**
 * Blocks of prose: sections by their headings (Markdown, reStructuredText, AsciiDoc, Org), paragraphs within them.
 * Headings inside fenced code do not count. Never looks at what the words say.
 */
import { MAX_BLOCK_LINES, packed, type Block } from './block.js';

const heading = /^(#{1,6}|={1,6}|\*{1,6})\s+\S/;
const underline = /^([=\-~^"'+#*])\1{2,}\s*$/;
const fence = /^\s*(```|~~~)/;
/** Paragraphs are shown in runs of about that many lines or characters. */
const RUN_LINES = 15;
const RUN_CHARACTERS = 1500;

interface Heading {
  readonly line: number;
  readonly level: number;
}

export function proseBlocks(lines: readonly string[]): Block[] {
  const headings = headingsOf(lines);
  const out: Block[] = [];
  const lastLine = (from: number, before: number): number => {
    let last = before - 1;
    while (last > from && lines[last - 1]!.trim() === '') last--;
    return last;
  };
  const starts: Heading[] = headings[0]?.line === 1 ? headings : [{ line: 1, level: 7 }, ...headings];
  starts.forEach((at, index) => {
    const own = lastLine(at.line, starts[index + 1]?.line ?? lines.length + 1);
    const deeper = starts.slice(index + 1).find(other => other.level <= at.level);
    const whole = at.level === 7 ? own : lastLine(at.line, deeper?.line ?? lines.length + 1);
    if (whole - at.line < MAX_BLOCK_LINES) out.push({ startLine: at.line, endLine: whole });
    const runs = packed(paragraphsOf(lines, at.line, own), RUN_LINES);
    if (own - at.line < MAX_BLOCK_LINES) out.push({ startLine: at.line, endLine: own });
    if (runs.length > 1) out.push(...runs);
  });
  return out.filter(block => lines.slice(block.startLine - 1, block.endLine).some(line => line.trim() !== ''));
}

function headingsOf(lines: readonly string[]): Heading[] {
  const out: Heading[] = [];
  const underlines: string[] = [];
  let fenced = false;
  lines.forEach((line, index) => {
    if (fence.test(line)) fenced = !fenced;
    if (fenced) return;
    const marked = heading.exec(line);
    const under = underline.exec(lines[index + 1] ?? '');
    if (marked) out.push({ line: index + 1, level: marked[1]!.length });
    else if (
      under &&
      /^\S/.test(line) &&
      !underline.test(line) &&
      lines[index + 1]!.trim().length + 2 >= line.trim().length
    ) {
      const mark = under[1]!;
      if (!underlines.includes(mark)) underlines.push(mark);
      out.push({ line: index + 1, level: underlines.indexOf(mark) + 1 });
    }
  });
  return out;
}

function paragraphsOf(lines: readonly string[], first: number, last: number): Block[] {
  const out: Block[] = [];
  let start = 0;
  let characters = 0;
  for (let line = first; line <= last + 1; line++) {
    const text = line <= last ? lines[line - 1]! : '';
    if (text.trim() === '' || characters > RUN_CHARACTERS) {
      if (start) out.push({ startLine: start, endLine: line - 1 });
      start = text.trim() === '' ? 0 : line;
      characters = text.length;
    } else {
      start ||= line;
      characters += text.length;
    }
  }
  return out;
}
