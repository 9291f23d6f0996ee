/**
 * The softmax of question rows over recall slots of one key head, block by block: each block's exponentials have a
 * reference of their own, which cancels once the sums of all blocks are known. Knows slots, not texts.
 */
import { SCORE } from './graph-contract.js';
import type { Model } from './model.js';
import { bytes, floatData, floats } from './ort.js';
import type { Tensor } from './ort.js';
import type { HeadSlots } from './span-scores.js';

/** Rows of the query heads that share a key head, one below the other. */
export interface QueryRows {
  /** float32 [R,d], mapped. */
  readonly rows: Float32Array;
  /** float32 [R]: what each row counts; the rows of one head sum to 1. */
  readonly weights: Float32Array;
  /** [heads+1]: the rows of head i are `starts[i]` up to `starts[i+1]`. */
  readonly starts: readonly number[];
}

/** Of B slots: float32 [R,B] exp(logit - reference), float32 [R], and float64 [R] sums over the slots. */
export interface Exponentials {
  readonly values: Float32Array;
  readonly reference: Float32Array;
  readonly sums: Float64Array;
  readonly slots: number;
}

export class SlotScorer {
  constructor(private readonly model: Pick<Model, 'score' | 'scoreRows' | 'manifest'>) {}

  /** With `reference` [R] or, where an exponential is too large for it, one of its own. */
  async exponentials(queries: QueryRows, block: HeadSlots, reference: Float32Array): Promise<Exponentials> {
    const slots = block.scales.length;
    const values = await this.run(queries, block, reference);
    const sums = sumsOf(values, slots);
    if (sums.every(sum => sum < Infinity)) return { values, reference, sums, slots };
    const own = await this.logSums(queries, block);
    const again = await this.run(queries, block, own);
    return { values: again, reference: own, sums: sumsOf(again, slots), slots };
  }

  /** For each key row the most alike (cosine) of unit rows, the first of equal ones. Int8 [N,d], float32 [L,d]. */
  async mostAlike(leaders: Float32Array, keys: Int8Array, count: number, slots: number): Promise<Uint32Array> {
    const { headSize } = this.model.manifest.architecture;
    // Of a product that stays within 1, the exponential orders as the product does.
    const unit = 1 / (127 * Math.sqrt(headSize));
    const queries = { rows: leaders, weights: new Float32Array(count), starts: [0, count] };
    const block = { keys, scales: new Float32Array(slots).fill(unit), logCounts: new Float32Array(slots) };
    const likeness = await this.run(queries, block, new Float32Array(count));
    const best = new Uint32Array(slots);
    const most = likeness.slice(0, slots);
    for (let leader = 1; leader < count; leader++) {
      for (let slot = 0; slot < slots; slot++) {
        const own = likeness[leader * slots + slot]!;
        if (own <= most[slot]!) continue;
        most[slot] = own;
        best[slot] = leader;
      }
    }
    return best;
  }

  private async run(queries: QueryRows, block: HeadSlots, reference: Float32Array): Promise<Float32Array> {
    const inputs = { ...this.inputs(queries, block), [SCORE.logSum]: floats(reference, [reference.length]) };
    const result = await this.model.scoreRows.run(inputs, [SCORE.rowMass]);
    return floatData(result[SCORE.rowMass]!);
  }

  private async logSums(queries: QueryRows, block: HeadSlots): Promise<Float32Array> {
    const result = await this.model.score.run(this.inputs(queries, block), [SCORE.logSum]);
    return floatData(result[SCORE.logSum]!);
  }

  private inputs({ rows, weights }: QueryRows, { keys, scales, logCounts }: HeadSlots): Record<string, Tensor> {
    const { headSize } = this.model.manifest.architecture;
    return {
      [SCORE.query]: floats(rows, [weights.length, headSize]),
      [SCORE.key]: bytes(keys, [scales.length, headSize]),
      [SCORE.scale]: floats(scales, [scales.length]),
      [SCORE.logCount]: floats(logCounts, [scales.length]),
    };
  }
}

function sumsOf(values: Float32Array, slots: number): Float64Array {
  const sums = new Float64Array(values.length / slots);
  for (let row = 0; row < sums.length; row++) {
    sums[row] = sumOf(values, row * slots, (row + 1) * slots);
  }
  return sums;
}

/** Four sums side by side: one would wait for itself. */
function sumOf(values: Float32Array, from: number, to: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  let at = from;
  for (; at + 4 <= to; at += 4) {
    a += values[at]!;
    b += values[at + 1]!;
    c += values[at + 2]!;
    d += values[at + 3]!;
  }
  for (; at < to; at++) a += values[at]!;
  return a + b + c + d;
}

/** log of the sums of blocks with references of their own. */
export function logSumsOf(blocks: readonly Exponentials[], rows: number): Float32Array {
  const logSums = new Float32Array(rows).fill(-Infinity);
  for (let row = 0; row < rows; row++) {
    const most = blocks.reduce((a, { reference }) => Math.max(a, reference[row]!), -Infinity);
    let sum = 0;
    for (const { sums, reference } of blocks) sum += sums[row]! * Math.exp(reference[row]! - most);
    if (sum > 0) logSums[row] = most + Math.log(sum);
  }
  return logSums;
}

/** Per head float32 [N]: weighted mean over its rows of exp(logit - logSum). */
export function meanMass(
  { weights, starts }: QueryRows,
  blocks: readonly Exponentials[],
  logSums: Float32Array,
): Float32Array[] {
  const total = blocks.reduce((sum, { slots }) => sum + slots, 0);
  const mass = starts.slice(1).map(() => new Float32Array(total));
  let first = 0;
  for (const { values, reference, slots } of blocks) {
    for (const [head, own] of mass.entries()) {
      for (let row = starts[head]!; row < starts[head + 1]!; row++) {
        const factor = weights[row]! * Math.exp(reference[row]! - logSums[row]!);
        addScaled(own, first, values, row * slots, slots, factor);
      }
    }
    first += slots;
  }
  return mass;
}

function addScaled(
  to: Float32Array,
  at: number,
  values: Float32Array,
  from: number,
  count: number,
  factor: number,
): void {
  for (let i = 0; i < count; i++) to[at + i]! += factor * values[from + i]!;
}
