/**
 * float32 sums ⇄ int8 means with a scale per slot: what leaves the engine and lies on disk (slots.ts); a composed state's are
 * int16, since it is packed again after each patch. Pure.
 */
import type { PackedSlots, RecallSlots, StateSlots } from './slots.js';
import type { KeySlots, Slots } from './state.js';

type Rows = Int8Array | Int16Array;

export function packSlots(state: Slots): PackedSlots {
  return packInto(state, new Int8Array(state.keySum.length), new Int8Array(state.valueSum.length));
}

/** The same in int16. */
export function packFinely(state: Slots): PackedSlots<Int16Array> {
  return packInto(state, new Int16Array(state.keySum.length), new Int16Array(state.valueSum.length));
}

/** A composed state as a gist: it can be put into others, and not be patched any more. */
export function packAsGist(state: StateSlots): PackedSlots {
  return packSlots(unpackSlots(state));
}

function packInto<R extends Rows>(state: Slots, keys: R, values: R): PackedSlots<R> {
  const { groups, slots, headSize } = state;
  return {
    groups,
    slots,
    headSize,
    keys,
    keyScales: packMeans(state.keySum, state.count, headSize, keys),
    values,
    valueScales: packMeans(state.valueSum, state.count, headSize, values),
    counts: state.count,
    keyRadii: state.keyRadius,
    valueRadii: state.valueRadius,
  };
}

export function unpackSlots(packed: PackedSlots<Rows>): Slots {
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
  const keys = new Int8Array(state.keySum.length);
  const scales = packMeans(state.keySum, state.count, state.headSize, keys);
  return { heads: state.groups, slots: state.slots, headSize: state.headSize, keys, scales, counts: state.count };
}

export function unpackRecall({ heads, slots, headSize, keys, scales, counts }: RecallSlots): KeySlots {
  return { groups: heads, slots, headSize, keySum: unpackSums(keys, scales, counts, headSize), count: counts };
}

/** sums [R,d], counts [R] → `rows` [R,d] and their scales [R]: mean = row x scale. */
function packMeans(sums: Float32Array, counts: Float32Array, size: number, rows: Rows): Float32Array {
  const scales = new Float32Array(counts.length);
  for (let row = 0; row < counts.length; row++) scales[row] = packMean(sums, counts[row]!, row, size, rows);
  return scales;
}

/** Writes one of `rows` and gives its scale; of a free slot both are 0. */
export function packMean(sums: Float32Array, count: number, row: number, size: number, rows: Rows): number {
  const most = rows instanceof Int8Array ? 127 : 32767;
  const [start, end] = [row * size, (row + 1) * size];
  let largest = 0;
  for (let i = start; i < end; i++) largest = Math.max(largest, Math.abs(sums[i]!));
  if (largest === 0) {
    rows.fill(0, start, end);
    return 0;
  }
  for (let i = start; i < end; i++) rows[i] = Math.round((sums[i]! / largest) * most);
  return largest / most / count;
}

function unpackSums(rows: Rows, scales: Float32Array, counts: Float32Array, size: number): Float32Array {
  const sums = new Float32Array(rows.length);
  for (let row = 0; row < counts.length; row++) {
    const factor = scales[row]! * counts[row]!;
    for (let i = row * size; i < (row + 1) * size; i++) sums[i] = rows[i]! * factor;
  }
  return sums;
}
