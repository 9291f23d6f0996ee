/**
 * From the softmax of each question row at some recall slots to what the rows find of spans of lines. Knows slots and
 * shares, not files; never asks the model.
 */
import type { SpanShares } from './engine.js';
import type { Exponentials, QueryRows } from './slot-softmax.js';

/** N recall slots of one key head: int8 [N,d] mean keys, float32 [N] their units, float32 [N]. */
export interface HeadSlots {
  readonly keys: Int8Array;
  readonly scales: Float32Array;
  readonly logCounts: Float32Array;
}

/** What spans share, slot by slot: M slots that some span has a share of, each once. */
export interface SharedSlots {
  /** uint32 [M], ascending. */
  readonly slots: Uint32Array;
  /** uint32 [M+1]: slot m has the shares `start[m]` up to `start[m+1]`. */
  readonly start: Uint32Array;
  /** uint32 [P], float32 [P]. */
  readonly spans: Uint32Array;
  readonly shares: Float32Array;
}

/** `total`: slots in all. */
export function sharedSlots(own: SpanShares['keyHeads'][number], total: number): SharedSlots {
  const counts = new Uint32Array(total);
  let touched = 0;
  for (const slot of own.slots) if (counts[slot]!++ === 0) touched++;
  const slots = new Uint32Array(touched);
  const start = new Uint32Array(touched + 1);
  /** Where the next share of each slot goes. */
  const next = counts;
  let at = 0;
  for (let slot = 0; slot < total; slot++) {
    const count = counts[slot]!;
    if (count === 0) continue;
    slots[at] = slot;
    start[at + 1] = start[at]! + count;
    next[slot] = start[at++]!;
  }
  const spans = new Uint32Array(own.slots.length);
  const shares = new Float32Array(own.slots.length);
  for (let span = 0; span < own.start.length - 1; span++) {
    for (let pair = own.start[span]!; pair < own.start[span + 1]!; pair++) {
      const place = next[own.slots[pair]!]!++;
      spans[place] = span;
      shares[place] = own.shares[pair]!;
    }
  }
  return { slots, start, spans, shares };
}

/** Sums up each row's softmax on each span, block by block of the shared slots. */
export class SpanMass {
  /** float32 [F,R]. */
  private readonly mass: Float32Array;
  private done = 0;

  constructor(
    private readonly shared: SharedSlots,
    private readonly count: number,
    /** float32 [R]: log of the sum that each row's softmax is divided by. */
    private readonly logSums: Float32Array,
  ) {
    this.mass = new Float32Array(logSums.length * count);
  }

  /** The next of the shared slots. */
  add({ values, reference, slots }: Exponentials): void {
    const { shared, mass, logSums, done } = this;
    const { start, spans, shares } = shared;
    const { rows } = this;
    const factors = Float64Array.from(logSums, (logSum, row) => Math.exp(reference[row]! - logSum));
    for (let slot = 0; slot < slots; slot++) {
      for (let at = start[done + slot]!; at < start[done + slot + 1]!; at++) {
        const to = spans[at]! * rows;
        const share = shares[at]!;
        for (let row = 0; row < rows; row++) mass[to + row]! += share * factors[row]! * values[row * slots + slot]!;
      }
    }
    this.done += slots;
  }

  private get rows(): number {
    return this.logSums.length;
  }

  /** Of one head of the rows, float32 [F]: weighted mean over its rows. */
  mean({ weights, starts }: QueryRows, head: number): Float32Array {
    const mean = new Float32Array(this.count);
    for (let row = starts[head]!; row < starts[head + 1]!; row++) {
      for (let span = 0; span < this.count; span++) mean[span]! += weights[row]! * this.mass[span * this.rows + row]!;
    }
    return mean;
  }

  /** Of one head of the rows, float32 [F]: sum over its rows of weight · log(mass of the row / n^a + floor). */
  scores(
    { weights, starts }: QueryRows,
    head: number,
    tokens: Float32Array,
    { lengthExponent, floor }: { readonly lengthExponent: number; readonly floor: number },
  ): Float32Array {
    return tokens.map((own, span) => {
      const length = Math.max(1, own) ** lengthExponent;
      let score = 0;
      for (let row = starts[head]!; row < starts[head + 1]!; row++) {
        score += weights[row]! * Math.log(this.mass[span * this.rows + row]! / length + floor);
      }
      return score;
    });
  }
}
