/**
 * BM25 over the blocks of files, to be fused with the attention score: exact words help where a question names them.
 * Keeps, per file, which terms stand on which lines; never the text.
 */
import type { Block } from './block.js';
import { GiveWay } from './give-way.js';

const K1 = 1.2;
const B = 0.75;
/** A term in the line that names a block counts as that many more. */
const NAME_WEIGHT = 2;

/** Words that say how a question is asked, not what about. */
const stopWords = new Set(
  (
    'a an and any are as at be been but by can could did do does for from had has have how i if in into is it its me my of on or our ' +
    'shall should so than that the their them then there these they this those to us was we were what when where which while who whose why ' +
    'will with would you your function method class file files code place places line lines'
  )
    .split(' ')
    .map(stem),
);

/** Of a longer word, such as data in letters, pieces: a regular expression does not walk through megabytes of it. */
const word = /[\p{L}\p{N}_$]{1,1000}/gu;
const wordPart = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\p{N}+/gu;
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;

/** Terms of a text, lower case: whole words, the parts of compound identifiers, pairs of characters where words have no spaces. */
export function termsOf(text: string): string[] {
  return [...eachTerm(text)];
}

function* eachTerm(text: string): Generator<string> {
  for (const [whole] of text.matchAll(word)) {
    const parts = whole.match(wordPart) ?? [];
    if (parts.length !== 1 && whole.length <= 80) yield whole.toLowerCase();
    for (const part of parts) {
      if (unspaced.test(part)) for (let i = 0; i + 1 < part.length; i++) yield part.slice(i, i + 2);
      else if (part.length <= 40) yield stem(part.toLowerCase());
    }
  }
}

/** Terms of a question: each once, without the words of asking (unless nothing else is left). */
export function questionTerms(question: string): string[] {
  const all = [...new Set(termsOf(question))];
  const rest = all.filter(term => !stopWords.has(term));
  return rest.length > 0 ? rest : all;
}

/** Plural and verb endings off; enough for `retries`/`retry`, `sends`/`send`, `parsing`/`parse`. */
function stem(term: string): string {
  if (term.length > 4 && term.endsWith('ies')) return `${term.slice(0, -3)}y`;
  let out = term;
  if (out.length > 3 && out.endsWith('s') && !/(?:ss|us|is)$/.test(out)) out = out.slice(0, -1);
  if (out.length > 5 && out.endsWith('ing')) out = out.slice(0, -3);
  else if (out.length > 4 && out.endsWith('ed')) out = out.slice(0, -2);
  if (out.length > 3 && out.endsWith('e')) out = out.slice(0, -1);
  return out;
}

/** Terms taken from a line, which may have megabytes, without a break. */
const TERMS_AT_ONCE = 1000;

/** Where the terms of one text stand. */
export class TermIndex {
  private constructor(
    /** Lines (from 1, ascending, repeated per occurrence) of each term. */
    private readonly lines: ReadonlyMap<string, readonly number[]>,
    /** uint32 [lines+1]: terms before each line. */
    private readonly before: Uint32Array,
    private readonly linesBefore: number,
  ) {}

  /** `linesBefore`: lines of the file before the first of these; blocks are numbered as in the file. */
  static async of(lines: readonly string[], linesBefore = 0): Promise<TermIndex> {
    const found = new Map<string, number[]>();
    const before = new Uint32Array(lines.length + 1);
    const way = new GiveWay();
    let total = 0;
    for (const [index, line] of lines.entries()) {
      for (const term of eachTerm(line)) {
        const at = found.get(term);
        if (at) at.push(index + 1);
        else found.set(term, [index + 1]);
        if (++total % TERMS_AT_ONCE === 0) await way.step();
      }
      before[index + 1] = total;
    }
    return new TermIndex(found, before, linesBefore);
  }

  /** Rough size in memory. */
  get bytes(): number {
    return this.lines.size * 100 + this.total * 8 + this.before.byteLength;
  }

