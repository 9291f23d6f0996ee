/**
 * Texts whose recall slots share one softmax, and the functions in them: from mass on slots to mass on functions, and back
 * for gradients. A slot's mass is shared evenly among its tokens; a function has the tokens of its lines.
 *
 * K key heads, N slots, T tokens, F functions, all of the memory.
 */
import type { HeadSlots, RecallSlots } from '../engine/index.js';
import type { DocFunction } from './doc-questions.js';

/** One text as it was read with K key heads. */
export interface ReadDoc {
  readonly functions: readonly DocFunction[];
  readonly tokens: number;
  /** uint32 [T]; [K,T], 0xffffffff: in none. */
  readonly lineOfToken: Uint32Array;
  readonly slotOfToken: Uint32Array;
  readonly recall: RecallSlots;
}

/** The same text with these of its key heads, by place. */
export function withKeyHeads(doc: ReadDoc, places: readonly number[]): ReadDoc {
  const { recall, slotOfToken, tokens } = doc;
  const pick = <A extends Int8Array | Float32Array | Uint32Array>(values: A, into: A, size: number): A => {
    places.forEach((place, i) => into.set(values.subarray(place * size, (place + 1) * size), i * size));
    return into;
  };
  const { slots, headSize } = recall;
  return {
    ...doc,
    recall: {
      ...{ heads: places.length, slots, headSize },
      keys: pick(recall.keys, new Int8Array(places.length * slots * headSize), slots * headSize),
      scales: pick(recall.scales, new Float32Array(places.length * slots), slots),
      counts: pick(recall.counts, new Float32Array(places.length * slots), slots),
    },
    slotOfToken: pick(slotOfToken, new Uint32Array(places.length * tokens), tokens),
  };
}

const NO_SLOT = 0xffffffff;

export class SharedMemory {
  private constructor(
    /** [K]. */
    readonly slots: readonly HeadSlots[],
    /** [K] of int32 [T]: the slot of each token, -1 for none; and of float32 [N]: tokens of each slot, at least 1. */
    private readonly slotOf: readonly Int32Array[],
    private readonly counts: readonly Float32Array[],
    /** Tokens of each function: from, up to. */
    private readonly ranges: readonly (readonly [from: number, to: number])[],
    /** [F]: tokens, at least 1. */
    readonly lengths: Float64Array,
    /** First function of each text. */
    readonly firstFunction: readonly number[],
  ) {}

  static of(docs: readonly ReadDoc[]): SharedMemory {
    const total = docs.reduce((sum, doc) => sum + doc.recall.slots, 0);
    const tokens = docs.reduce((sum, doc) => sum + doc.tokens, 0);
    const heads = docs[0]?.recall.heads ?? 0;
    const joined = Array.from({ length: heads }, (_, head) => joinHead(docs, head, total, tokens));
    const ranges: (readonly [number, number])[] = [];
    const firstFunction: number[] = [];
    let first = 0;
    for (const { functions, lineOfToken, tokens: own } of docs) {
      firstFunction.push(ranges.length);
      for (const { startLine, endLine } of functions) {
        ranges.push([first + firstFrom(lineOfToken, startLine), first + firstFrom(lineOfToken, endLine + 1)]);
      }
      first += own;
    }
    return new SharedMemory(
      joined.map(({ slots }) => slots),
      joined.map(({ slotOf }) => slotOf),
      joined.map(({ counts }) => counts),
      ranges,
      Float64Array.from(ranges, ([from, to]) => Math.max(1, to - from)),
      firstFunction,
    );
  }

  get functions(): number {
    return this.ranges.length;
  }

  /** Whether a function has a token, so that it can be found. */
  canBeFound(span: number): boolean {
    const [from, to] = this.ranges[span]!;
    return to > from;
  }

  /** Mass of one key head's slots, [N] from `offset` in `mass`, on each function: float64 [F]. */
  onFunctions(keyHead: number, mass: Float32Array, offset: number): Float64Array {
    const slotOf = this.slotOf[keyHead]!;
    const counts = this.counts[keyHead]!;
    const before = new Float64Array(slotOf.length + 1);
    for (let token = 0; token < slotOf.length; token++) {
      const slot = slotOf[token]!;
      before[token + 1] = before[token]! + (slot < 0 ? 0 : mass[offset + slot]! / counts[slot]!);
    }
    return Float64Array.from(this.ranges, ([from, to]) => before[to]! - before[from]!);
  }

  /** The other way: a loss's gradient by each function's mass [F] → by each slot's, put into `into` [N] from `offset`. */
  gradientOnSlots(keyHead: number, gradient: Float64Array, into: Float32Array, offset: number): void {
    const slotOf = this.slotOf[keyHead]!;
    const counts = this.counts[keyHead]!;
    const steps = new Float64Array(slotOf.length + 1);
    this.ranges.forEach(([from, to], span) => {
      steps[from]! += gradient[span]!;
      steps[to]! -= gradient[span]!;
    });
    let running = 0;
    for (let token = 0; token < slotOf.length; token++) {
      running += steps[token]!;
      const slot = slotOf[token]!;
      if (slot >= 0) into[offset + slot]! += running / counts[slot]!;
    }
  }
}

function joinHead(
  docs: readonly ReadDoc[],
  head: number,
  total: number,
  tokens: number,
): { slots: HeadSlots; slotOf: Int32Array; counts: Float32Array } {
  const headSize = docs[0]?.recall.headSize ?? 0;
  const keys = new Int8Array(total * headSize);
  const scales = new Float32Array(total);
  const counts = new Float32Array(total);
  const slotOf = new Int32Array(tokens);
  let firstSlot = 0;
  let firstToken = 0;
  for (const { recall, slotOfToken, tokens: own } of docs) {
    const [from, to] = [head * recall.slots, (head + 1) * recall.slots];
    keys.set(recall.keys.subarray(from * headSize, to * headSize), firstSlot * headSize);
    scales.set(recall.scales.subarray(from, to), firstSlot);
    counts.set(
      recall.counts.subarray(from, to).map(count => Math.max(1, count)),
      firstSlot,
    );
    for (let token = 0; token < own; token++) {
      const slot = slotOfToken[head * own + token]!;
      slotOf[firstToken + token] = slot === NO_SLOT ? -1 : firstSlot + slot;
    }
    firstSlot += recall.slots;
    firstToken += own;
  }
  return { slots: { keys, scales, logCounts: counts.map(Math.log) }, slotOf, counts };
}

/** The first token on `line` or after it; lines of tokens never go down. */
function firstFrom(lineOfToken: Uint32Array, line: number): number {
  let [low, high] = [0, lineOfToken.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lineOfToken[middle]! < line) low = middle + 1;
    else high = middle;
  }
  return low;
}
