/**
 * The compressed state of all layers and how chunks are folded into it: sums, counts and read radii in plain arrays,
 * computed by the fold graphs. Source: kvm.md, Update; retrofit.md for ordinary checkpoints.
 * G = layers with KVM x key heads groups (layer-major), S slots, d head size.
 */
import { join } from 'node:path';
import { FILES, FOLD, READ, TOKENS } from './graph-contract.js';
import type { TrainedKvm } from './graph-contract.js';
import { groupsAtOnce, runByGroups } from './group-runs.js';
import type { Places } from './merged-slots.js';
import { grownRadii, mergedSlots, withAppended } from './merged-slots.js';
import type { Tensor } from './ort.js';
import { Graph, floatData, floats, integerData, integers } from './ort.js';
import type { SessionSettings } from './ort.js';
import type { Rotation } from './rotary.js';

/** Slots, or tokens as slots of count 1. float32: sums [G,S,d], the rest [G,S]. */
export interface Slots {
  readonly groups: number;
  readonly slots: number;
  readonly headSize: number;
  readonly keySum: Float32Array;
  readonly valueSum: Float32Array;
  readonly count: Float32Array;
  readonly keyRadius: Float32Array;
  readonly valueRadius: Float32Array;
  /** Merge gates of tokens of a model trained with KVM: not yet applied. Slots have none. */
  readonly gate?: Float32Array;
}

/** The same groups side by side: S is the sum of the parts' slots. */
export function joinSlots(parts: readonly Slots[]): Slots {
  const first = parts[0];
  if (!first) throw new Error('Nothing to join.');
  const { groups, headSize } = first;
  const slots = parts.reduce((sum, part) => sum + part.slots, 0);
  const join = (pick: (part: Slots) => Float32Array, size: number): Float32Array => {
    const joined = new Float32Array(groups * slots * size);
    for (let group = 0, at = 0; group < groups; group++) {
      for (const part of parts) {
        const run = part.slots * size;
        joined.set(pick(part).subarray(group * run, (group + 1) * run), at);
        at += run;
      }
    }
    return joined;
  };
  return {
    groups,
    slots,
    headSize,
    keySum: join(part => part.keySum, headSize),
    valueSum: join(part => part.valueSum, headSize),
    count: join(part => part.count, 1),
    keyRadius: join(part => part.keyRadius, 1),
    valueRadius: join(part => part.valueRadius, 1),
    ...(first.gate && { gate: join(part => part.gate!, 1) }),
  };
}

/** Slots `from` up to `to` of every group. */
export function sliceSlots(state: Slots, from: number, to: number): Slots {
  const slots = to - from;
  const cut = (values: Float32Array, size: number): Float32Array => {
    const part = new Float32Array(state.groups * slots * size);
    for (let group = 0; group < state.groups; group++) {
      const start = (group * state.slots + from) * size;
      part.set(values.subarray(start, start + slots * size), group * slots * size);
    }
    return part;
  };
  return {
    groups: state.groups,
    slots,
    headSize: state.headSize,
    keySum: cut(state.keySum, state.headSize),
    valueSum: cut(state.valueSum, state.headSize),
    count: cut(state.count, 1),
    keyRadius: cut(state.keyRadius, 1),
    valueRadius: cut(state.valueRadius, 1),
    ...(state.gate && { gate: cut(state.gate, 1) }),
  };
}

/** These groups alone; the same object where they are all. */
export function pickGroups(state: Slots, groups: readonly number[]): Slots {
  if (groups.length === state.groups) return state;
  const pick = (values: Float32Array): Float32Array => {
    const size = values.length / state.groups;
    const picked = new Float32Array(groups.length * size);
    groups.forEach((group, at) => picked.set(values.subarray(group * size, (group + 1) * size), at * size));
    return picked;
  };
  return {
    ...{ groups: groups.length, slots: state.slots, headSize: state.headSize },
    ...{ keySum: pick(state.keySum), valueSum: pick(state.valueSum), count: pick(state.count) },
    ...{ keyRadius: pick(state.keyRadius), valueRadius: pick(state.valueRadius) },
  };
}

/** Keys and values of some window rows, float32 [G,C,d]; merge gates [G,C] where the model was trained with KVM. */
export interface WindowRows {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly gates?: Float32Array;
}

