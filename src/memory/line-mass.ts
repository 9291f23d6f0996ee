/**
 * From attention mass on slots to mass on lines: a slot's mass is shared among the lines its tokens came from.
 * Never reads files and never asks the engine.
 *
 * Shapes: K recall key heads, H recall query heads, S slots, L last line that has a token.
 */
import type { Block } from './block.js';
import type { Provenance } from './store/provenance.js';

/** Tokens of each line of one text, as running sums: float64 [L+1]. */
export function tokensBefore(provenance: Provenance, slots: number): Float64Array {
  let last = 0;
  for (const line of provenance.lines) if (line > last) last = line;
  const sums = new Float64Array(last + 1);
  // Each token is in exactly one slot of each head, so the first head's pairs count every token once.
  const end = provenance.slotStart[slots] ?? 0;
  for (let at = 0; at < end; at++) sums[provenance.lines[at]!]! += provenance.weights[at]!;
  accumulate(sums, 0, sums.length);
  return sums;
}

/** Masses [H,N] of a question and of one without content, over the slots of all texts. */
export interface SlotMasses {
  readonly mass: Float32Array;
  readonly nullMass: Float32Array;
}

/** Mass on the lines of one text, as running sums: float64 [2,H,L+1], the question's and the contentless one's. */
export class LineMass {
  private constructor(
    private readonly sums: Float64Array,
    private readonly heads: number,
    private readonly width: number,
  ) {}

  /** `first`: where this text's slots begin in N. `width`: L+1. `keyHeadOf` [H]: the key head of each query head. */
  static of(
    provenance: Provenance,
    slots: number,
    width: number,
    { mass, nullMass }: SlotMasses,
    first: number,
    keyHeadOf: readonly number[],
  ): LineMass {
    const { slotStart, lines, weights } = provenance;
    const heads = keyHeadOf.length;
    const all = mass.length / heads;
    const nulls = heads * width;
    const sums = new Float64Array(2 * nulls);
    for (let head = 0; head < heads; head++) {
      const row = keyHeadOf[head]! * (slots + 1);
      const into = head * width;
      const from = head * all + first;
      for (let slot = 0; slot < slots; slot++) {
        const start = slotStart[row + slot]!;
        const end = slotStart[row + slot + 1]!;
        let total = 0;
        for (let at = start; at < end; at++) total += weights[at]!;
        if (total === 0) continue;
        const share = mass[from + slot]! / total;
        const nullShare = nullMass[from + slot]! / total;
        for (let at = start; at < end; at++) {
          const cell = into + lines[at]!;
          const weight = weights[at]!;
          sums[cell]! += share * weight;
          sums[nulls + cell]! += nullShare * weight;
        }
      }
      accumulate(sums, into, into + width);
      accumulate(sums, nulls + into, nulls + into + width);
    }
    return new LineMass(sums, heads, width);
  }

  /** The question's mass of one query head on a block. */
  on(head: number, block: Block): number {
    return sumOf(this.sums, head * this.width, this.width, block);
  }

  /** The contentless question's. */
  nullOn(head: number, block: Block): number {
    return sumOf(this.sums, (this.heads + head) * this.width, this.width, block);
  }
}

/** Sum over a block's lines of running sums [width] that begin at `offset`; lines past the last count as nothing. */
export function sumOf(sums: Float64Array, offset: number, width: number, block: Block): number {
  const last = Math.min(block.endLine, width - 1);
  return last < block.startLine ? 0 : sums[offset + last]! - sums[offset + block.startLine - 1]!;
}

function accumulate(sums: Float64Array, from: number, to: number): void {
  for (let at = from + 1; at < to; at++) sums[at]! += sums[at - 1]!;
}
