/**
 * What attention reads of a state: keys as columns, values and biases of each layer, as tensors of the forward graphs. One
 * never changes; a fold makes the next, for which only the slots that it changed are read anew. Never folds.
 */
import { copyRuns } from './copy-runs.js';
import type { Architecture } from './graph-contract.js';
import type { FittedReading, StatePart } from './growing-state.js';
import { keyHeadReading, partsOf } from './growing-state.js';
import type { Model } from './model.js';
import type { Tensor } from './ort.js';
import { floats } from './ort.js';
import type { Rotation } from './rotary.js';
import type { Folded, Slots } from './state.js';

/** A state that is there before the first token; none of its slots takes merges. */
export interface GivenState {
  readonly slots: Slots;
  /** float32 [L,H,S]: added to each slot's logit. */
  readonly bias: Float32Array;
  /** float32 [G,S]: multiplies read keys. */
  readonly temperature: Float32Array;
}

/** What a layer reads. */
interface LayerRows {
  /** S. */
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

const NO_ROWS: LayerRows = {
  rows: 0,
  ...{ columns: new Float32Array(0), values: new Float32Array(0), biases: new Float32Array(0) },
};

export class ReadState {
  readonly layers: readonly LayerTensors[];

  private constructor(
    private readonly model: Model,
    private readonly fitted: FittedReading | undefined,
    /** Slots in front that are read as they are: what was given, or the sinks. */
    private readonly plain: number,
    readonly parts: readonly StatePart[],
    private readonly read: readonly LayerRows[],
  ) {
    this.layers = read.map(layer => tensorsOf(model.manifest.architecture, layer));
  }

  static async start(model: Model, given?: GivenState, fitted?: FittedReading): Promise<ReadState> {
    const { architecture, kvm } = model.manifest;
    const none = Array.from({ length: architecture.kvmLayers }, () => NO_ROWS);
    const parts = partsOf(architecture, fitted, given?.slots);
    if (!given?.slots.slots) return new ReadState(model, fitted, kvm.sinks, parts, none);
    const { slots, bias, temperature } = given;
    const { columns, values } = await model.folder.readColumns(slots, temperature);
    const logs = logCounts(model, slots);
    const biases = bias.slice();
    if (logs)
      for (let head = 0; head < biases.length / slots.slots; head++) {
        const group = Math.floor((head * architecture.keyHeads) / architecture.heads);
        for (let slot = 0; slot < slots.slots; slot++)
          biases[head * slots.slots + slot]! += logs[group * slots.slots + slot]!;
      }
    const read = none.map((_, layer) => {
      const own = (all: Float32Array): Float32Array => {
        const size = all.length / none.length;
        return all.subarray(layer * size, (layer + 1) * size);
      };
      return { rows: slots.slots, columns: own(columns), values: own(values), biases: own(biases) };
    });
    return new ReadState(model, fitted, slots.slots, parts, read);
  }

  /** After a fold of each part into these slots, or what was appended to them; undefined: that part is as it was. */
  async after(folds: readonly (Folded<Slots> | undefined)[]): Promise<ReadState> {
    const read = [...this.read];
    const parts: StatePart[] = [];
    for (const [at, part] of this.parts.entries()) {
      const folded = folds[at];
      parts.push(folded ? { ...part, slots: folded.state } : part);
      if (folded) await this.readInto(read, part, folded);
    }
    return new ReadState(this.model, this.fitted, this.plain, parts, read);
  }

