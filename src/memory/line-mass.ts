/**
 * From attention mass on slots to mass on lines: a slot's mass is shared among the lines its tokens came from.
 * Never reads files and never asks the engine.
 *
 * Shapes: K recall key heads, H recall query heads, S slots, L last line that has a token.
 */
import type { RecallScores } from '../engine/index.js';
import type { Block } from './block.js';
import type { Provenance } from './store/provenance.js';

/** Tokens of each line of one text, as running sums: float64 [L+1]. */
export function tokensBefore({ slotStart, lines, weights, spans }: Provenance, slots: number): Float64Array {
  let last = 0;
  for (let at = 0; at < lines.length; at++) last = Math.max(last, lines[at]! + (spans?.[at] ?? 1) - 1);
  const sums = new RunningSums(1, last + 1, spans);
  // Each token is in exactly one slot of each head, so the first head's runs count every token once.
  const end = slotStart[slots] ?? 0;
  for (let at = 0; at < end; at++) sums.add(0, lines[at]!, at, weights[at]!);
  return sums.finished();
}

/** Mass on the lines of one text, as running sums: float64 [2,H,L+1], the question's and the contentless one's. */
export class LineMass {
  private constructor(
    private readonly sums: Float64Array,
    private readonly heads: number,
    private readonly width: number,
  ) {}

  /**
   * `first`: where this text's slots begin in N. `tokens`: float64 [L+1], `tokensBefore`. `keyHeadOf` [H]: the key head of
   * each query head.
   */
  static of(
    provenance: Provenance,
    slots: number,
    tokens: Float64Array,
    { mass, nullMass }: Pick<RecallScores, 'mass' | 'nullMass'>,
    first: number,
    keyHeadOf: readonly number[],
  ): LineMass {
    const heads = keyHeadOf.length;
    const width = tokens.length;
    const sums = new RunningSums(2 * heads, width, provenance.spans);
    for (const [head, keyHead] of keyHeadOf.entries()) {
      const part = { row: keyHead * (slots + 1), first, slots };
      addNamed(sums, head, provenance, part, mass.slots?.[keyHead], mass.mass[head]!, mass.rest[head]!);
      const contentless = [nullMass.slots?.[keyHead], nullMass.mass[head]!, nullMass.rest[head]!] as const;
      addNamed(sums, heads + head, provenance, part, ...contentless);
    }
    return new LineMass(sums.finished([...mass.rest, ...nullMass.rest], tokens), heads, width);
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

/** Slots that are named, by how much more they have than `rest` for each of their tokens. */
function addNamed(
  sums: RunningSums,
  to: number,
  { slotStart, lines, weights }: Provenance,
  { row, first, slots }: { readonly row: number; readonly first: number; readonly slots: number },
  named: Uint32Array | undefined,
  mass: Float32Array,
  rest: number,
): void {
  const [from, beyond] = named
    ? [firstAtLeast(named, first), firstAtLeast(named, first + slots)]
    : [first, first + slots];
  for (let at = from; at < beyond; at++) {
    const slot = row + (named ? named[at]! : at) - first;
    const [start, end] = [slotStart[slot]!, slotStart[slot + 1]!];
    let total = 0;
    for (let run = start; run < end; run++) total += weights[run]!;
    if (total === 0) continue;
    const share = mass[at]! / total - rest;
    for (let run = start; run < end; run++) sums.add(to, lines[run]!, run, share * weights[run]!);
  }
}

function firstAtLeast(ascending: Uint32Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sum over a block's lines of running sums [width] that begin at `offset`; lines past the last count as nothing. */
export function sumOf(sums: Float64Array, offset: number, width: number, block: Block): number {
  const last = Math.min(block.endLine, width - 1);
  return last < block.startLine ? 0 : sums[offset + last]! - sums[offset + block.startLine - 1]!;
}

/** Rows [rows,width] of amounts on lines, made into running sums at the end. */
class RunningSums {
  private readonly sums: Float64Array;
  /** Of amounts that are spread over several lines: by how much a line has more than the one before, and of how many runs. */
  private readonly steps: Float64Array;
  private readonly runs: Int32Array;

  constructor(
    private readonly rows: number,
    private readonly width: number,
    private readonly spans: Uint16Array | undefined,
  ) {
    const cells = rows * width;
    this.sums = new Float64Array(cells);
    this.steps = new Float64Array(spans ? cells : 0);
    this.runs = new Int32Array(spans ? cells : 0);
  }

  /** An amount on the lines of a run that begins at `line`. */
  add(row: number, line: number, run: number, amount: number): void {
    const cell = row * this.width + line;
    const span = this.spans?.[run] ?? 1;
    if (span === 1) {
      this.sums[cell]! += amount;
      return;
    }
    this.steps[cell]! += amount / span;
    this.runs[cell]!++;
    if (line + span === this.width) return;
    this.steps[cell + span]! -= amount / span;
    this.runs[cell + span]!--;
  }

  /** `rest` [rows]: what each token has beside that; `tokens` float64 [width], running sums. */
  finished(rest: readonly number[] = [], tokens: Float64Array = new Float64Array(0)): Float64Array {
    for (let row = 0; row < this.rows; row++) {
      const from = row * this.width;
      if (this.spans) this.spread(from);
      accumulate(this.sums, from, this.width);
      const each = rest[row] ?? 0;
      if (each === 0) continue;
      for (let line = 0; line < this.width; line++) this.sums[from + line]! += each * tokens[line]!;
    }
    return this.sums;
  }

  private spread(from: number): void {
    let [amount, runs] = [0, 0];
    for (let at = from; at < from + this.width; at++) {
      runs += this.runs[at]!;
      // Outside all runs there is nothing, not what rounding left.
      amount = runs === 0 ? 0 : amount + this.steps[at]!;
      this.sums[at]! += amount;
    }
  }
}

function accumulate(values: Float64Array, from: number, count: number): void {
  for (let at = from + 1; at < from + count; at++) values[at]! += values[at - 1]!;
}
