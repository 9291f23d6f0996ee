/**
 * States that a session attends to from its first token: the shared sinks in front, then composed states, each with the
 * bias of its compression and the entry's bias, temperature and value scale per head (retrofit.md, last section). Pure.
 */
import type { Manifest } from './graph-contract.js';
import type { GivenState } from './read-state.js';
import type { Slots } from './state.js';
import { joinSlots } from './state.js';

/** Of a slot that nothing is in. */
const UNSEEN = -1e30;

export interface WeighedState {
  readonly slots: Slots;
  readonly tokensPerSlot: number;
}

/** Bias of a slot that stands for that many tokens: linear in the logarithm between the entry's points, flat outside. */
export function biasOf(points: Manifest['kvm']['stateBias'], tokensPerSlot: number): number {
  const next = points.findIndex(point => point.tokensPerSlot >= tokensPerSlot);
  if (next === 0) return points[0]!.bias;
  if (next < 0) return points.at(-1)?.bias ?? 0;
  const [low, high] = [points[next - 1]!, points[next]!];
  const part = Math.log(tokensPerSlot / low.tokensPerSlot) / Math.log(high.tokensPerSlot / low.tokensPerSlot);
  return low.bias + part * (high.bias - low.bias);
}

/** A slot of n tokens weighs as n, so states weigh together as many tokens as are in them: what is above `fitted`, in logits. */
function excessOf(fitted: number | undefined, states: readonly WeighedState[]): number {
  const tokens = states.reduce((sum, { slots, tokensPerSlot }) => sum + slots.slots * tokensPerSlot, 0);
  return fitted === undefined ? 0 : Math.log(Math.max(1, tokens / fitted));
}

export function giveStates(manifest: Manifest, sinks: Slots, states: readonly WeighedState[]): GivenState {
  const { kvmLayers, heads, keyHeads } = manifest.architecture;
  const { kvm } = manifest;
  const { stateBias, stateBiasOfHead, stateTemperatureOfKeyHead, stateValueScaleOfKeyHead } = kvm;
  const slots = joinSlots([sinks, ...states.map(state => state.slots)]);
  const bias = new Float32Array(kvmLayers * heads * slots.slots);
  const temperature = new Float32Array(slots.groups * slots.slots).fill(1);
  const valueRadius = slots.valueRadius.slice();
  const excess = excessOf(kvm.stateTokens, states);
  let from = sinks.slots;
  for (const state of states) {
    const to = from + state.slots.slots;
    const common = biasOf(stateBias, state.tokensPerSlot) - excess;
    for (let head = 0; head < kvmLayers * heads; head++) {
      const own = stateBiasOfHead?.[Math.floor(head / heads)]?.[head % heads] ?? 0;
      bias.fill(common + own, head * slots.slots + from, head * slots.slots + to);
      const group = Math.floor((head * keyHeads) / heads);
      for (let slot = from; slot < to; slot++) {
        if (slots.count[group * slots.slots + slot] === 0) bias[head * slots.slots + slot] = UNSEEN;
      }
    }
    for (let group = 0; group < slots.groups; group++) {
      const own = stateTemperatureOfKeyHead?.[Math.floor(group / keyHeads)]?.[group % keyHeads] ?? 1;
      temperature.fill(own, group * slots.slots + from, group * slots.slots + to);
      const scale = stateValueScaleOfKeyHead?.[Math.floor(group / keyHeads)]?.[group % keyHeads] ?? 1;
      for (let slot = from; slot < to; slot++) valueRadius[group * slots.slots + slot]! *= scale;
    }
    from = to;
  }
  return { slots: { ...slots, valueRadius }, bias, temperature };
}
