/**
 * Provenance: which lines the tokens of each recall slot came from, as (line, weight) pairs. Nothing finer than a line
 * is kept. Never reads a file and never looks at keys or values.
 *
 * Shapes: K recall key heads, S recall slots, T tokens, P pairs.
 */
import type { Reading } from '../../engine/index.js';

/** Compressed rows: the pairs of slot s of head k lie at `slotStart[k*(S+1)+s]` up to `slotStart[k*(S+1)+s+1]`. */
export interface Provenance {
  /** uint32 [K,S+1]: positions in `lines` and `weights`; the first of head k+1 equals the last of head k. */
  readonly slotStart: Uint32Array;
  /** uint32 [P]: lines counted from 1, rising inside a slot. */
  readonly lines: Uint32Array;
  /** uint16 [P]: how many of the slot's tokens are on that line; 65,535 stands for that many or more. */
  readonly weights: Uint16Array;
}

/** `Reading.slotOfToken` of tokens that no slot took. */
const NO_SLOT = 0xffffffff;
const MOST_WEIGHT = 0xffff;

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

/**
 * Provenance after slots were merged: each new slot has the tokens of all that went into it. `slotOf` uint32 [K,S]: the new
 * slot, of `merged` ones, that took each.
 */
export function mergedProvenance(
  { slotStart, lines, weights }: Provenance,
  slots: number,
  slotOf: Uint32Array,
  merged: number,
): Provenance {
  const heads = slotStart.length / (slots + 1);
  const starts = new Uint32Array(heads * (merged + 1));
  const [outLines, outWeights]: [number[], number[]] = [[], []];
  for (let head = 0; head < heads; head++) {
    const weightOfLine = Array.from({ length: merged }, () => new Map<number, number>());
    for (let slot = 0; slot < slots; slot++) {
      const own = weightOfLine[slotOf[head * slots + slot]!]!;
      const row = head * (slots + 1) + slot;
      for (let at = slotStart[row]!; at < slotStart[row + 1]!; at++) {
        own.set(lines[at]!, (own.get(lines[at]!) ?? 0) + weights[at]!);
      }
    }
    starts[head * (merged + 1)] = outLines.length;
    weightOfLine.forEach((own, slot) => {
      for (const [line, weight] of [...own].sort((a, b) => a[0] - b[0])) {
        outLines.push(line);
        outWeights.push(Math.min(weight, MOST_WEIGHT));
      }
      starts[head * (merged + 1) + slot + 1] = outLines.length;
    });
  }
  return { slotStart: starts, lines: Uint32Array.from(outLines), weights: Uint16Array.from(outWeights) };
}

/** The (line, weight) pairs of one slot of one head. */
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
