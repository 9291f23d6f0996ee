/** Weights as the quantised models keep them, computed apart from the product, and how far logits are from an oracle's. */

/** Weights of one block. */
export const BLOCK = 32;

/** Weights as q8 keeps them: 127 steps to the largest of each block of 32. */
export function round8(weights: Float32Array): Float32Array {
  const rounded = new Float32Array(weights.length);
  for (let from = 0; from < weights.length; from += BLOCK) {
    const block = weights.subarray(from, from + BLOCK);
    const step = Math.fround(Math.max(...block.map(Math.abs)) / 127);
    rounded.set(
      block.map(weight => (step === 0 ? 0 : Math.round(weight / step) * step)),
      from,
    );
  }
  return rounded;
}

/** As q4 keeps them: 15 steps from the smallest to the largest of each block of 32. */
export function round4(weights: Float32Array): Float32Array {
  const rounded = new Float32Array(weights.length);
  for (let from = 0; from < weights.length; from += BLOCK) {
    const block = weights.subarray(from, from + BLOCK);
    const low = Math.min(...block);
    const step = (Math.max(...block) - low) / 15;
    rounded.set(
      block.map(weight => (step === 0 ? low : low + Math.round((weight - low) / step) * step)),
      from,
    );
  }
  return rounded;
}

/** a, b [n·V]: median over n of the root mean square difference over the spread of b. */
export function medianDifference(a: readonly number[], b: readonly number[], vocabulary: number): number {
  const perToken = Array.from({ length: b.length / vocabulary }, (_, token) => {
    const [actual, expected] = [a, b].map(all => all.slice(token * vocabulary, (token + 1) * vocabulary));
    const mean = expected!.reduce((sum, value) => sum + value, 0) / vocabulary;
    const square = (values: readonly number[]) => values.reduce((sum, value) => sum + value * value, 0);
    return Math.sqrt(
      square(actual!.map((value, i) => value - expected![i]!)) / square(expected!.map(value => value - mean)),
    );
  });
  return perToken.sort((x, y) => x - y)[perToken.length >> 1]!;
}