/** Keys only, for recall. */
export interface KeySlots {
  readonly groups: number;
  readonly slots: number;
  readonly headSize: number;
  readonly keySum: Float32Array;
  readonly count: Float32Array;
}

/** Slots `from` up to `to` of every group, keys alone. */
export function sliceKeySlots(
  { groups, slots, headSize, keySum, count }: KeySlots,
  from: number,
  to: number,
): KeySlots {
  const cut = (values: Float32Array, size: number): Float32Array => {
    const part = new Float32Array(groups * (to - from) * size);
    for (let group = 0; group < groups; group++) {
      const start = (group * slots + from) * size;
      part.set(values.subarray(start, start + (to - from) * size), group * (to - from) * size);
    }
    return part;
  };
  return { groups, slots: to - from, headSize, keySum: cut(keySum, headSize), count: cut(count, 1) };
}

/** Which of the incoming become slots: that many, most novel first, or these rows (the same in every group). */
export type Append = { readonly novel: number } | { readonly rows: readonly number[] };

export interface Folded<T> {
  readonly state: T;
  /** uint32 [G,N]: the slot that took each incoming one. */
  readonly slotOf: Uint32Array;
}

export function emptySlots(groups: number, headSize: number): Slots {
  const none = new Float32Array(0);
  return {
    ...{ groups, slots: 0, headSize },
    ...{ keySum: none, valueSum: none, count: none, keyRadius: none, valueRadius: none },
  };
}

export function emptyKeySlots(groups: number, headSize: number): KeySlots {
  return { groups, slots: 0, headSize, keySum: new Float32Array(0), count: new Float32Array(0) };
}

/** Radii [G,S] of a state's slots. */
export type Radii = Pick<Slots, 'slots' | 'keyRadius' | 'valueRadius'>;

/** Runs the fold graphs of one model. */
export class Folder {
  private constructor(
    private readonly tokens: Graph,
    private readonly fold_: Graph,
    private readonly place: Graph,
    private readonly foldKeys_: Graph,
    private readonly placeKeys: Graph,
    private readonly read_: Graph,
    private readonly trained: TrainedKvm | undefined,
  ) {}

  static async load(folder: string, settings: SessionSettings, trained?: TrainedKvm): Promise<Folder> {
    const load = (file: string): Promise<Graph> => Graph.load(join(folder, file), settings);
    return new Folder(
      await load(FILES.tokens),
      await load(FILES.fold),
      await load(FILES.place),
      await load(FILES.foldKeys),
      await load(FILES.placeKeys),
      await load(FILES.read),
      trained,
    );
  }

  /** Window rows that lie at the positions of `rotation` → tokens as slots of count 1. */
  async tokensOf(
    { keys, values, gates }: WindowRows,
    rotation: Rotation,
    groups: number,
    headSize: number,
  ): Promise<Slots> {
    const rows = rotation.rows;
    const feeds: Record<string, Tensor> = {
      [TOKENS.key]: floats(keys, [1, groups, rows, headSize]),
      [TOKENS.value]: floats(values, [1, groups, rows, headSize]),
    };
    if (!this.trained) {
      feeds[TOKENS.rows] = integers(rotation.indices, [1, rows]);
      feeds[TOKENS.cos] = floats(rotation.cos, [rows, headSize / 2]);
      feeds[TOKENS.sin] = floats(rotation.sin, [rows, headSize / 2]);
    }
    const outputs = [TOKENS.plainKey, TOKENS.plainValue, TOKENS.keyRadius, TOKENS.valueRadius];
    const result = await this.tokens.run(feeds, outputs);
    return {
      groups,
      slots: rows,
      headSize,
      keySum: floatData(result[TOKENS.plainKey]!),
      valueSum: floatData(result[TOKENS.plainValue]!),
      count: new Float32Array(groups * rows).fill(1),
      keyRadius: floatData(result[TOKENS.keyRadius]!),
      valueRadius: floatData(result[TOKENS.valueRadius]!),
      ...(gates && { gate: gates }),
    };
  }

  /** The first tokens of a text as its first slots, none merged (kvm.md, Update: 1); the radii stay ungated. */
  firstSlots({ gate, ...tokens }: Slots): Slots {
    if (!gate || !this.trained?.gatesInitialState) return tokens;
    const gated = (sums: Float32Array): Float32Array =>
      sums.map((value, i) => value * gate[Math.floor(i / tokens.headSize)]!);
    return { ...tokens, keySum: gated(tokens.keySum), valueSum: gated(tokens.valueSum) };
  }

