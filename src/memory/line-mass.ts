/**
 * From attention mass on slots to mass on lines: a slot's mass is shared among the lines its tokens came from.
 * Never reads files and never asks the engine.
 *
 * Shapes: K recall key heads, H recall query heads, S slots, L last line that has a token.
 */
import type { RecallScores, SlotMass } from '../engine/index.js';
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

/**
 * Mass on the lines of one text, as running sums: float64 [L+1,H+1], of which the last column means nothing. `first`: where this text's slots begin in N. `tokens`:
 * float64 [L+1], `tokensBefore`. `keyHeadOf` [H]: the key head of each query head.
 */
export function lineSums(
  provenance: Provenance,
  slots: number,
  tokens: Float64Array,
  mass: SlotMass,
  first: number,
  keyHeadOf: readonly number[],
): Float64Array {
  const sums = new RunningSums(keyHeadOf.length + 1, tokens.length, provenance.spans);
  for (const keyHead of new Set(keyHeadOf)) {
    const heads = [...keyHeadOf.keys()].filter(head => keyHeadOf[head] === keyHead);
    const part = { row: keyHead * (slots + 1), first, slots, named: mass.slots?.[keyHead] };
    for (let at = 0; at < heads.length; at += 3)
      addNamed(sums, heads.slice(at, at + 3), keyHeadOf.length, provenance, part, mass);
  }
  return sums.finished(mass.rest, tokens);
}

/** Mass on the lines of one text, of the question and of the contentless one. */
export class LineMass {
  private readonly width: number;

  /** As `lineSums` makes them. */
  constructor(
    private readonly question: Float64Array,
    private readonly contentless: Float64Array,
    private readonly heads: number,
  ) {
    this.width = question.length / (heads + 1);
  }

  /** Arguments as of `lineSums`. */
  static of(
    provenance: Provenance,
    slots: number,
    tokens: Float64Array,
    { mass, nullMass }: Pick<RecallScores, 'mass' | 'nullMass'>,
    first: number,
    keyHeadOf: readonly number[],
  ): LineMass {
    const of = (one: SlotMass): Float64Array => lineSums(provenance, slots, tokens, one, first, keyHeadOf);
    return new LineMass(of(mass), of(nullMass), keyHeadOf.length);
  }

  /** Adds the question's mass of each query head on lines, both ends included, to float64 [H]. */
  addOn(to: Float64Array, startLine: number, endLine: number): void {
    this.addFrom(this.question, to, startLine, endLine);
  }

  /** Adds the contentless question's. */
  addNullOn(to: Float64Array, startLine: number, endLine: number): void {
    this.addFrom(this.contentless, to, startLine, endLine);
  }

  private addFrom(sums: Float64Array, to: Float64Array, startLine: number, endLine: number): void {
    const { heads, width } = this;
    const last = Math.min(endLine, width - 1);
    if (last < startLine) return;
    const [end, before] = [last * (heads + 1), (startLine - 1) * (heads + 1)];
    for (let head = 0; head < heads; head++) to[head]! += sums[end + head]! - sums[before + head]!;
  }
}

/** A text's slots of one key head. */
interface NamedSlots {
  /** Where they begin in the provenance, and among all. */
  readonly row: number;
  readonly first: number;
  readonly slots: number;
  /** Ascending, among all; absent: all are named. */
  readonly named: Uint32Array | undefined;
}

/**
 * To up to three heads of one key head: slots that are named, by how much more they have than the rest for each of their
 * tokens. Where there are fewer, `nowhere` is the row of the others. Three side by side, for slots in a row are mostly on the same line, and one head's sum there waits for itself.
 */
