// From ranks to figures: mean reciprocal rank and recall at 1 and 5, with 95 % intervals by a bootstrap over questions whose
// random numbers are seeded. Knows nothing of what was ranked.
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';

const { seededRandom } = await import(join(root, 'out/test/reference/tiny-model.js'));

export const RESAMPLES = 2000;

/** Scores in units of their standard deviation. */
export function standard(scores) {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const spread = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  return Float64Array.from(scores, score => (score - mean) / Math.max(spread, 1e-6));
}

/** Of two rows of length 1. */
export function cosine(a, b) {
  let dot = 0;
  for (let i = 0; i < a.length; i++) dot += a[i] * b[i];
  return dot;
}

export function sum(a, b) {
  return Float64Array.from(a, (value, at) => value + b[at]);
}

/** Of ranks (Infinity: not found): each figure with its interval. */
export function figuresOf(ranks, seed = 1) {
  const of = pick => interval(ranks, pick, seed);
  return { mrr: of(reciprocal), at1: of(rank => Number(rank <= 1)), at5: of(rank => Number(rank <= 5)) };
}

/** MRR of one method over that of another on the same questions, resampled together. */
export function ratioOf(ranks, others, seed = 1) {
  const [a, b] = [ranks.map(reciprocal), others.map(reciprocal)];
  const value = mean(a) / mean(b);
  const random = seededRandom(seed);
  const samples = Array.from({ length: RESAMPLES }, () => {
    let [over, under] = [0, 0];
    for (let i = 0; i < a.length; i++) {
      const at = Math.floor(random() * a.length);
      over += a[at];
      under += b[at];
    }
    return over / under;
  });
  return { value, ...bounds(samples) };
}

function interval(ranks, pick, seed) {
  const values = ranks.map(pick);
  const random = seededRandom(seed);
  const samples = Array.from({ length: RESAMPLES }, () => {
    let total = 0;
    for (let i = 0; i < values.length; i++) total += values[Math.floor(random() * values.length)];
    return total / values.length;
  });
  return { value: mean(values), ...bounds(samples) };
}

function bounds(samples) {
  samples.sort((a, b) => a - b);
  return { low: samples[Math.floor(0.025 * samples.length)], high: samples[Math.ceil(0.975 * samples.length) - 1] };
}

function reciprocal(rank) {
  return 1 / rank;
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function shuffled(items, seed) {
  const random = seededRandom(seed);
  const out = [...items];
  for (let at = out.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [out[at], out[other]] = [out[other], out[at]];
  }
  return out;
}
