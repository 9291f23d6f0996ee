/**
 * Opens the golden cases under `test/fixtures/golden` and compares lists of numbers with them.
 * Never writes: the golden files come from the authors' and Hugging Face's own code (see their READMEs).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Tensor, Tensors } from '../reference/safetensors.js';
import { floatValues, readSafetensors } from '../reference/safetensors.js';

const root = new URL('../../../test/fixtures/golden/', import.meta.url);

export function goldenPath(name: string): string {
  return fileURLToPath(new URL(name, root));
}

export interface GoldenCase<Config> {
  readonly config: Config;
  readonly weights: Map<string, Float32Array>;
  readonly golden: Tensors;
}

/** Case `name`, with the weights of `weightsFile` (relative to the golden folder). */
export function openCase<Config>(name: string, weightsFile: string): GoldenCase<Config> {
  return {
    config: JSON.parse(readFileSync(goldenPath(`${name}/config.json`), 'utf8')) as Config,
    weights: floatValues(readSafetensors(goldenPath(weightsFile))),
    golden: readSafetensors(goldenPath(`${name}/golden.safetensors`)),
  };
}

export function tensor(tensors: Tensors, name: string): Tensor {
  const found = tensors.get(name);
  assert(found, `the golden file has no ${name}`);
  return found;
}

/** The rows of a tensor [rows, ...], as views. */
export function rowsOf({ shape, data }: Tensor): (Float32Array | Int32Array)[] {
  const [rows = 0] = shape;
  const width = data.length / rows;
  return Array.from({ length: rows }, (_, i) => data.subarray(i * width, (i + 1) * width));
}

/** Largest absolute difference; infinite where the lengths differ or a value is not a number. */
export function largestDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Infinity;
  let largest = 0;
  for (let i = 0; i < actual.length; i++) {
    const difference = Math.abs(actual[i]! - expected[i]!);
    largest = difference <= largest ? largest : Number.isNaN(difference) ? Infinity : difference;
  }
  return largest;
}

/** Fails unless every number is within `tolerance` of its golden one. */
export function assertClose(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): void {
  const difference = largestDifference(actual, expected);
  assert(
    difference <= tolerance,
    `${what}: off by ${difference} (lengths ${actual.length}, ${expected.length}), allowed ${tolerance}`,
  );
}
