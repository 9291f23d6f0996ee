/**
 * Provenance as it is kept: for each slot of each head the number of its runs, then of each run, in the order of lines,
 *
 *   its first line; of the second run and those after it, how far after the one before
 *   2 times its weight, and 1 more if it has several lines
 *   if it has, how many
 *
 * Numbers have 7 bits in a byte, the lowest first; all bytes of one but the last have the top bit set. Never reads files.
 */
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import type { Provenance } from './provenance.js';

const MOST_WEIGHT = 0xffff;
const MOST_LINE = 0xffffffff;
const MOST_HEADS = 0xffff;

/** `slots` of each head. Throws `RangeError` where the arrays contradict each other (a bug of the caller). */
export function encodeProvenance(provenance: Provenance, slots: number): Uint8Array {
  const bytes = new Uint8Array(provenanceLength(provenance, slots));
  let end = 0;
  eachNumber(provenance, slots, value => {
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes[end++] = (rest % 128) + 128;
    bytes[end++] = rest;
  });
  return bytes;
}

/** Bytes of `encodeProvenance`. Throws as that does. */
export function provenanceLength(provenance: Provenance, slots: number): number {
  const fault = faultOfProvenance(provenance, slots);
  if (fault !== undefined) throw new RangeError(fault);
  let length = 0;
  eachNumber(provenance, slots, value => (length += lengthOf(value)));
  return length;
}

/** `heads`, `slots` and `runs` as the memory's header tells them. */
export function decodeProvenance(bytes: Uint8Array, heads: number, slots: number, runs: number): Result<Provenance> {
  // Every slot and every run takes a byte at least: no damaged number makes this allocate more than the value's size.
  if (heads > MOST_HEADS || heads * slots + 2 * runs > bytes.byteLength) return failed('provenance is cut off');
  const slotStart = new Uint32Array(heads * (slots + 1));
  const lines = new Uint32Array(runs);
  const weights = new Uint16Array(runs);
  let spans: Uint16Array | undefined;
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let scale = 1; at < bytes.byteLength && scale <= 2 ** 28; scale *= 128) {
      const byte = bytes[at++]!;
      if (byte < 128) return value + byte * scale;
      value += (byte - 128) * scale;
    }
    return NaN;
  };
  let run = 0;
  for (let head = 0; head < heads; head++) {
    slotStart[head * (slots + 1)] = run;
    for (let slot = 0; slot < slots; slot++) {
      const end = run + next();
      if (!(end <= runs)) return failed('provenance is out of order');
      let line = 0;
      for (; run < end; run++) {
        line += next();
        const code = next();
        const weight = Math.floor(code / 2);
        if (!(line <= MOST_LINE && weight <= MOST_WEIGHT)) return failed('provenance is out of order');
        lines[run] = line;
        weights[run] = weight;
        if (code % 2 === 0) continue;
        spans ??= new Uint16Array(runs).fill(1);
        const span = next();
        if (!(span <= 0xffff)) return failed('provenance is out of order');
        spans[run] = span;
      }
      slotStart[head * (slots + 1) + slot + 1] = run;
    }
  }
  if (run !== runs || at !== bytes.byteLength) return failed('provenance does not cover its runs');
  return ok({ slotStart, lines, weights, ...(spans && { spans }) });
}

/** Why provenance of so many slots a head cannot be used. */
export function faultOfProvenance({ slotStart, lines }: Provenance, slots: number): string | undefined {
  let last = 0;
  for (let at = 0; at < slotStart.length; at++) {
    const start = slotStart[at]!;
    const isFirstOfHead = at % (slots + 1) === 0;
    if (start < last || (isFirstOfHead && start !== last)) return 'provenance is out of order';
    last = start;
  }
  return last === lines.length ? undefined : 'provenance does not cover its runs';
}

/** Calls `visit` with the numbers that stand for it, in their order. */
function eachNumber(
  { slotStart, lines, weights, spans }: Provenance,
  slots: number,
  visit: (value: number) => void,
): void {
  for (let row = 0; row < slotStart.length; row += slots + 1) {
    for (let slot = row; slot < row + slots; slot++) {
      const end = slotStart[slot + 1]!;
      visit(end - slotStart[slot]!);
      let before = 0;
      for (let run = slotStart[slot]!; run < end; run++) {
        const span = spans?.[run] ?? 1;
        visit(lines[run]! - before);
        visit(2 * weights[run]! + (span === 1 ? 0 : 1));
        if (span !== 1) visit(span);
        before = lines[run]!;
      }
    }
  }
}

function lengthOf(value: number): number {
  return value < 2 ** 7 ? 1 : value < 2 ** 14 ? 2 : value < 2 ** 21 ? 3 : value < 2 ** 28 ? 4 : 5;
}
