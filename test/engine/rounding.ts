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

/** To float16 by its definition: 11 significant bits, steps of 2^-24 below 2^-14, ties to even. */
export function round16(weights: Float32Array): Float32Array {
  return weights.map(weight => {
    const exponent = Math.max(Math.floor(Math.log2(Math.abs(weight))), -14);
    const step = 2 ** (exponent - 10);
    const down = Math.floor(weight / step);
    const over = weight / step - down;
    const up = over > 0.5 || (over === 0.5 && down % 2 !== 0);
    return (up ? down + 1 : down) * step;
  });
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