  /** Folds incoming slots into a state; the first `sinks` slots take no merges. The state given is not changed. */
  async fold(state: Slots, incoming: Slots, append: Append, sinks: number): Promise<Folded<Slots>> {
    const { groups, headSize } = incoming;
    if (incoming.slots === 0) return { state, slotOf: new Uint32Array(0) };
    if (!this.trained) {
      if ('novel' in append && append.novel === incoming.slots) return withAppended(state, incoming);
      const places = await this.placesOf(state, incoming, append, sinks);
      return { state: mergedSlots(state, incoming, places), slotOf: places.slotOf };
    }
    const feeds = await this.trainedFeeds(state, incoming, append, sinks);
    const names = [FOLD.keySum, FOLD.valueSum, FOLD.count, FOLD.keyRadius, FOLD.valueRadius];
    const graph = 'rows' in append ? this.place : this.fold_;
    const result = await graph.run(feeds, [...names.map(FOLD.out), FOLD.slot]);
    const out = (name: string): Float32Array => floatData(result[FOLD.out(name)]!);
    const grown: Slots = {
      groups,
      slots: state.slots + ('rows' in append ? append.rows.length : append.novel),
      headSize,
      keySum: out(FOLD.keySum),
      valueSum: out(FOLD.valueSum),
      count: out(FOLD.count),
      keyRadius: out(FOLD.keyRadius),
      valueRadius: out(FOLD.valueRadius),
    };
    return { state: grown, slotOf: integerData(result[FOLD.slot]!) };
  }

  /** Where `fold` would put the incoming ones, and the radii of all slots then; no sinks. */
  async choose(state: Slots, incoming: Slots, novel: number): Promise<Folded<Radii>> {
    if (this.trained) return await this.fold(state, incoming, { novel }, 0);
    const places = await this.placesOf(state, incoming, { novel }, 0);
    return { state: grownRadii(state, incoming, places), slotOf: places.slotOf };
  }

  /** Of an ordinary checkpoint. */
  private async placesOf(state: KeySlots, incoming: KeySlots, append: Append, sinks: number): Promise<Places> {
    const { groups, headSize } = incoming;
    const feeds = {
      [FOLD.keySum]: floats(state.keySum, [groups, state.slots, headSize]),
      [FOLD.inKey]: floats(incoming.keySum, [groups, incoming.slots, headSize]),
      ...sharedFeeds(groups, append, sinks),
    };
    if ('rows' in append) {
      const { [FOLD.slot]: slot } = await this.run(this.place, feeds, [FOLD.slot]);
      return { slotOf: integerData(slot!), appended: Uint32Array.from(ofEachGroup(groups, append.rows)) };
    }
    const { [FOLD.slot]: slot, [FOLD.appended]: appended } = await this.run(this.fold_, feeds, [
      FOLD.slot,
      FOLD.appended,
    ]);
    return { slotOf: integerData(slot!), appended: integerData(appended!) };
  }

  private async run(
    graph: Graph,
    feeds: Record<string, Tensor>,
    outputs: readonly string[],
  ): Promise<Record<string, Tensor>> {
    const [groups = 0, slots = 0] = feeds[FOLD.keySum]!.dims;
    const atOnce = groupsAtOnce(feeds[FOLD.inKey]!.dims[1]!, slots);
    return await runByGroups(graph, feeds, outputs, { groups, atOnce, shared: [FOLD.sinks, FOLD.append] });
  }

  private async trainedFeeds(
    state: Slots,
    incoming: Slots,
    append: Append,
    sinks: number,
  ): Promise<Record<string, Tensor>> {
    const { groups, headSize } = incoming;
    // A token's key has been through LN_s; a slot's is a sum, compared as it is read.
    const read = incoming.gate ? incoming.keySum : (await this.read(incoming)).keys;
    const gate = incoming.gate ?? new Float32Array(groups * incoming.slots).fill(1);
    return {
      ...this.feedsOf(state, incoming, append, sinks),
      [FOLD.valueSum]: floats(state.valueSum, [groups, state.slots, headSize]),
      [FOLD.keyRadius]: floats(state.keyRadius, [groups, state.slots]),
      [FOLD.valueRadius]: floats(state.valueRadius, [groups, state.slots]),
      [FOLD.inValue]: floats(incoming.valueSum, [groups, incoming.slots, headSize]),
      [FOLD.inKeyRadius]: floats(incoming.keyRadius, [groups, incoming.slots]),
      [FOLD.inValueRadius]: floats(incoming.valueRadius, [groups, incoming.slots]),
      [FOLD.inRead]: floats(read, [groups, incoming.slots, headSize]),
      [FOLD.inGate]: floats(gate, [groups, incoming.slots]),
    };
  }

