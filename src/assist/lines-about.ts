/** Which lines of a place say most about a question. Never asks the model. */
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
