/**
 * Provenance: which lines the tokens of each recall slot came from, as runs of lines with a weight. A run is one line as a
 * text is read, and may be several where slots were merged. Never reads a file and never looks at keys or values.
 *
 * Shapes: K recall key heads, S recall slots, T tokens, P runs.
 */
import type { Reading } from '../../engine/index.js';

/** Compressed rows: the runs of slot s of head k lie at `slotStart[k*(S+1)+s]` up to `slotStart[k*(S+1)+s+1]`. */
export interface Provenance {
  /** uint32 [K,S+1]: positions in `lines` and `weights`; the first of head k+1 equals the last of head k. */
  readonly slotStart: Uint32Array;
  /** uint32 [P]: first line of each run, counted from 1, rising inside a slot. */
  readonly lines: Uint32Array;
  /** uint16 [P]: how many of the slot's tokens are on these lines; 65,535 stands for that many or more. */
  readonly weights: Uint16Array;
  /** uint16 [P]: lines of each run, over which its tokens count as spread evenly. Absent where all runs are one line. */
  readonly spans?: Uint16Array;
}

/** `Reading.slotOfToken` of tokens that no slot took. */
const NO_SLOT = 0xffffffff;
const MOST_WEIGHT = 0xffff;
const MOST_SPAN = 0xffff;

/**
 * Provenance of a reading. Tokens of the prefix (line 0) and of the sinks (slot 0xffffffff) are left out, so a slot may
 * have no pair at all.
 */
export function provenanceOf(reading: Pick<Reading, 'recall' | 'lineOfToken' | 'slotOfToken'>): Provenance {
  const { heads, slots } = reading.recall;
  const tokens = reading.lineOfToken.length;
  const slotStart = new Uint32Array(heads * (slots + 1));
  const lines: number[] = [];
  const weights: number[] = [];
  for (let head = 0; head < heads; head++) {
    const linesOfSlot = groupLines(
      reading.slotOfToken.subarray(head * tokens, (head + 1) * tokens),
      reading.lineOfToken,
      slots,
    );
    const row = head * (slots + 1);
    slotStart[row] = lines.length;
    for (let slot = 0; slot < slots; slot++) {
      appendRuns(linesOfSlot.lines.subarray(linesOfSlot.start[slot], linesOfSlot.start[slot + 1]), lines, weights);
      slotStart[row + slot + 1] = lines.length;
    }
  }
  return { slotStart, lines: Uint32Array.from(lines), weights: Uint16Array.from(weights) };
}

/** A run of lines of one slot, its end included. */
interface Run {
  readonly first: number;
  readonly last: number;
  readonly weight: number;
}

/**
 * Provenance after slots were merged: each new slot has the tokens of all that went into it, in `mostRuns` runs at most: runs
 * that are nearest to each other become one. `slotOf` uint32 [K,S]: the new slot, of `merged` ones, that took each.
 */
export function mergedProvenance(
  { slotStart, lines, weights, spans }: Provenance,
  slots: number,
  slotOf: Uint32Array,
  merged: number,
  mostRuns = Infinity,
): Provenance {
  const heads = slotStart.length / (slots + 1);
  const starts = new Uint32Array(heads * (merged + 1));
  const out: Run[] = [];
  for (let head = 0; head < heads; head++) {
    const runsOf = Array.from({ length: merged }, (): Run[] => []);
    for (let slot = 0; slot < slots; slot++) {
      const own = runsOf[slotOf[head * slots + slot]!]!;
      const row = head * (slots + 1) + slot;
      for (let at = slotStart[row]!; at < slotStart[row + 1]!; at++) {
        const first = lines[at]!;
        own.push({ first, last: first + (spans?.[at] ?? 1) - 1, weight: weights[at]! });
      }
    }
    starts[head * (merged + 1)] = out.length;
    runsOf.forEach((own, slot) => {
      out.push(...fewRuns(apart(own), mostRuns));
      starts[head * (merged + 1) + slot + 1] = out.length;
    });
  }
  return {
    slotStart: starts,
    lines: Uint32Array.from(out, run => run.first),
    weights: Uint16Array.from(out, run => Math.min(run.weight, MOST_WEIGHT)),
    ...(out.some(isLong) && { spans: Uint16Array.from(out, run => run.last - run.first + 1) }),
  };
}

