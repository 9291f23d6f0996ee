// One task ranked by each method: the ranks of the right spans (or files: by their best span) for every question. Methods are
// functions from a question's text to scores of all spans; fusions add standardised scores.
import { cosine, standard, sum } from './figures.mjs';
import { wordScorer } from './words.mjs';

/** Texts of the task's spans, in their order. */
export function spanTexts({ files }) {
  return files.flatMap(({ lines, spans }) =>
    spans.map(({ startLine, endLine }) => lines.slice(startLine - 1, endLine).join('\n')),
  );
}

/** Rank of the best right one, from 1; a wrong one that ties with it counts as better. What is no number is the worst. */
export function rankOf(scores, right) {
  const value = at => (Number.isNaN(scores[at]) ? -Infinity : scores[at]);
  const own = Math.max(...right.map(value));
  const isRight = new Set(right);
  let rank = 1;
  for (let at = 0; at < scores.length; at++) if (!isRight.has(at) && value(at) >= own) rank++;
  return rank;
}

/**
 * Ranks by method: {method: [rank of each question]}. `encoder` as it is opened; `longview`: [{name, scorer}] where
 * `scorer.of(question)` gives `{attention, words, fused}`, scores of all spans.
 */
export async function rankedTask(task, encoder, longview = []) {
  const texts = spanTexts(task);
  const byWords = wordScorer(texts);
  const rows = await encoder.embedAll(texts);
  const asked = await encoder.embedAll(task.questions.map(({ text }) => text));
  const fileOf = task.files.flatMap(({ spans }, file) => spans.map(() => file));
  const ranks = {};
  for (const [at, { text, right }] of task.questions.entries()) {
    const words = byWords(text);
    const meaning = Float64Array.from(rows, row => cosine(asked[at], row));
    const scores = { BM25: words, MiniLM: meaning, 'MiniLM + BM25': sum(standard(meaning), standard(words)) };
    for (const { name, scorer } of longview) {
      const own = await scorer.of(text);
      scores[`Longview${name}, attention alone`] = own.attention;
      scores[`Longview${name}`] = own.fused;
      scores[`Longview${name} + MiniLM`] = sum(own.fused, standard(meaning));
      scores['Longview, words alone'] = own.words;
    }
    for (const [method, values] of Object.entries(scores)) {
      const ranked = task.isByFile ? bestOfFiles(values, fileOf, task.files.length) : values;
      (ranks[method] ??= []).push(rankOf(ranked, right));
    }
  }
  return ranks;
}

function bestOfFiles(scores, fileOf, files) {
  const best = new Float64Array(files).fill(-Infinity);
  scores.forEach((score, at) => (best[fileOf[at]] = Math.max(best[fileOf[at]], score)));
  return best;
}
