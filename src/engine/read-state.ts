/**
 * What attention reads of a state: keys as columns, values and biases of each layer, as tensors of the forward graphs. One
 * never changes; a fold makes the next, for which only the slots that it changed are read anew. Never folds.
 */
import { copyRuns } from './copy-runs.js';
import type { Architecture } from './graph-contract.js';
import type { Model } from './model.js';
import type { Tensor } from './ort.js';
import { floats } from './ort.js';
import type { Folded, Slots } from './state.js';
import type { StatePart } from './state-parts.js';
import { partsOf } from './state-parts.js';
import { MASKED } from './window.js';

/** A state that is there before the first token; none of its slots takes merges. */
export interface GivenState {
  readonly slots: Slots;
  /** float32 [L,H,S]: added to each slot's logit. */
  readonly bias: Float32Array;
  /** float32 [G,S]: multiplies read keys. */
  readonly temperature: Float32Array;
}

/** What a layer reads. A key head that has fewer slots than the layer's rows has zeros there, and a bias that hides them. */
interface LayerRows {
  /** S: slots of the key head that has most. */
  readonly rows: number;
  /** [K,d,S]. */
  readonly columns: Float32Array;
  /** [K,S,d]. */
  readonly values: Float32Array;
  /** [H,S]. */
  readonly biases: Float32Array;
}

/** The same as tensors: keys [K,1,d,S], values [K,1,S,d], bias [K,g,1,S]. */
interface LayerTensors {
  readonly rows: number;
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly bias: Tensor;
}

export class ReadState {
  readonly layers: readonly LayerTensors[];

  private constructor(
    private readonly model: Model,
    readonly parts: readonly StatePart[],
    private readonly read: readonly LayerRows[],
  ) {
    this.layers = read.map(layer => tensorsOf(model.manifest.architecture, layer));
  }

  static async start(model: Model, given?: GivenState): Promise<ReadState> {
    const { architecture, kvm } = model.manifest;
    const none: LayerRows = {
      rows: 0,
      ...{ columns: new Float32Array(0), values: new Float32Array(0), biases: new Float32Array(0) },
    };
    const layers = Array.from({ length: architecture.kvmLayers }, () => none);
    const parts = partsOf(architecture, kvm, given?.slots);
    if (!given?.slots.slots) return new ReadState(model, parts, layers);
    const { slots, bias, temperature } = given;
    const { columns, values } = await model.folder.readColumns(slots, temperature);
    const { heads, keyHeads, headSize } = architecture;
    const logs = logCounts(model, slots);
    const groupsOfLayer = (layer: number, all: Float32Array, size: number): Float32Array =>
      all.slice(layer * keyHeads * size, (layer + 1) * keyHeads * size);
    const read = layers.map((_, layer) => {
      const biases = bias.slice(layer * heads * slots.slots, (layer + 1) * heads * slots.slots);
      for (let i = 0; i < biases.length; i++) {
        const group = layer * keyHeads + Math.floor((Math.floor(i / slots.slots) * keyHeads) / heads);
        biases[i]! += logs?.[group * slots.slots + (i % slots.slots)] ?? 0;
      }
      return {
        rows: slots.slots,
        columns: groupsOfLayer(layer, columns, headSize * slots.slots),
        values: groupsOfLayer(layer, values, headSize * slots.slots),
        biases,
      };
    });
    return new ReadState(model, parts, read);
  }

  /** After a fold of each part into these slots, or what was appended to them; undefined: that part is as it was. */
  async after(folds: readonly (Folded<Slots> | undefined)[]): Promise<ReadState> {
    const { model } = this;
    const { keyHeads } = model.manifest.architecture;
    const parts = this.parts.map((part, at) => ({ ...part, slots: folds[at]?.state ?? part.slots }));
    const changed = new Set(parts.flatMap(({ groups }, at) => (folds[at] ? groups : [])).map(layerOf(keyHeads)));
    const rows = this.read.map(layer => layer.rows);
    for (const { groups, slots } of parts) {
      for (const layer of groups.map(layerOf(keyHeads))) rows[layer] = Math.max(rows[layer]!, slots.slots);
    }
    const read = this.read.map((layer, at) => (changed.has(at) ? this.grown(layer, rows[at]!) : layer));
    for (const [at, folded] of folds.entries()) if (folded) await this.readInto(read, parts[at]!, folded);
    return new ReadState(model, parts, read);
  }

  /** A copy with that many rows. */
  private grown(before: LayerRows, rows: number): LayerRows {
    const { heads, keyHeads, headSize } = this.model.manifest.architecture;
    const columns = new Float32Array(keyHeads * headSize * rows);
    copyRuns(before.columns, columns, keyHeads * headSize, before.rows, rows, before.rows);
    const values = new Float32Array(keyHeads * rows * headSize);
    copyRuns(before.values, values, keyHeads, before.rows * headSize, rows * headSize, before.rows * headSize);
    const biases = new Float32Array(heads * rows);
    // A model trained with KVM has one part, so all rows of its layers are slots.
    if (!this.model.manifest.kvm.trained) biases.fill(MASKED);
    copyRuns(before.biases, biases, heads, before.rows, rows, before.rows);
    return { rows, columns, values, biases };
  }

  /** Puts what is read of a part's changed slots into its layers. */
  private async readInto(
    read: readonly LayerRows[],
    { groups }: StatePart,
    { state, slotOf }: Folded<Slots>,
  ): Promise<void> {
    const { model } = this;
    const { heads, keyHeads, headSize } = model.manifest.architecture;
    const touched = pickSlots(state, slotOf);
    const n = touched.slots;
    const fresh = await model.folder.readColumns(touched, new Float32Array(groups.length * n).fill(1));
    const logs = logCounts(model, touched);
    const perKeyHead = heads / keyHeads;
    groups.forEach((group, at) => {
      const { rows, columns, values, biases } = read[layerOf(keyHeads)(group)]!;
      const keyHead = group % keyHeads;
      for (let i = 0; i < headSize; i++) {
        const [from, to] = [(at * headSize + i) * n, (keyHead * headSize + i) * rows];
        for (let row = 0; row < n; row++) columns[to + slotOf[at * n + row]!] = fresh.columns[from + row]!;
      }
      for (let row = 0; row < n; row++) {
        const slot = slotOf[at * n + row]!;
        const [from, to] = [(at * n + row) * headSize, (keyHead * rows + slot) * headSize];
        for (let i = 0; i < headSize; i++) values[to + i] = fresh.values[from + i]!;
        if (!logs) continue;
        for (let head = keyHead * perKeyHead; head < (keyHead + 1) * perKeyHead; head++)
          biases[head * rows + slot] = logs[at * n + row]!;
      }
    });
  }
}

function layerOf(keyHeads: number): (group: number) => number {
  return group => Math.floor(group / keyHeads);
}

function tensorsOf(
  { heads, keyHeads, headSize }: Architecture,
  { rows, columns, values, biases }: LayerRows,
): LayerTensors {
  return {
    rows,
    keys: floats(columns, [keyHeads, 1, headSize, rows]),
    values: floats(values, [keyHeads, 1, rows, headSize]),
    bias: floats(biases, [keyHeads, heads / keyHeads, 1, rows]),
  };
}

/**
 * log(count) [G,S], the bias of a slot for all tokens in it; of a free slot (`giveStates`) 0. None where the model was
 * trained with KVM, which learned to do without.
 */
function logCounts(model: Model, { count }: Slots): Float32Array | undefined {
  return model.manifest.kvm.trained ? undefined : count.map(tokens => Math.log(tokens || 1));
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
