/** Which lines of a text say most about a question, by its words. Never asks the model. */
import { questionTerms, termsOf } from '../memory/index.js';

/** Where the `count` neighbouring lines begin that hold most words of the question; the first of equal ones. */
export function linesAbout(lines: readonly string[], question: string, count: number): number {
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