  /** Occurrences of a term in a block. */
  count(term: string, block: Block): number {
    const at = this.lines.get(term);
    const { linesBefore } = this;
    return at ? firstAtLeast(at, block.endLine + 1 - linesBefore) - firstAtLeast(at, block.startLine - linesBefore) : 0;
  }

  /** Occurrences of a term in the whole text. */
  countAll(term: string): number {
    return this.lines.get(term)?.length ?? 0;
  }

  /** Terms in the whole text. */
  get total(): number {
    return this.before.at(-1)!;
  }

  /** True if the line that names the block has the term. */
  names(term: string, { startLine, headLine = startLine }: Block): boolean {
    const at = this.lines.get(term);
    const line = headLine - this.linesBefore;
    return at?.[firstAtLeast(at, line)] === line;
  }

  /** Terms in a block. */
  length(block: Block): number {
    const [first, last] = [block.startLine - this.linesBefore, block.endLine - this.linesBefore];
    return this.before[Math.min(last, this.before.length - 1)]! - this.before[first - 1]!;
  }
}

function firstAtLeast(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface IndexedText {
  readonly index: TermIndex;
  readonly blocks: readonly Block[];
}

/** BM25 of each block of each text, in order; blocks of all texts are one collection. */
export async function bm25(terms: readonly string[], texts: readonly IndexedText[]): Promise<Float64Array> {
  const total = texts.reduce((sum, text) => sum + text.blocks.length, 0);
  const lengths = new Float64Array(total);
  await each(texts, (index, block, at) => (lengths[at] = index.length(block)));
  const collection = new Bm25(lengths);
  const counts = new Float64Array(total);
  for (const term of terms) {
    await each(texts, (index, block, at) => {
      counts[at] = index.count(term, block) + (index.names(term, block) ? NAME_WEIGHT : 0);
    });
    collection.add(counts);
  }
  return collection.scores;
}

/** BM25 of each text as a whole, in order: what the words of a question say of the files that blocks stand in. */
export async function bm25OfTexts(
  terms: readonly string[],
  texts: readonly { readonly index: TermIndex; readonly path: string }[],
): Promise<Float64Array> {
  const way = new GiveWay();
  const names: Set<string>[] = [];
  for (const { path } of texts) {
    names.push(new Set(termsOf(path)));
    await way.step();
  }
  const collection = new Bm25(Float64Array.from(texts, ({ index }) => index.total));
  for (const term of terms) {
    collection.add(
      Float64Array.from(texts, ({ index }, at) => index.countAll(term) + (names[at]!.has(term) ? NAME_WEIGHT : 0)),
    );
    await way.step();
  }
  return collection.scores;
}

/** Scores of some texts of these lengths, term by term. */
class Bm25 {
  readonly scores: Float64Array;
  private readonly mean: number;

  constructor(private readonly lengths: Float64Array) {
    this.scores = new Float64Array(lengths.length);
    this.mean = lengths.reduce((sum, n) => sum + n, 0) / Math.max(1, lengths.length) || 1;
  }

  /** How often each text has one more of the question's terms. */
  add(counts: Float64Array): void {
    const { lengths, scores, mean } = this;
    const total = lengths.length;
    const having = counts.reduce((sum, n) => sum + (n > 0 ? 1 : 0), 0);
    const rarity = Math.log(1 + (total - having + 0.5) / (having + 0.5));
    counts.forEach((n, at) => {
      if (n > 0) scores[at]! += (rarity * n * (K1 + 1)) / (n + K1 * (1 - B + (B * lengths[at]!) / mean));
    });
  }
}

async function each(
  texts: readonly IndexedText[],
  visit: (index: TermIndex, block: Block, at: number) => void,
): Promise<void> {
  const way = new GiveWay();
  let at = 0;
  for (const { index, blocks } of texts) {
    for (const block of blocks) visit(index, block, at++);
    await way.step();
  }
}
