/**
 * A deterministic engine for tests of what stands on it. A token is a word, its key a vector made of the word's hash, so
 * that recall finds words. Counts what it is asked to do. No model, no mathematics of KVM.
 */
import { createHash } from 'node:crypto';
import { LongviewError, throwIfCancelled } from '../../src/base/index.js';
import type {
  CallOptions,
  CoarseRecall,
  ComposeOptions,
  ComposedState,
  Engine,
  GenerateRequest,
  GenerateResult,
  ModelDescription,
  PackedSlots,
  Places,
  ReadRequest,
  Reading,
  RecallScores,
  RecallSlots,
  SlotMass,
  SpanScores,
  SpanShares,
  StateChange,
  StateSlots,
} from '../../src/engine/index.js';
import { HEAD_SIZE, KEY_HEAD_OF, SHARPNESS, allNamed, massOf, spanScoresOf, vectorOf, wordsOf } from './fake-recall.js';

const KEY_HEADS = 2;
const GROUPS = 2;

export class FakeEngine implements Engine {
  /** Called once, before spans are scored next. */
  beforeSpans: (() => void) | undefined;
  /** Labels of the texts that were read, in order. */
  readonly reads: string[] = [];
  /** Gists of each composition. */
  readonly compositions: PackedSlots[][] = [];
  readonly patches: StateChange[] = [];
  readonly states = new Map<string, { slots: PackedSlots<Int8Array | Int16Array>; tokensPerSlot: number }>();
  readonly recall = new Map<string, RecallSlots>();
  readonly prompts: GenerateRequest[] = [];
  /** What `generate` writes. */
  answer: string | ((request: GenerateRequest) => string) = 'Nothing to say.';
  /** Called before each text is read; may throw. */
  beforeRead: (label: string, signal: AbortSignal | undefined) => void | Promise<void> = () => undefined;
  /** How often recall slots were merged further; called before each time, may throw. */
  coarsened = 0;
  beforeCoarsen: () => void = () => undefined;
  /** Nats of a continuation after a text. */
  natsAfter: (text: string, continuation: string) => number = () => 0;
  /** Texts whose last word was looked up. */
  readonly lookups: string[] = [];
  /** Called before each look-up is answered; may wait. */
  beforeLookup: (signal: AbortSignal | undefined) => void | Promise<void> = () => undefined;
  readonly model: ModelDescription;
  generation = 1;

  constructor(fingerprint = 'fake-1') {
    this.model = {
      name: 'Fake',
      fingerprint,
      layers: 1,
      heads: 32,
      keyHeads: GROUPS,
      headSize: HEAD_SIZE,
      vocabulary: 1000,
      chunk: 16,
      windowChunks: 2,
      sinks: 1,
      bytesPerSlot: GROUPS * (2 * HEAD_SIZE + 20),
      quantisation: 'none',
      provider: { name: 'fake', reason: 'a test' },
      recall: {
        keyHeads: KEY_HEADS,
        keyHeadOf: KEY_HEAD_OF,
        parameters: {
          weight: [1, 1, 1],
          nullWeight: [0.5, 0.5, 0.5],
          lengthExponent: [0.5, 0.5, 0.5],
          logFloor: [-8, -8, -8],
        },
      },
    };
  }

  /** As after a crash: all that was put is gone. */
  restart(): void {
    this.generation++;
    this.states.clear();
    this.recall.clear();
  }

  countTokens(text: string): Promise<number> {
    return Promise.resolve(wordsOf(text).length);
  }

