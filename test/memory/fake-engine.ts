/**
 * A deterministic engine for tests of what stands on it. A token is a word, its key a vector made of the word's hash, so
 * that recall finds words. Counts what it is asked to do. No model, no mathematics of KVM.
 */
import { createHash } from 'node:crypto';
import { LongviewError, throwIfCancelled } from '../../src/base/index.js';
import type {
  CallOptions,
  ComposeOptions,
  Engine,
  GenerateRequest,
  GenerateResult,
  ModelDescription,
  PackedSlots,
  ReadRequest,
  Reading,
  RecallScores,
  RecallSlots,
} from '../../src/engine/index.js';

const KEY_HEADS = 2;
const KEY_HEAD_OF = [0, 1, 1];
const HEAD_SIZE = 32;
const GROUPS = 2;
const SHARPNESS = 12;

export class FakeEngine implements Engine {
  /** Labels of the texts that were read, in order. */
  readonly reads: string[] = [];
  /** Gists of each composition. */
  readonly compositions: PackedSlots[][] = [];
  readonly states = new Map<string, { slots: PackedSlots; tokensPerSlot: number }>();
  readonly recall = new Map<string, RecallSlots>();
  readonly prompts: GenerateRequest[] = [];
  /** What `generate` writes. */
  answer: string | ((request: GenerateRequest) => string) = 'Nothing to say.';
  /** Called before each text is read; may throw. */
  beforeRead: (label: string, signal: AbortSignal | undefined) => void | Promise<void> = () => undefined;
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
  ): Promise<PackedSlots> {
    const parts: PackedSlots[] = [];
    for await (const gist of gists) parts.push(gist);
    throwIfCancelled(options.signal);
    this.compositions.push(parts);
    const slots = Math.min(
      options.budget,
      parts.reduce((sum, part) => sum + part.slots, 0),
    );
    const seed = parts.map(part => Buffer.from(part.keys.buffer, part.keys.byteOffset, part.keys.byteLength));
    return slotsFrom(createHash('sha256').update(Buffer.concat(seed)).digest('hex'), slots);
  }

  putState(id: string, slots: PackedSlots, tokensPerSlot: number): Promise<void> {
    this.states.set(id, { slots, tokensPerSlot });
    return Promise.resolve();
  }

  dropState(id: string): Promise<void> {
    this.states.delete(id);
    return Promise.resolve();
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
    const parts = ids.map((id, at) => {
      const slots = this.recall.get(id);
      if (!slots) throw new LongviewError('stale', `No recall slots ${id}.`);
      slotStart[at + 1] = slotStart[at]! + slots.slots;
      return slots;
    });
    const rows = wordsOf(question);
    return { rows: rows.length, slotStart, mass: massOf(rows, parts), nullMass: massOf(['n/a'], parts) };
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

  dispose(): void {
    this.states.clear();
    this.recall.clear();
  }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** A unit vector of the word's hash. */
function vectorOf(word: string, head: number): Float32Array {
  const bytes = createHash('sha256').update(`${head}:${word}`).digest();
  const vector = Float32Array.from({ length: HEAD_SIZE }, (_, at) => bytes[at % bytes.length]! - 127.5);
  const length = Math.hypot(...vector);
  return vector.map(value => value / length);
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

/** Mean softmax mass of the words over all slots: float32 [heads,N]. */
function massOf(rows: readonly string[], parts: readonly RecallSlots[]): Float32Array {
  const total = parts.reduce((sum, part) => sum + part.slots, 0);
  const mass = new Float32Array(KEY_HEAD_OF.length * total);
  KEY_HEAD_OF.forEach((keyHead, head) => {
    for (const row of rows) {
      const query = vectorOf(row, keyHead);
      const logits = parts.flatMap(part =>
        Array.from({ length: part.slots }, (_, slot) => {
          const cell = keyHead * part.slots + slot;
          let dot = 0;
          for (let at = 0; at < HEAD_SIZE; at++) dot += query[at]! * part.keys[cell * HEAD_SIZE + at]!;
          return SHARPNESS * dot * part.scales[cell]! + Math.log(part.counts[cell]!);
        }),
      );
      const most = Math.max(...logits);
      const weights = logits.map(logit => Math.exp(logit - most));
      const sum = weights.reduce((a, b) => a + b, 0);
      weights.forEach((weight, at) => (mass[head * total + at]! += weight / sum / rows.length));
    }
  });
  return mass;
}
