/** float32 sums ⇄ int8 means with a scale per slot: what leaves the engine and lies on disk (slots.ts). Pure. */
import type { PackedSlots, RecallSlots } from './slots.js';
import type { KeySlots, Slots } from './state.js';

export function packSlots(state: Slots): PackedSlots {
  const { groups, slots, headSize } = state;
  const keys = packMeans(state.keySum, state.count, headSize);
  const values = packMeans(state.valueSum, state.count, headSize);
  return {
    groups,
    slots,
    headSize,
    keys: keys.rows,
    keyScales: keys.scales,
    values: values.rows,
    valueScales: values.scales,
    counts: state.count,
    keyRadii: state.keyRadius,
    valueRadii: state.valueRadius,
  };
}

export function unpackSlots(packed: PackedSlots): Slots {
  const { groups, slots, headSize } = packed;
  return {
    groups,
    slots,
    headSize,
    keySum: unpackSums(packed.keys, packed.keyScales, packed.counts, headSize),
    valueSum: unpackSums(packed.values, packed.valueScales, packed.counts, headSize),
    count: packed.counts,
    keyRadius: packed.keyRadii,
    valueRadius: packed.valueRadii,
  };
}

export function packRecall(state: KeySlots): RecallSlots {
  const { rows, scales } = packMeans(state.keySum, state.count, state.headSize);
  return { heads: state.groups, slots: state.slots, headSize: state.headSize, keys: rows, scales, counts: state.count };
}

/** sums [R,d], counts [R] → int8 rows [R,d] and scales [R]: mean = row x scale. */
function packMeans(sums: Float32Array, counts: Float32Array, size: number): { rows: Int8Array; scales: Float32Array } {
  const rows = new Int8Array(sums.length);
  const scales = new Float32Array(counts.length);
  for (let row = 0; row < counts.length; row++) {
    const start = row * size;
    let largest = 0;
    for (let i = start; i < start + size; i++) largest = Math.max(largest, Math.abs(sums[i]!));
    scales[row] = largest / 127 / counts[row]!;
    if (largest === 0) continue;
    for (let i = start; i < start + size; i++) rows[i] = Math.round((sums[i]! / largest) * 127);
  }
  return { rows, scales };
}

function unpackSums(rows: Int8Array, scales: Float32Array, counts: Float32Array, size: number): Float32Array {
  const sums = new Float32Array(rows.length);
  for (let row = 0; row < counts.length; row++) {
    const factor = scales[row]! * counts[row]!;
    for (let i = row * size; i < (row + 1) * size; i++) sums[i] = rows[i]! * factor;
  }
  return sums;
}
