/**
 * What attention reads of a state: keys as columns, values and biases of all layers, as tensors of the forward graphs. One
 * never changes; a fold makes the next, for which only the slots that it changed are read anew. Never folds.
 */
import { copyRuns } from './copy-runs.js';
import { groupsOf } from './graph-contract.js';
import type { Model } from './model.js';
import type { Tensor } from './ort.js';
import { floats } from './ort.js';
import type { Folded, Slots } from './state.js';
import { emptySlots } from './state.js';
import type { LayerTensors } from './window.js';
import { layerTensors } from './window.js';

/** A state that is there before the first token; none of its slots takes merges. */
export interface GivenState {
  readonly slots: Slots;
  /** float32 [L,H,S]: added to each slot's logit. */
  readonly bias: Float32Array;
  /** float32 [G,S]: multiplies read keys. */
  readonly temperature: Float32Array;
}

export class ReadState {
  readonly layers: LayerTensors;
  /** [K,g,1,S] per layer. */
  readonly bias: readonly Tensor[];

  private constructor(
    private readonly model: Model,
    readonly slots: Slots,
    /** [G,d,S]. */
    private readonly columns: Float32Array,
    /** [G,S,d]. */
    private readonly values: Float32Array,
    /** [L,H,S]. */
    private readonly biases: Float32Array,
  ) {
    const { architecture } = model.manifest;
    const { kvmLayers, heads, keyHeads } = architecture;
    this.layers = layerTensors(architecture, columns, values, slots.slots);
    const size = heads * slots.slots;
    this.bias = Array.from({ length: kvmLayers }, (_, layer) =>
      floats(biases.subarray(layer * size, (layer + 1) * size), [keyHeads, heads / keyHeads, 1, slots.slots]),
    );
  }

  static async start(model: Model, given: GivenState | undefined): Promise<ReadState> {
    const { architecture } = model.manifest;
    const none = new Float32Array(0);
    if (!given?.slots.slots)
      return new ReadState(model, emptySlots(groupsOf(architecture), architecture.headSize), none, none, none);
    const { slots, bias, temperature } = given;
    const { columns, values } = await model.folder.readColumns(slots, temperature);
    const biases = bias.slice();
    const logs = logCounts(model, slots);
    if (logs)
      eachHead(model, (head, group) => {
        for (let slot = 0; slot < slots.slots; slot++)
          biases[head * slots.slots + slot]! += logs[group * slots.slots + slot]!;
      });
    return new ReadState(model, slots, columns, values, biases);
  }

  /** After a fold into these slots, or what was appended to them. */
  async after({ state, slotOf }: Folded<Slots>): Promise<ReadState> {
    const { model } = this;
    const { groups, headSize, slots } = state;
    const before = this.slots.slots;
    const touched = pickSlots(state, slotOf);
    const n = touched.slots;
    const read = await model.folder.readColumns(touched, new Float32Array(groups * n).fill(1));

    const columns = new Float32Array(groups * headSize * slots);
    copyRuns(this.columns, columns, groups * headSize, before, slots, before);
    const values = new Float32Array(groups * slots * headSize);
    copyRuns(this.values, values, groups, before * headSize, slots * headSize, before * headSize);
    const { heads, kvmLayers } = model.manifest.architecture;
    const biases = new Float32Array(kvmLayers * heads * slots);
    copyRuns(this.biases, biases, kvmLayers * heads, before, slots, before);

    for (let group = 0; group < groups; group++) {
      for (let i = 0; i < headSize; i++) {
        const [from, to] = [(group * headSize + i) * n, (group * headSize + i) * slots];
        for (let row = 0; row < n; row++) columns[to + slotOf[group * n + row]!] = read.columns[from + row]!;
      }
      for (let row = 0; row < n; row++) {
        const [from, to] = [(group * n + row) * headSize, (group * slots + slotOf[group * n + row]!) * headSize];
        for (let i = 0; i < headSize; i++) values[to + i] = read.values[from + i]!;
      }
    }
    const logs = logCounts(model, touched);
    if (logs)
      eachHead(model, (head, group) => {
        for (let row = 0; row < n; row++) biases[head * slots + slotOf[group * n + row]!] = logs[group * n + row]!;
      });
    return new ReadState(model, state, columns, values, biases);
  }
}

/**
 * log(count) [G,S], the bias of a slot for all tokens in it; of a free slot (`giveStates`) 0. None where the model was
 * trained with KVM, which learned to do without.
 */
function logCounts(model: Model, { count }: Slots): Float32Array | undefined {
  return model.manifest.kvm.trained ? undefined : count.map(tokens => Math.log(tokens || 1));
}

/** Query heads of all layers, each with the group whose slots it reads. */
function eachHead(model: Model, visit: (head: number, group: number) => void): void {
  const { kvmLayers, heads, keyHeads } = model.manifest.architecture;
  for (let head = 0; head < kvmLayers * heads; head++) visit(head, Math.floor((head * keyHeads) / heads));
}

/** Of each group the slots named for it, uint32 [G,N]. */
function pickSlots({ groups, slots, headSize, ...state }: Slots, slotOf: Uint32Array): Slots {
  const rows = slotOf.length / groups;
  const pick = (values: Float32Array, size: number): Float32Array => {
    const picked = new Float32Array(slotOf.length * size);
    for (let at = 0; at < slotOf.length; at++) {
      const from = (Math.floor(at / rows) * slots + slotOf[at]!) * size;
      for (let i = 0; i < size; i++) picked[at * size + i] = values[from + i]!;
    }
    return picked;
  };
  return {
    ...{ groups, slots: rows, headSize },
    ...{ keySum: pick(state.keySum, headSize), valueSum: pick(state.valueSum, headSize), count: pick(state.count, 1) },
    ...{ keyRadius: pick(state.keyRadius, 1), valueRadius: pick(state.valueRadius, 1) },
  };
}
