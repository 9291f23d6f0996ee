/**
 * How far a model's graphs are from its float oracle: at conversion over all logits, and later, without the checkpoint,
 * over the columns kept in `check.bin`. Never computes an oracle and never runs a graph itself.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { Manifest } from '../engine/graph-contract.js';
import { FILES } from '../engine/graph-contract.js';

/** Columns of the logits that are kept, about; a folder stays small whatever its vocabulary. */
const COLUMNS = 4096;

/** Logits of a prompt by each graph that makes them, float32 [n,V] each. */
export type GraphRunner = (
  folder: string,
  draft: Manifest,
  prompt: readonly number[],
  signal?: AbortSignal,
  onProgress?: ProgressListener,
) => Promise<{ readonly prefill: Float32Array; readonly prefillInt8?: Float32Array; readonly decode: Float32Array }>;

export function checkStride(vocabulary: number): number {
  return Math.ceil(vocabulary / COLUMNS);
}

/** logits [n,V] → every `stride`-th column, [n, ceil(V / stride)]. */
export function everyColumn(logits: Float32Array, vocabulary: number, stride: number): Float32Array {
  const columns = Math.ceil(vocabulary / stride);
  const rows = Math.floor(logits.length / vocabulary);
  return Float32Array.from({ length: rows * columns }, (_, i) => {
    return logits[Math.floor(i / columns) * vocabulary + (i % columns) * stride]!;
  });
}

/**
 * Throws `bad-format` for logits [n,V] of an oracle that nothing can be held against: in some row not finite, or all alike up
 * to the rounding of float32.
 */
export function mustVary(logits: Float32Array, vocabulary: number): void {
  const unusable = (what: string): LongviewError =>
    new LongviewError(
      'bad-format',
      `The model's logits ${what}: its weights are empty, damaged or not a trained model's. Get the checkpoint again.`,
    );
  for (let start = 0; start < logits.length; start += vocabulary) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = start; i < start + vocabulary; i++) {
      if (!Number.isFinite(logits[i])) throw unusable('are not finite numbers');
      low = Math.min(low, logits[i]!);
      high = Math.max(high, logits[i]!);
    }
    if (high - low <= 1e-6 * Math.max(high, -low)) throw unusable('do not vary');
  }
}

/** a, b [n,columns] → median over n of rms(a - b) / standard deviation(b). NaN where they can't be compared. */
export function medianDifference(a: Float32Array, b: Float32Array, columns: number): number {
  if (a.length !== b.length) return NaN;
  const differences: number[] = [];
  for (let start = 0; start < b.length; start += columns) {
    let [square, sum, sumOfSquares] = [0, 0, 0];
    for (let i = start; i < start + columns; i++) {
      square += (a[i]! - b[i]!) ** 2;
      sum += b[i]!;
      sumOfSquares += b[i]! ** 2;
    }
    differences.push(Math.sqrt(square / (sumOfSquares - sum ** 2 / columns)));
  }
  if (differences.some(Number.isNaN)) return NaN;
  differences.sort((x, y) => x - y);
  return differences[differences.length >> 1] ?? NaN;
}

/**
 * Runs an installed model's graphs on the prompt of its conversion and compares the stored columns. The model is sound
 * where `difference <= tolerance`; a difference that is not a number is not. Both are measured as in
 * `manifest.verification`, the difference over the stored columns only.
 * Throws `not-found` (no stored check), `bad-format` (a damaged one), `cancelled`, and what `run` throws.
 */
export async function verifyStoredCheck(
  folder: string,
  manifest: Manifest,
  run: GraphRunner,
  signal?: AbortSignal,
  onProgress?: ProgressListener,
): Promise<{ readonly difference: number; readonly tolerance: number }> {
  const { prompt, stride, tolerance } = manifest.verification;
  const { vocabulary } = manifest.architecture;
  const again = `Remove the model and add it again.`;
  const bytes = await readFile(join(folder, FILES.check)).catch((cause: unknown) => {
    throw new LongviewError('not-found', `Model ${manifest.name} has no ${FILES.check}. ${again}`, { cause });
  });
  const columns = Math.ceil(vocabulary / stride);
  if (bytes.length !== prompt.length * columns * 4) {
    throw new LongviewError('bad-format', `Model ${manifest.name}: ${FILES.check} is damaged. ${again}`);
  }
  const expected = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  throwIfCancelled(signal);
  const found = await run(folder, manifest, prompt, signal, onProgress);
  throwIfCancelled(signal);
  const differences = Object.values(found).map(logits =>
    medianDifference(everyColumn(logits, vocabulary, stride), expected, columns),
  );
  return { difference: Math.max(...differences), tolerance };
}
