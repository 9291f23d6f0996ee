/**
 * Rows of weights → stored blocks of 32 (graphs/linear.ts has the formulas). Pure.
 * Blocks that the checkpoint already holds in the same form are taken over exactly.
 */
import type { QuantisedBlocks } from './checkpoint/index.js';
import { BLOCK } from './graphs/linear.js';

/** R rows of `inputs` weights; B = inputs / 32 blocks a row. */
export interface Blocks {
  /** uint8 [R,B,32] (q8) or [R,B,16], low nibble first (q4). */
  readonly blocks: Uint8Array;
  /** float32 [R,B]. */
  readonly scales: Float32Array;
  /** float32 [R,B], q4 only: minimum + 8·scale. */
  readonly offsets?: Float32Array;
}

/** weight = scale·(q - 128). */
export function quantise8(rows: Float32Array): Blocks {
  const count = rows.length / BLOCK;
  const blocks = new Uint8Array(rows.length);
  const scales = new Float32Array(count);
  for (let b = 0; b < count; b++) {
    let largest = 0;
    for (let i = b * BLOCK; i < (b + 1) * BLOCK; i++) largest = Math.max(largest, Math.abs(rows[i]!));
    const scale = largest / 127;
    scales[b] = scale;
    for (let i = b * BLOCK; i < (b + 1) * BLOCK; i++)
      blocks[i] = scale === 0 ? 128 : Math.round(rows[i]! / scale) + 128;
  }
  return { blocks, scales };
}

/** weight = scale·(q - 8) + offset, q in 0..15 spread between the block's smallest and largest weight. */
export function quantise4(rows: Float32Array): Blocks {
  const count = rows.length / BLOCK;
  const quants = new Int8Array(rows.length);
  const scales = new Float32Array(count);
  const minima = new Float32Array(count);
  for (let b = 0; b < count; b++) {
    let low = Infinity;
    let high = -Infinity;
    for (let i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
      low = Math.min(low, rows[i]!);
      high = Math.max(high, rows[i]!);
    }
    const scale = (high - low) / 15;
    scales[b] = scale;
    minima[b] = low;
    for (let i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
      quants[i] = scale === 0 ? 0 : Math.min(15, Math.max(0, Math.round((rows[i]! - low) / scale)));
    }
  }
  return pack4(quants, scales, minima);
}

/** The checkpoint's own blocks, when they are of this form; undefined otherwise. */
export function takeOver(stored: QuantisedBlocks, kind: 'q8' | 'q4'): Blocks | undefined {
  if (kind === 'q8' && stored.dtype === 'Q8_0') {
    return { blocks: Uint8Array.from(stored.values, q => q + 128), scales: stored.scales };
  }
  if (kind === 'q4' && stored.dtype === 'Q4_1' && stored.mins) return pack4(stored.values, stored.scales, stored.mins);
  if (kind === 'q4' && stored.dtype === 'Q4_0') {
    return pack4(
      stored.values.map(q => q + 8),
      stored.scales,
      stored.scales.map(scale => -8 * scale),
    );
  }
  return undefined;
}

function pack4(quants: Int8Array, scales: Float32Array, minima: Float32Array): Blocks {
  const blocks = new Uint8Array(quants.length / 2);
  for (let i = 0; i < blocks.length; i++) blocks[i] = quants[2 * i]! | (quants[2 * i + 1]! << 4);
  return { blocks, scales, offsets: minima.map((minimum, i) => minimum + 8 * scales[i]!) };
}
