/** Copies rows of arrays whose rows are of different length. */

/** `count` runs of `length` values, which begin every `fromStride` and `toStride` values. */
export function copyRuns(
  from: Float32Array,
  to: Float32Array,
  count: number,
  fromStride: number,
  toStride: number,
  length: number,
): void {
  for (let run = 0; run < count; run++) {
    to.set(from.subarray(run * fromStride, run * fromStride + length), run * toStride);
  }
}
