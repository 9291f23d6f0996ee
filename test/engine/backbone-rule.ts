/**
 * The fold of models trained with KVM in float64, all groups at once, on the engine's slots and tokens: kvm.md, Update: 2.
 * Slots of several tokens are compared by `LN_s` of their sums. Shares nothing with the product but the shape of `Slots`.
 */
import type { Append, Slots } from '../../src/engine/state.js';
import { chooseAppends, chooseWinner } from '../reference/decisions.js';
import type { ClosestCalls } from '../reference/decisions.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { copySlot } from '../reference/retrofit-head.js';
import type { Vec } from '../reference/vectors.js';
import { addInto, layerNorm, scaled } from '../reference/vectors.js';
import { toOracle } from './tiny-slots.js';

/** LN_s of a group's layer. */
export type StateNorm = (group: number, key: Vec) => Vec;

/** LN_s of the layers with KVM, `heads` groups each. */
export function stateNorms(
  weights: ReadonlyMap<string, Float32Array>,
  layers: readonly number[],
  heads: number,
): StateNorm {
  return (group, key) => {
    const name = `transformer.h.${layers[Math.floor(group / heads)]!}.attn.ln_s_k`;
    return layerNorm(key, weights.get(`${name}.weight`)!, weights.get(`${name}.bias`)!);
  };
}

export interface Switches {
  readonly gatesAppends: boolean;
  readonly gates: boolean;
}

/** The rule for all groups, in place; gives the slot of each incoming one. */
export const foldWith =
  (stateNorm: StateNorm) =>
  (
    state: RetrofitSlot[][],
    incoming: Slots,
    append: Append,
    sinks: number,
    { gatesAppends, gates }: Switches,
    calls: ClosestCalls,
  ): number[] =>
    toOracle(incoming).flatMap((coming, group) => {
      const slots = state[group]!;
      const normed = (): Vec[] => slots.map(({ key }) => stateNorm(group, key));
      const gateOf = (i: number): number => (gates && incoming.gate ? incoming.gate[group * incoming.slots + i]! : 1);
      const asked = coming.map(({ key }) => (incoming.gate ? key : stateNorm(group, key)));
      const chosen = 'rows' in append ? append.rows : chooseAppends(asked, normed(), append.novel, calls);
      const taken = new Map(
        chosen.map(i => {
          const { key, value, valueRadius, ...rest } = copySlot(coming[i]!);
          const gate = gatesAppends ? gateOf(i) : 1;
          const slot = { ...rest, key: scaled(key, gate), value: scaled(value, gate), valueRadius: valueRadius * gate };
          return [i, slots.push(slot) - 1];
        }),
      );
      const keys = normed();
      const winners = asked.map((key, i) => taken.get(i) ?? chooseWinner(key, keys, sinks, calls));
      coming.forEach(({ key, value, count }, i) => {
        if (taken.has(i)) return;
        const slot = slots[winners[i]!]!;
        addInto(slot.key, key, gateOf(i));
        addInto(slot.value, value, gateOf(i));
        slot.count += count;
      });
      return winners;
    });
