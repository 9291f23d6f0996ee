/**
 * The rules of memory.md in the oracle's terms, for all groups at once: folds, growing to a size, merging recall keys.
 * Shares nothing with the product but the even spread of the first slots, which has its own test.
 */
import { spreadRows } from '../../src/engine/compress.js';
import type { Slots } from '../../src/engine/state.js';
import { ClosestCalls } from '../reference/decisions.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { copySlot, foldSlots } from '../reference/retrofit-head.js';

/** Slots of all groups, [group][slot]. */
export type Groups = readonly (readonly RetrofitSlot[])[];

/** Incoming slots of one fold at most. */
const BATCH = 256;

/** The oracle's fold of every group, in place; gives the slot of each incoming one, [G·N]. */
export function foldAll(
  slots: RetrofitSlot[][],
  incoming: Groups,
  append: number,
  sinks: number,
  calls = new ClosestCalls(),
): number[] {
  return slots.flatMap((group, i) => foldSlots(group, incoming[i]!, { append, sinks, calls }));
}

/** The rule for given rows, in the oracle's terms: they are pushed, then the others are folded with nothing appended. */
export function placeAll(
  slots: RetrofitSlot[][],
  incoming: Groups,
  rows: readonly number[],
  sinks: number,
  calls = new ClosestCalls(),
): number[] {
  return slots.flatMap((group, i) => {
    const own = new Map(rows.map(row => [row, group.push(copySlot(incoming[i]![row]!)) - 1]));
    const others = incoming[i]!.filter((_, row) => !own.has(row));
    const winners = foldSlots(group, others, { append: 0, sinks, calls });
    return incoming[i]!.map((_, row) => own.get(row) ?? winners.shift()!);
  });
}

/** A state grown evenly to `target` slots while `total` come in (memory.md, gists). */
export function grownByOracle(all: Groups, target: number, calls = new ClosestCalls()): RetrofitSlot[][] {
  const state: RetrofitSlot[][] = all.map(() => []);
  const total = all[0]!.length;
  for (let from = 0; from < total; from += BATCH) {
    const to = Math.min(total, from + BATCH);
    const batch = all.map(group => group.slice(from, to));
    const append = Math.round((target * to) / total) - state[0]!.length;
    if (from === 0) placeAll(state, batch, spreadRows(Math.max(1, append), to), 0, calls);
    else foldAll(state, batch, append, 0, calls);
  }
  return state;
}

/** Recall keys merged chunk by chunk, `tokensPerSlot` tokens a slot; `slotOf` is [head][token]. */
export function mergedByOracle(
  chunks: readonly Groups[],
  tokensPerSlot: number,
  calls = new ClosestCalls(),
): { state: RetrofitSlot[][]; slotOf: number[][] } {
  const state: RetrofitSlot[][] = chunks[0]!.map(() => []);
  const slotOf: number[][] = chunks[0]!.map(() => []);
  for (const chunk of chunks) {
    const tokens = chunk[0]!.length;
    const append = Math.max(1, Math.round(tokens / tokensPerSlot));
    const winners =
      state[0]!.length === 0
        ? placeAll(state, chunk, spreadRows(append, tokens), 0, calls)
        : foldAll(state, chunk, append, 0, calls);
    slotOf.forEach((own, head) => own.push(...winners.slice(head * tokens, (head + 1) * tokens)));
  }
  return { state, slotOf };
}

/** The oracle's slots as the engine holds them: rotary pairs (i, i + d/2) side by side. */
export function fromOracle(groups: Groups): Slots {
  const all = groups.flat();
  const headSize = all[0]?.key.length ?? 0;
  const floats = (valuesOf: (slot: RetrofitSlot) => Iterable<number>) =>
    Float32Array.from(all.flatMap(slot => [...valuesOf(slot)]));
  return {
    groups: groups.length,
    slots: groups[0]!.length,
    headSize,
    keySum: floats(({ key }) => key.map((_, i) => key[i % 2 === 0 ? i / 2 : (headSize + i - 1) / 2]!)),
    valueSum: floats(slot => slot.value),
    count: floats(slot => [slot.count]),
    keyRadius: floats(slot => [slot.keyRadius]),
    valueRadius: floats(slot => [slot.valueRadius]),
  };
}
