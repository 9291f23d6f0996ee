/**
 * The sums of a fold, once it is known where each incoming slot goes: plain additions, in the order of what comes in. For
 * ordinary checkpoints (a model trained with KVM has gates, which its graphs apply). Never decides. Source: kvm.md, Update.
 */
import { copyRuns } from './copy-runs.js';
import type { Folded, Radii, Slots } from './state.js';

/** Where a fold put what came in. */
export interface Places {
  /** uint32 [G,N]. */
  readonly slotOf: Uint32Array;
  /** uint32 [G,n]: which of the incoming became slots S, S+1, .., in this order. */
  readonly appended: Uint32Array;
}

/** [G,T]: radii of the slots and of those appended. */
export function grownRadii(state: Slots, incoming: Slots, { appended }: Places): Radii {
  const { groups, slots } = state;
  const n = appended.length / groups;
  const grow = (before: Float32Array, coming: Float32Array): Float32Array => {
    const grown = new Float32Array(groups * (slots + n));
    copyRuns(before, grown, groups, slots, slots + n, slots);
    for (let group = 0; group < groups; group++) {
      for (let i = 0; i < n; i++)
        grown[group * (slots + n) + slots + i] = coming[group * incoming.slots + appended[group * n + i]!]!;
    }
    return grown;
  };
  return {
    slots: slots + n,
    keyRadius: grow(state.keyRadius, incoming.keyRadius),
    valueRadius: grow(state.valueRadius, incoming.valueRadius),
  };
}

/** The state given is not changed. An appended slot begins with its own, whatever came before it is merged after. */
export function mergedSlots(state: Slots, incoming: Slots, places: Places): Slots {
  const { groups, headSize } = incoming;
  const radii = grownRadii(state, incoming, places);
  const { slotOf, appended } = places;
  const n = appended.length / groups;
  const merges = new Uint8Array(slotOf.length).fill(1);
  appended.forEach((row, i) => (merges[Math.floor(i / n) * incoming.slots + row] = 0));
  const sum = (before: Float32Array, coming: Float32Array, size: number): Float32Array => {
    const sums = new Float32Array(groups * radii.slots * size);
    copyRuns(before, sums, groups, state.slots * size, radii.slots * size, state.slots * size);
    for (const merged of [0, 1]) {
      for (let i = 0; i < slotOf.length; i++) {
        if (merges[i] !== merged) continue;
        const to = (Math.floor(i / incoming.slots) * radii.slots + slotOf[i]!) * size;
        for (let at = 0; at < size; at++) sums[to + at]! += coming[i * size + at]!;
      }
    }
    return sums;
  };
  return {
    ...{ groups, headSize, ...radii },
    keySum: sum(state.keySum, incoming.keySum, headSize),
    valueSum: sum(state.valueSum, incoming.valueSum, headSize),
    count: sum(state.count, incoming.count, 1),
  };
}

/** All incoming ones become slots, in their order; nothing is merged. */
export function withAppended(state: Slots, incoming: Slots): Folded<Slots> {
  const row = Uint32Array.from(incoming.count, (_, i) => i % incoming.slots);
  const slotOf = row.map(i => state.slots + i);
  return { state: mergedSlots(state, incoming, { slotOf, appended: row }), slotOf };
}
