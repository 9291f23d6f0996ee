/**
 * Texts whose recall slots share one softmax, and the functions in them: from attention on slots to mass on functions, and
 * back for gradients. A slot's mass is shared evenly among its tokens; a function has the tokens of its lines.
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

/** Of one key head: function f has the pairs `start[f]` up to `start[f+1]` of a slot and the part of it that is the function's. */
interface Shares {
  readonly start: Uint32Array;
  readonly slots: Uint32Array;
  readonly parts: Float32Array;
}

export class SharedMemory {
  private constructor(
    /** [K]. */
    readonly slots: readonly HeadSlots[],
    private readonly shares: readonly Shares[],
    /** [F]: tokens. */
    private readonly tokens: readonly number[],
    /** [F]: tokens, at least 1. */
    readonly lengths: Float64Array,
    /** First function of each text. */
    readonly firstFunction: readonly number[],
  ) {}

  static of(docs: readonly ReadDoc[]): SharedMemory {
    const heads = docs[0]?.recall.heads ?? 0;
    const joined = Array.from({ length: heads }, (_, head) => joinHead(docs, head));
    const tokens: number[] = [];
    const firstFunction: number[] = [];
    for (const doc of docs) {
      firstFunction.push(tokens.length);
      for (const [from, to] of rangesOf(doc)) tokens.push(to - from);
    }
    return new SharedMemory(
      joined.map(({ slots }) => slots),
      joined.map(({ shares }) => shares),
      tokens,
      Float64Array.from(tokens, count => Math.max(1, count)),
      firstFunction,
    );
  }

  get functions(): number {
    return this.tokens.length;
  }

  /** Whether a function has a token, so that it can be found. */
  canBeFound(span: number): boolean {
    return this.tokens[span]! > 0;
  }

  /** One row of attention, [N] from `offset`, of a head that reads this key head → mass on each function, float64 [F]. */
  onFunctions(keyHead: number, attention: ArrayLike<number>, offset: number): Float64Array {
    const { start, slots, parts } = this.shares[keyHead]!;
    const mass = new Float64Array(this.functions);
    for (let span = 0; span < mass.length; span++) {
      let sum = 0;
      for (let at = start[span]!; at < start[span + 1]!; at++) sum += parts[at]! * attention[offset + slots[at]!]!;
      mass[span] = sum;
    }
    return mass;
  }

  /** The other way: a loss's gradient by each function's mass → by the row of attention, added to `into` from `offset`. */
  gradientOnSlots(keyHead: number, gradient: Float64Array, into: Float32Array, offset: number): void {
    const { start, slots, parts } = this.shares[keyHead]!;
    for (let span = 0; span < gradient.length; span++) {
      const own = gradient[span]!;
      if (own === 0) continue;
      for (let at = start[span]!; at < start[span + 1]!; at++) into[offset + slots[at]!]! += parts[at]! * own;
    }
  }
}

function joinHead(docs: readonly ReadDoc[], head: number): { slots: HeadSlots; shares: Shares } {
  const headSize = docs[0]?.recall.headSize ?? 0;
  const total = docs.reduce((sum, doc) => sum + doc.recall.slots, 0);
  const keys = new Int8Array(total * headSize);
  const scales = new Float32Array(total);
  const logCounts = new Float32Array(total);
  const start = [0];
  const slots: number[] = [];
  const parts: number[] = [];
  let first = 0;
  for (const doc of docs) {
    const { recall, slotOfToken, tokens } = doc;
    const [from, to] = [head * recall.slots, (head + 1) * recall.slots];
    const counts = recall.counts.subarray(from, to).map(count => Math.max(1, count));
    keys.set(recall.keys.subarray(from * headSize, to * headSize), first * headSize);
    scales.set(recall.scales.subarray(from, to), first);
    logCounts.set(counts.map(Math.log), first);
    for (const [begin, end] of rangesOf(doc)) {
      const own = new Map<number, number>();
      for (const slot of slotOfToken.subarray(head * tokens + begin, head * tokens + end)) {
        if (slot !== NO_SLOT) own.set(slot, (own.get(slot) ?? 0) + 1 / counts[slot]!);
      }
      for (const [slot, part] of own) {
        slots.push(first + slot);
        parts.push(part);
      }
      start.push(slots.length);
    }
    first += recall.slots;
  }
  return {
    slots: { keys, scales, logCounts },
    shares: { start: Uint32Array.from(start), slots: Uint32Array.from(slots), parts: Float32Array.from(parts) },
  };
}

/** Tokens of each function: from, up to. */
function rangesOf({ functions, lineOfToken }: ReadDoc): (readonly [from: number, to: number])[] {
  return functions.map(({ startLine, endLine }) => [
    firstFrom(lineOfToken, startLine),
    firstFrom(lineOfToken, endLine + 1),
  ]);
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