  /** The same for keys alone; no sinks. */
  async foldKeys(state: KeySlots, incoming: KeySlots, append: Append): Promise<Folded<KeySlots>> {
    if (incoming.slots === 0) return { state, slotOf: new Uint32Array(0) };
    const graph = 'rows' in append ? this.placeKeys : this.foldKeys_;
    const result = await this.run(graph, this.feedsOf(state, incoming, append, 0), [
      FOLD.out(FOLD.keySum),
      FOLD.out(FOLD.count),
      FOLD.slot,
    ]);
    const grown: KeySlots = {
      groups: incoming.groups,
      slots: state.slots + ('rows' in append ? append.rows.length : append.novel),
      headSize: incoming.headSize,
      keySum: floatData(result[FOLD.out(FOLD.keySum)]!),
      count: floatData(result[FOLD.out(FOLD.count)]!),
    };
    return { state: grown, slotOf: integerData(result[FOLD.slot]!) };
  }

  /** Each group has a rule of its own (LN_s), so all must be folded together. */
  get foldsAllGroups(): boolean {
    return this.trained !== undefined;
  }

  /** What attention reads of a state: keys and values, float32 [G,S,d] each. `temperature` [G,S] multiplies the keys. */
  async read(
    state: Slots,
    temperature: Float32Array = new Float32Array(state.groups * state.slots).fill(1),
  ): Promise<{ keys: Float32Array; values: Float32Array }> {
    const [keys, values] = await this.runRead(state, temperature, [READ.readKey, READ.readValue]);
    return { keys: keys!, values: values! };
  }

  /** The same with keys as columns [G,d,S]. */
  async readColumns(state: Slots, temperature: Float32Array): Promise<{ columns: Float32Array; values: Float32Array }> {
    const [columns, values] = await this.runRead(state, temperature, [READ.readKeyColumns, READ.readValue]);
    return { columns: columns!, values: values! };
  }

  private async runRead(state: Slots, temperature: Float32Array, outputs: readonly string[]): Promise<Float32Array[]> {
    const { groups, slots, headSize } = state;
    if (slots === 0) return outputs.map(() => new Float32Array(0));
    const feeds = {
      [READ.keySum]: floats(state.keySum, [groups, slots, headSize]),
      [READ.valueSum]: floats(state.valueSum, [groups, slots, headSize]),
      ...(!this.trained && { [READ.keyRadius]: floats(state.keyRadius, [groups, slots]) }),
      [READ.valueRadius]: floats(state.valueRadius, [groups, slots]),
      [READ.temperature]: floats(temperature, [groups, slots]),
    };
    const result = await this.read_.run(feeds, outputs);
    return outputs.map(name => floatData(result[name]!));
  }

  get graphs(): readonly Graph[] {
    return [this.tokens, this.fold_, this.place, this.foldKeys_, this.placeKeys, this.read_];
  }

  private feedsOf(state: KeySlots, incoming: KeySlots, append: Append, sinks: number): Record<string, Tensor> {
    const { groups, headSize } = incoming;
    return {
      [FOLD.keySum]: floats(state.keySum, [groups, state.slots, headSize]),
      [FOLD.count]: floats(state.count, [groups, state.slots]),
      [FOLD.inKey]: floats(incoming.keySum, [groups, incoming.slots, headSize]),
      [FOLD.inCount]: floats(incoming.count, [groups, incoming.slots]),
      ...sharedFeeds(groups, append, sinks),
    };
  }
}

function sharedFeeds(groups: number, append: Append, sinks: number): Record<string, Tensor> {
  if ('novel' in append) return { [FOLD.sinks]: integers([sinks]), [FOLD.append]: integers([append.novel]) };
  const rows = ofEachGroup(groups, append.rows);
  return { [FOLD.sinks]: integers([sinks]), [FOLD.appendIndex]: integers(rows, [groups, append.rows.length]) };
}

function ofEachGroup(groups: number, rows: readonly number[]): number[] {
  return Array.from({ length: groups }, () => rows).flat();
}