function addNamed(
  sums: RunningSums,
  [a, b, c]: readonly number[],
  nowhere: number,
  { slotStart, lines, weights }: Provenance,
  { row, first, slots, named }: NamedSlots,
  { mass, rest }: SlotMass,
): void {
  const [from, beyond] = named
    ? [firstAtLeast(named, first), firstAtLeast(named, first + slots)]
    : [first, first + slots];
  const { values, rows, spans } = sums;
  const [massA, massB, massC] = [mass[a!]!, mass[b ?? a!]!, mass[c ?? a!]!];
  const [restA, restB, restC] = [rest[a!]!, rest[b ?? a!]!, rest[c ?? a!]!];
  const [rowA, rowB, rowC] = [a!, b ?? nowhere, c ?? nowhere];
  for (let at = from; at < beyond; at++) {
    const slot = row + (named ? named[at]! : at) - first;
    const start = slotStart[slot]!;
    const end = slotStart[slot + 1]!;
    let total = 0;
    for (let run = start; run < end; run++) total += weights[run]!;
    if (total === 0) continue;
    const shareA = massA[at]! / total - restA;
    const shareB = massB[at]! / total - restB;
    const shareC = massC[at]! / total - restC;
    for (let run = start; run < end; run++) {
      const line = lines[run]!;
      const weight = weights[run]!;
      if (spans === undefined) {
        const cell = line * rows;
        values[cell + rowA]! += weight * shareA;
        values[cell + rowB]! += weight * shareB;
        values[cell + rowC]! += weight * shareC;
        continue;
      }
      sums.add(rowA, line, run, weight * shareA);
      sums.add(rowB, line, run, weight * shareB);
      sums.add(rowC, line, run, weight * shareC);
    }
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

/** Sum over a block's lines of running sums; lines past the last count as nothing. */
export function sumOf(sums: Float64Array, { startLine, endLine }: Pick<Block, 'startLine' | 'endLine'>): number {
  const last = Math.min(endLine, sums.length - 1);
  return last < startLine ? 0 : sums[last]! - sums[startLine - 1]!;
}

/** Amounts of several rows on lines [width,rows], made into running sums at the end. */
class RunningSums {
  readonly values: Float64Array;
  /** Of amounts that are spread over several lines: by how much a line has more than the one before, and of how many runs. */
  private readonly steps: Float64Array;
  private readonly runs: Int32Array;

  constructor(
    readonly rows: number,
    private readonly width: number,
    readonly spans: Uint16Array | undefined,
  ) {
    const cells = rows * width;
    this.values = new Float64Array(cells);
    this.steps = new Float64Array(spans ? cells : 0);
    this.runs = new Int32Array(spans ? cells : 0);
  }

  /** An amount on the lines of a run that begins at `line`. */
  add(row: number, line: number, run: number, amount: number): void {
    const cell = line * this.rows + row;
    const span = this.spans === undefined ? 1 : this.spans[run]!;
    if (span === 1) {
      this.values[cell]! += amount;
      return;
    }
    this.steps[cell]! += amount / span;
    this.runs[cell]!++;
    if (line + span === this.width) return;
    this.steps[cell + span * this.rows]! -= amount / span;
    this.runs[cell + span * this.rows]!--;
  }

  /** `rest` [rows]: what each token has beside that; `tokens` float64 [width], running sums. */
  finished(rest: readonly number[] = [], tokens: Float64Array = new Float64Array(0)): Float64Array {
    const { values, rows } = this;
    if (this.spans) for (let row = 0; row < rows; row++) this.spread(row);
    for (let at = rows; at < values.length; at++) values[at]! += values[at - rows]!;
    for (const [row, each] of rest.entries()) {
      if (each === 0) continue;
      for (let line = 0; line < this.width; line++) values[line * rows + row]! += each * tokens[line]!;
    }
    return values;
  }

  private spread(row: number): void {
    let [amount, runs] = [0, 0];
    for (let at = row; at < this.values.length; at += this.rows) {
      runs += this.runs[at]!;
      // Outside all runs there is nothing, not what rounding left.
      amount = runs === 0 ? 0 : amount + this.steps[at]!;
      this.values[at]! += amount;
    }
  }
}