  async read(request: ReadRequest, options: CallOptions = {}): Promise<Reading> {
    await this.beforeRead(request.label, options.signal);
    throwIfCancelled(options.signal);
    this.reads.push(request.label);
    const words: { text: string; line: number }[] = [{ text: '', line: 0 }];
    request.text.split('\n').forEach((line, index) => {
      for (const text of wordsOf(line)) words.push({ text, line: index + 1 });
    });
    options.onProgress?.(words.length);
    const slots = Math.ceil((words.length - 1) / request.tokensPerRecallSlot);
    const slotOfToken = new Uint32Array(KEY_HEADS * words.length).fill(0xffffffff);
    const keys = new Float32Array(KEY_HEADS * slots * HEAD_SIZE);
    const counts = new Float32Array(KEY_HEADS * slots);
    for (let head = 0; head < KEY_HEADS; head++) {
      for (let token = 1; token < words.length; token++) {
        const slot = Math.floor((token - 1) / request.tokensPerRecallSlot);
        slotOfToken[head * words.length + token] = slot;
        counts[head * slots + slot]!++;
        vectorOf(words[token]!.text, head).forEach((value, at) => {
          keys[(head * slots + slot) * HEAD_SIZE + at]! += value;
        });
      }
    }
    return {
      tokens: words.length,
      gist: gistOf(request, words.length),
      recall: packed(keys, counts, slots),
      lineOfToken: Uint32Array.from(words, word => word.line),
      slotOfToken,
    };
  }