function isLong({ first, last }: Run): boolean {
  return last > first;
}

/** The runs in order, those that share lines as one. */
function apart(runs: readonly Run[]): Run[] {
  const out: Run[] = [];
  for (const run of [...runs].sort((a, b) => a.first - b.first || a.last - b.last)) {
    const before = out.at(-1);
    if (before && run.first <= before.last) out[out.length - 1] = joined(before, run);
    else out.push(run);
  }
  return out;
}

/** `runs` are in order and apart. They are cut where most lines lie between them, the earlier of equal places. */
function fewRuns(runs: readonly Run[], most: number): readonly Run[] {
  if (runs.length <= most) return runs;
  const gap = (at: number): number => runs[at]!.first - runs[at - 1]!.last;
  const widest = runs.map((_, at) => at).slice(1);
  widest.sort((a, b) => gap(b) - gap(a) || a - b);
  const cuts = new Set(widest.slice(0, most - 1));
  const out: Run[] = [];
  for (const [at, run] of runs.entries()) {
    const before = out.at(-1);
    const fits = before !== undefined && run.last - before.first < MOST_SPAN;
    if (fits && !cuts.has(at)) out[out.length - 1] = joined(before, run);
    else out.push(run);
  }
  return out;
}

function joined(a: Run, b: Run): Run {
  return { first: a.first, last: Math.max(a.last, b.last), weight: a.weight + b.weight };
}

/** First lines and weights of the runs of one slot of one head. */
export function pairsOfSlot(
  provenance: Provenance,
  slots: number,
  head: number,
  slot: number,
): { lines: Uint32Array; weights: Uint16Array } {
  const from = provenance.slotStart[head * (slots + 1) + slot]!;
  const to = provenance.slotStart[head * (slots + 1) + slot + 1]!;
  return { lines: provenance.lines.subarray(from, to), weights: provenance.weights.subarray(from, to) };
}

/** Counting sort of one head's token lines by slot. `start` uint32 [S+1], `lines` uint32 [tokens taken]. */
function groupLines(
  slotOfToken: Uint32Array,
  lineOfToken: Uint32Array,
  slots: number,
): { start: Uint32Array; lines: Uint32Array } {
  const start = new Uint32Array(slots + 1);
  for (let token = 0; token < slotOfToken.length; token++) {
    const slot = takenBy(slotOfToken, lineOfToken, token, slots);
    if (slot !== NO_SLOT) start[slot + 1]!++;
  }
  for (let slot = 0; slot < slots; slot++) start[slot + 1]! += start[slot]!;
  const next = start.slice();
  const lines = new Uint32Array(start[slots]!);
  for (let token = 0; token < slotOfToken.length; token++) {
    const slot = takenBy(slotOfToken, lineOfToken, token, slots);
    if (slot !== NO_SLOT) lines[next[slot]!++] = lineOfToken[token]!;
  }
  return { start, lines };
}

function takenBy(slotOfToken: Uint32Array, lineOfToken: Uint32Array, token: number, slots: number): number {
  const slot = slotOfToken[token]!;
  if (slot === NO_SLOT || lineOfToken[token] === 0) return NO_SLOT;
  if (slot >= slots) throw new RangeError(`Token ${token} is in slot ${slot} of ${slots}.`);
  return slot;
}

/** Sorts `linesOfSlot` in place and appends one pair for each distinct line. */
function appendRuns(linesOfSlot: Uint32Array, lines: number[], weights: number[]): void {
  linesOfSlot.sort();
  for (let at = 0; at < linesOfSlot.length;) {
    const line = linesOfSlot[at]!;
    let end = at + 1;
    while (linesOfSlot[end] === line) end++;
    lines.push(line);
    weights.push(Math.min(end - at, MOST_WEIGHT));
    at = end;
  }
}
