/** Which lines of a place, and which part of a long line, say most about a question. Never asks the model. */
import { questionTerms, termsOf, type RecalledSpan } from '../memory/index.js';

/**
 * Where the `count` neighbouring lines of a place begin that say most about the question: those around what its attention
 * found most or, where that is not known, those that hold most of its words, the first of equal ones.
 */
export function linesAbout(
  { startLine, focus }: Pick<RecalledSpan, 'startLine' | 'focus'>,
  lines: readonly string[],
  question: string,
  count: number,
): number {
  if (!focus) return linesWithWords(lines, question, count);
  const around = Math.floor((count - (focus.endLine - focus.startLine + 1)) / 2);
  const first = focus.startLine - startLine - Math.max(0, around);
  return Math.max(0, Math.min(first, lines.length - count));
}

/** Pieces that a shown part of a line is made of, and those of them that are compared; the others stand around these. */
const PIECES = 8;
const COMPARED = 4;

/** `most` characters of a longer line at most, and where they begin: those with most words of the question, else its first. */
export function partAbout(
  line: string,
  question: string,
  most: number,
): { readonly start: number; readonly text: string } {
  if (line.length <= most) return { start: 0, text: line };
  const size = Math.max(1, Math.floor(most / PIECES));
  const pieces = line.match(new RegExp(`[^]{1,${size}}(?!\\S)|[^]{1,${size}}`, 'gu')) ?? [];
  const best = linesWithWords(pieces, question, COMPARED) - (PIECES - COMPARED) / 2;
  const first = Math.max(0, Math.min(best, pieces.length - PIECES));
  return { start: pieces.slice(0, first).join('').length, text: pieces.slice(first, first + PIECES).join('') };
}

function linesWithWords(lines: readonly string[], question: string, count: number): number {
  const asked = new Set(questionTerms(question));
  const found = lines.map(line => new Set(termsOf(line).filter(term => asked.has(term))));
  let [best, most] = [0, -1];
  for (let first = 0; first === 0 || first + count <= lines.length; first++) {
    const own = found.slice(first, first + count);
    // Every word once, then how often.
    const value = new Set(own.flatMap(one => [...one])).size + own.reduce((sum, { size }) => sum + size, 0) / 100;
    if (value > most) [best, most] = [first, value];
  }
  return best;
}