  async compose(
    gists: Iterable<PackedSlots> | AsyncIterable<PackedSlots>,
    options: ComposeOptions,
  ): Promise<ComposedState> {
    const parts: PackedSlots[] = [];
    for await (const gist of gists) parts.push(gist);
    throwIfCancelled(options.signal);
    this.compositions.push(parts);
    const sums = new FakeState(Math.min(options.budget, slotsIn(parts)));
    const places = parts.map(part => sums.add(part));
    return { state: sums.packed(), places };
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- so that a wrong place rejects instead of throwing
  async patch(state: StateSlots, change: StateChange, options: CallOptions = {}): Promise<ComposedState> {
    throwIfCancelled(options.signal);
    this.patches.push(change);
    const most = Math.max(state.slots, Math.min(change.budget, state.slots + slotsIn(change.add)));
    const sums = new FakeState(most, state);
    for (const { gist, places } of change.remove) sums.remove(gist, places);
    const places = change.add.map(part => sums.add(part));
    return { state: sums.packed(), places };
  }

  putState(id: string, slots: PackedSlots<Int8Array | Int16Array>, tokensPerSlot: number): Promise<void> {
    this.states.set(id, { slots, tokensPerSlot });
    return Promise.resolve();
  }

  dropState(id: string): Promise<void> {
    this.states.delete(id);
    return Promise.resolve();
  }

  /** Neighbours become one. */
  // eslint-disable-next-line @typescript-eslint/require-await -- as below
  async coarsen(slots: RecallSlots, slotsPerSlot: number): Promise<CoarseRecall> {
    this.beforeCoarsen();
    this.coarsened++;
    const merged = Math.ceil(slots.slots / slotsPerSlot);
    const [keys, counts] = [KEY_HEADS * merged * HEAD_SIZE, KEY_HEADS * merged].map(n => new Float32Array(n));
    const slotOf = new Uint32Array(KEY_HEADS * slots.slots);
    slotOf.forEach((_, cell) => {
      slotOf[cell] = Math.floor((cell % slots.slots) / slotsPerSlot);
      const [into, count] = [Math.floor(cell / slots.slots) * merged + slotOf[cell], slots.counts[cell]!];
      counts![into]! += count;
      const row = slots.keys.subarray(cell * HEAD_SIZE, (cell + 1) * HEAD_SIZE);
      row.forEach((key, at) => (keys![into * HEAD_SIZE + at]! += key * slots.scales[cell]! * count));
    });
    return { recall: packed(keys!, counts!, merged), slotOf };
  }

  putRecall(id: string, slots: RecallSlots): Promise<void> {
    if (this.recall.has(id)) throw new Error(`${id} was put twice`);
    this.recall.set(id, slots);
    return Promise.resolve();
  }

  dropRecall(id: string): Promise<void> {
    this.recall.delete(id);
    return Promise.resolve();
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- so that a missing id rejects instead of throwing
  async scoreRecall(question: string, ids: readonly string[]): Promise<RecallScores> {
    const slotStart = new Uint32Array(ids.length + 1);
    const parts = this.slotsOf(ids);
    parts.forEach(({ slots }, at) => (slotStart[at + 1] = slotStart[at]! + slots));
    const rows = wordsOf(question);
    const named = (words: readonly string[]): SlotMass => allNamed(massOf(words, parts), KEY_HEAD_OF);
    const { parameters } = this.model.recall;
    return { rows: rows.length, slotStart, mass: named(rows), nullMass: named(['n/a']), parameters };
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async scoreSpans(question: string, ids: readonly string[], spans: SpanShares): Promise<SpanScores> {
    const before = this.beforeSpans;
    this.beforeSpans = undefined;
    before?.();
    return { found: spanScoresOf(wordsOf(question), this.slotsOf(ids), spans, this.model.recall.parameters) };
  }

  private slotsOf(ids: readonly string[]): RecallSlots[] {
    return ids.map(id => {
      const slots = this.recall.get(id);
      if (!slots) throw new LongviewError('stale', `No recall slots ${id}.`);
      return slots;
    });
  }

  /** The keys of the text's last word, sharpened as `scoreRecall` does. */
  queriesAt(text: string, tokens: number, options: CallOptions = {}): Promise<Float32Array> {
    this.lookups.push(text);
    const word = wordsOf(text).slice(-Math.min(1, tokens))[0] ?? '';
    const queries = new Float32Array(KEY_HEAD_OF.length * HEAD_SIZE);
    KEY_HEAD_OF.forEach((keyHead, at) =>
      queries.set(
        vectorOf(word, keyHead).map(value => value * SHARPNESS),
        at * HEAD_SIZE,
      ),
    );
    return Promise.resolve(this.beforeLookup(options.signal)).then(() => queries);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async generate(
    request: GenerateRequest,
    options: CallOptions & { readonly onText?: (text: string) => void } = {},
  ): Promise<GenerateResult> {
    this.prompts.push(request);
    for (const id of request.states ?? []) {
      if (!this.states.has(id)) throw new LongviewError('stale', `No state ${id}.`);
    }
    const text = typeof this.answer === 'string' ? this.answer : this.answer(request);
    options.onText?.(text);
    const promptTokens = wordsOf(request.messages.map(message => message.content).join(' ')).length;
    return {
      text,
      promptTokens,
      writtenTokens: wordsOf(text).length,
      stopReason: 'end',
      firstTokenMs: 1,
      totalMs: 2,
    };
  }

  loss(): Promise<{ loss: number; tokens: number }> {
    return Promise.resolve({ loss: 1, tokens: 1 });
  }

  lossAfter(texts: readonly string[], continuation: string): Promise<Float32Array> {
    return Promise.resolve(Float32Array.from(texts, text => this.natsAfter(text, continuation)));
  }

  dispose(): void {
    this.states.clear();
    this.recall.clear();
  }
}

function slotsIn(gists: readonly PackedSlots[]): number {
  return gists.reduce((sum, { slots }) => sum + slots, 0);
}

/** Slots as whole numbers: the fake's gists have scales and counts of 1, so that nothing is ever rounded. */
class FakeState {
  private readonly keys: Float64Array;
  private readonly values: Float64Array;
  private readonly counts: Float64Array;
  private readonly created: Uint8Array;

  constructor(
    private readonly slots: number,
    from?: StateSlots,
  ) {
    const cells = GROUPS * slots;
    [this.keys, this.values] = [new Float64Array(cells * HEAD_SIZE), new Float64Array(cells * HEAD_SIZE)];
    [this.counts, this.created] = [new Float64Array(cells), new Uint8Array(cells)];
    for (let group = 0; from && group < GROUPS; group++) {
      const to = group * slots;
      this.keys.set(
        from.keys.subarray(group * from.slots * HEAD_SIZE, (group + 1) * from.slots * HEAD_SIZE),
        to * HEAD_SIZE,
      );
      this.values.set(
        from.values.subarray(group * from.slots * HEAD_SIZE, (group + 1) * from.slots * HEAD_SIZE),
        to * HEAD_SIZE,
      );
      this.counts.set(from.counts.subarray(group * from.slots, (group + 1) * from.slots), to);
      this.created.set(from.created.subarray(group * from.slots, (group + 1) * from.slots), to);
    }
  }

  /** Into the first free slot; where none is, into the one that the slot's first number says. */
  add(gist: PackedSlots): Places {
    const places = new Uint32Array(GROUPS * gist.slots);
    places.forEach((_, cell) => {
      const group = Math.floor(cell / gist.slots);
      const free = this.counts.subarray(group * this.slots, (group + 1) * this.slots).indexOf(0);
      const slot = free < 0 ? (gist.keys[cell * HEAD_SIZE]! + 128) % this.slots : free;
      places[cell] = slot * 2 + (free < 0 ? 0 : 1);
      this.move(gist, cell, group * this.slots + slot, 1);
      if (free >= 0) this.created[group * this.slots + slot] = 1;
    });
    return places;
  }

  remove(gist: PackedSlots, places: Places): void {
    if (places.length !== GROUPS * gist.slots)
      throw new LongviewError('stale', 'These are not the places of this gist.');
    places.forEach((place, cell) => {
      const to = Math.floor(cell / gist.slots) * this.slots + (place >>> 1);
      this.move(gist, cell, to, -1);
      if (place & 1) this.created[to] = 0;
      if (this.counts[to]! < 0) throw new LongviewError('stale', 'This gist is not there.');
    });
  }

  packed(): StateSlots {
    const [keys, values] = [new Int16Array(this.keys.length), new Int16Array(this.values.length)];
    keys.set(this.keys);
    values.set(this.values);
    const counts = Float32Array.from(this.counts);
    const scales = (): Float32Array => counts.map(count => (count > 0 ? 1 / count : 0));
    const ones = (): Float32Array => counts.map(count => (count > 0 ? 1 : 0));
    return {
      ...{ groups: GROUPS, slots: this.slots, headSize: HEAD_SIZE },
      ...{ keys, keyScales: scales(), values, valueScales: scales(), counts, keyRadii: ones(), valueRadii: ones() },
      ...{ keyRadiusSums: counts.slice(), valueRadiusSums: counts.slice(), created: this.created.slice() },
    };
  }

  private move(gist: PackedSlots, from: number, to: number, sign: 1 | -1): void {
    for (let i = 0; i < HEAD_SIZE; i++) {
      this.keys[to * HEAD_SIZE + i]! += sign * gist.keys[from * HEAD_SIZE + i]!;
      this.values[to * HEAD_SIZE + i]! += sign * gist.values[from * HEAD_SIZE + i]!;
    }
    this.counts[to]! += sign;
  }
}

function gistOf(request: ReadRequest, tokens: number): PackedSlots {
  const slots = request.gistSlots ?? Math.max(2, Math.min(256, Math.floor(Math.sqrt(tokens) / 2)));
  return slotsFrom(`${request.label}\n${request.text}`, slots);
}

/** Slots that depend on `seed` alone. */
function slotsFrom(seed: string, slots: number): PackedSlots {
  const bytes = createHash('sha512').update(seed).digest();
  const cells = GROUPS * slots;
  const int8 = Int8Array.from({ length: cells * HEAD_SIZE }, (_, at) => bytes.readInt8((at * 7) % 64));
  const ones = (): Float32Array => new Float32Array(cells).fill(1);
  return {
    groups: GROUPS,
    slots,
    headSize: HEAD_SIZE,
    keys: int8,
    keyScales: ones(),
    values: int8.slice(),
    valueScales: ones(),
    counts: ones(),
    keyRadii: ones(),
    valueRadii: ones(),
  };
}

/** Means of the sums, as int8 with a scale each. */
function packed(sums: Float32Array, counts: Float32Array, slots: number): RecallSlots {
  const keys = new Int8Array(sums.length);
  const scales = new Float32Array(counts.length);
  for (let cell = 0; cell < counts.length; cell++) {
    const mean = sums.subarray(cell * HEAD_SIZE, (cell + 1) * HEAD_SIZE).map(value => value / counts[cell]!);
    scales[cell] = Math.max(...mean.map(Math.abs)) / 127 || 1;
    mean.forEach((value, at) => (keys[cell * HEAD_SIZE + at] = Math.round(value / scales[cell]!)));
  }
  return { heads: KEY_HEADS, slots, headSize: HEAD_SIZE, keys, scales, counts };
}
