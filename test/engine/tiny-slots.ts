/**
 * Random slots for the fold tests, and the same slots as the float64 oracle holds them. Never runs a graph.
 * Keys stay in the engine's order of dimensions: cosines don't mind.
 */
import assert from 'node:assert/strict';
import type { KeySlots, Slots } from '../../src/engine/state.js';
import { assertClose } from '../oracle/golden.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';

export interface SlotShape {
  readonly groups: number;
  readonly slots: number;
  readonly headSize: number;
}

/** Sums of `count` (1 to 9) random vectors' size each; radii that differ from the sums' lengths, so mixing them up shows. */
export function randomSlots({ groups, slots, headSize }: SlotShape, random: () => number): Slots {
  const rows = groups * slots;
  const values = (length: number, valueAt: (i: number) => number): Float32Array =>
    Float32Array.from({ length }, (_, i) => valueAt(i));
  const count = values(rows, () => 1 + Math.floor(random() * 9));
  const sums = () => values(rows * headSize, i => (random() * 2 - 1) * count[Math.floor(i / headSize)]!);
  const radii = () => values(rows, () => 0.5 + random());
  return {
    ...{ groups, slots, headSize, count },
    ...{ keySum: sums(), valueSum: sums(), keyRadius: radii(), valueRadius: radii() },
  };
}

/** Slots of count 1 and length 1 whose keys are plus or minus an axis: their cosines are exactly -1, 0 or 1. */
export function axisSlots({ groups, slots, headSize }: SlotShape, random: () => number): Slots {
  const rows = groups * slots;
  const keySum = new Float32Array(rows * headSize);
  for (let row = 0; row < rows; row++) {
    keySum[row * headSize + Math.floor(random() * headSize)] = random() < 0.5 ? -1 : 1;
  }
  const ones = new Float32Array(rows).fill(1);
  return { groups, slots, headSize, keySum, valueSum: keySum, count: ones, keyRadius: ones, valueRadius: ones };
}

/** [group][slot]. */
export function toOracle(state: Slots): RetrofitSlot[][] {
  const { groups, slots, headSize } = state;
  return Array.from({ length: groups }, (_, group) =>
    Array.from({ length: slots }, (__, slot) => {
      const row = group * slots + slot;
      const vector = (sums: Float32Array) => Float64Array.from(sums.subarray(row * headSize, (row + 1) * headSize));
      return {
        key: vector(state.keySum),
        value: vector(state.valueSum),
        count: state.count[row]!,
        keyRadius: state.keyRadius[row]!,
        valueRadius: state.valueRadius[row]!,
      };
    }),
  );
}

/** Key sums and counts within `tolerance` of the oracle's. */
export function assertKeySlots(
  actual: KeySlots,
  expected: readonly (readonly RetrofitSlot[])[],
  tolerance: number,
): void {
  const all = expected.flat();
  assert.equal(actual.groups, expected.length, 'groups');
  assert.equal(actual.slots * actual.groups, all.length, 'slots');
  assertClose(
    'counts',
    actual.count,
    all.map(slot => slot.count),
    0,
  );
  assertClose(
    'key sums',
    actual.keySum,
    all.flatMap(slot => [...slot.key]),
    tolerance,
  );
}

/** Every number of a state; counts and radii exactly, since a fold only adds the ones and copies the others. */
export function assertSlots(actual: Slots, expected: readonly (readonly RetrofitSlot[])[], tolerance: number): void {
  const all = expected.flat();
  assertKeySlots(actual, expected, tolerance);
  assertClose(
    'value sums',
    actual.valueSum,
    all.flatMap(slot => [...slot.value]),
    tolerance,
  );
  const radii = { key: actual.keyRadius, value: actual.valueRadius };
  assert.deepEqual(
    [...radii.key],
    all.map(slot => slot.keyRadius),
    'key radii',
  );
  assert.deepEqual(
    [...radii.value],
    all.map(slot => slot.valueRadius),
    'value radii',
  );
}