  /** Replaces the part's layers by copies with what is read of the slots that were changed. */
  private async readInto(read: LayerRows[], { layers }: StatePart, { state, slotOf }: Folded<Slots>): Promise<void> {
    const { model, fitted, plain } = this;
    const { keyHeads, headSize } = model.manifest.architecture;
    const touched = pickSlots(state, slotOf);
    const n = touched.slots;
    const temperature = new Float32Array(touched.groups * n).fill(1);
    const readings = layers.flatMap(layer =>
      Array.from(
        { length: keyHeads },
        (_, keyHead) => fitted && keyHeadReading(model.manifest.architecture, fitted, layer, keyHead),
      ),
    );
    for (const [group, own] of readings.entries()) {
      if (!own) continue;
      for (let at = group * n; at < (group + 1) * n; at++) {
        if (slotOf[at]! < plain) continue;
        temperature[at] = own.temperature;
        touched.valueRadius[at]! *= own.valueScale;
      }
    }
    const fresh = await model.folder.readColumns(touched, temperature);
    const logs = logCounts(model, touched);
    for (const [at, layer] of layers.entries()) {
      const grown = this.grown(read[layer]!, state.slots);
      for (let keyHead = 0; keyHead < keyHeads; keyHead++) {
        const group = at * keyHeads + keyHead;
        const columns = fresh.columns.subarray(group * headSize * n, (group + 1) * headSize * n);
        const slots = slotOf.subarray(group * n, (group + 1) * n);
        const turn = readings[group]?.turn;
        if (turn) turnColumns(columns, slots, turn, plain);
        const values = fresh.values.subarray(group * n * headSize, (group + 1) * n * headSize);
        this.put(grown, { layer, keyHead, slots, columns, values, logs: logs?.subarray(group * n, (group + 1) * n) });
      }
      read[layer] = grown;
    }
  }

  /** A copy with that many rows. */
  private grown({ rows: before, columns, values, biases }: LayerRows, rows: number): LayerRows {
    const { heads, keyHeads, headSize } = this.model.manifest.architecture;
    const grown = {
      rows,
      columns: new Float32Array(keyHeads * headSize * rows),
      values: new Float32Array(keyHeads * rows * headSize),
      biases: new Float32Array(heads * rows),
    };
    copyRuns(columns, grown.columns, keyHeads * headSize, before, rows, before);
    copyRuns(values, grown.values, keyHeads, before * headSize, rows * headSize, before * headSize);
    copyRuns(biases, grown.biases, heads, before, rows, before);
    return grown;
  }

  /** Puts n read slots where they belong in their layer. */
  private put(
    { rows, columns, values, biases }: LayerRows,
    of: {
      readonly layer: number;
      readonly keyHead: number;
      readonly slots: Uint32Array;
      readonly columns: Float32Array;
      readonly values: Float32Array;
      readonly logs: Float32Array | undefined;
    },
  ): void {
    const { heads, keyHeads, headSize } = this.model.manifest.architecture;
    const { slots, keyHead, layer, logs } = of;
    for (let i = 0; i < headSize; i++) {
      const to = (keyHead * headSize + i) * rows;
      for (let row = 0; row < slots.length; row++) columns[to + slots[row]!] = of.columns[i * slots.length + row]!;
    }
    for (let row = 0; row < slots.length; row++) {
      const to = (keyHead * rows + slots[row]!) * headSize;
      for (let i = 0; i < headSize; i++) values[to + i] = of.values[row * headSize + i]!;
    }
    if (!logs) return;
    const perKeyHead = heads / keyHeads;
    for (let head = keyHead * perKeyHead; head < (keyHead + 1) * perKeyHead; head++) {
      const own = this.fitted?.biasOfHead[layer]?.[head] ?? 0;
      for (const [row, slot] of slots.entries())
        biases[head * rows + slot] = logs[row]! + (slot < this.plain ? 0 : own);
    }
  }
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

/** Turns keys [d,n] of slots from `plain` on, in place. */
function turnColumns(columns: Float32Array, slots: Uint32Array, { cos, sin }: Rotation, plain: number): void {
  const n = slots.length;
  for (let pair = 0; pair < cos.length; pair++) {
    const [even, odd] = [2 * pair * n, (2 * pair + 1) * n];
    for (let row = 0; row < n; row++) {
      if (slots[row]! < plain) continue;
      const [a, b] = [columns[even + row]!, columns[odd + row]!];
      columns[even + row] = a * cos[pair]! - b * sin[pair]!;
      columns[odd + row] = a * sin[pair]! + b * cos[pair]!;
    }
  }
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
