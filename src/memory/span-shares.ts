/**
 * Blocks of lines as shares of recall slots, for the engine to score row by row: a slot's mass is shared among the lines
 * its tokens came from. Never reads files and never asks the engine.
 */
import type { SpanShares } from '../engine/index.js';
import type { Block } from './block.js';
import { GiveWay } from './give-way.js';
import type { IndexedPart } from './recall-index.js';

/** A block of a file's lines, and the positions of the parts that it may touch. */
export interface PlacedBlock {
  readonly block: Block;
  readonly parts: readonly number[];
  readonly tokens: number;
}

/** `slotStart` [parts+1]: where each part's slots begin among all. */
export async function spanShares(
  blocks: readonly PlacedBlock[],
  parts: readonly Pick<IndexedPart, 'firstLine' | 'provenance' | 'slots' | 'tokens'>[],
  slotStart: Uint32Array,
  keyHeads: number,
): Promise<SpanShares> {
  const byPart = new Map<number, number[]>();
  for (const [at, placed] of blocks.entries()) {
    for (const part of placed.parts) {
      const own = byPart.get(part);
      if (own) own.push(at);
      else byPart.set(part, [at]);
    }
  }
  const touched = [...byPart].map(([part, own]) => touchedPart(blocks, own, part, parts[part]!));
  const way = new GiveWay();
  const byKeyHead: SpanShares['keyHeads'][number][] = [];
  for (let keyHead = 0; keyHead < keyHeads; keyHead++) {
    const pairs: Pairs[] = blocks.map(() => ({ slots: [], shares: [] }));
    const weight = new Float64Array(blocks.length);
    for (const part of touched) {
      addShares(pairs, weight, parts[part.part]!, part, keyHead, slotStart[part.part]!);
      await way.step();
    }
    byKeyHead.push(joined(pairs));
  }
  return { tokens: Float32Array.from(blocks, ({ tokens }) => tokens), keyHeads: byKeyHead };
}

interface Pairs {
  readonly slots: number[];
  readonly shares: number[];
}

/** A part that some blocks touch. */
interface TouchedPart {
  readonly part: number;
  /** The blocks, by their positions, in lines of the part: first and last. */
  readonly placed: readonly { readonly at: number; readonly first: number; readonly last: number }[];
  /** Blocks on each line of the part: those of line l are `on[start[l]]` up to `on[start[l+1]]`. */
  readonly start: Uint32Array;
  readonly on: Uint32Array;
}

function touchedPart(
  blocks: readonly PlacedBlock[],
  own: readonly number[],
  part: number,
  { firstLine, tokens }: Pick<IndexedPart, 'firstLine' | 'tokens'>,
): TouchedPart {
  const lines = tokens.length;
  const placed = own.map(at => {
    const { startLine, endLine } = blocks[at]!.block;
    const last = Math.min(lines - 1, endLine - firstLine + 1);
    return { at, first: Math.max(1, startLine - firstLine + 1), last };
  });
  const start = new Uint32Array(lines + 1);
  for (const { first, last } of placed) for (let line = first; line <= last; line++) start[line + 1]!++;
  for (let line = 0; line < lines; line++) start[line + 1]! += start[line]!;
  const next = start.slice();
  const on = new Uint32Array(start[lines]!);
  for (const { at, first, last } of placed) for (let line = first; line <= last; line++) on[next[line]!++] = at;
  return { part, placed, start, on };
}

/** `weight` [blocks] is 0 between calls. */
function addShares(
  pairs: readonly Pairs[],
  weight: Float64Array,
  { provenance, slots }: Pick<IndexedPart, 'provenance' | 'slots'>,
  { placed, start, on }: TouchedPart,
  keyHead: number,
  firstSlot: number,
): void {
  const { slotStart, lines, weights, spans } = provenance;
  const row = keyHead * (slots + 1);
  const own: number[] = [];
  const add = (block: number, amount: number): void => {
    if (weight[block] === 0) own.push(block);
    weight[block]! += amount;
  };
  for (let slot = 0; slot < slots; slot++) {
    const [from, to] = [slotStart[row + slot]!, slotStart[row + slot + 1]!];
    for (let run = from; run < to; run++) {
      const line = lines[run]!;
      const span = spans === undefined ? 1 : spans[run]!;
      if (span === 1) {
        for (let at = start[line]!; at < start[line + 1]!; at++) add(on[at]!, weights[run]!);
        continue;
      }
      for (const { at, first, last } of placed) {
        const shared = Math.min(last, line + span - 1) - Math.max(first, line) + 1;
        if (shared > 0) add(at, (weights[run]! * shared) / span);
      }
    }
    if (own.length === 0) continue;
    let total = 0;
    for (let run = from; run < to; run++) total += weights[run]!;
    for (const block of own) {
      pairs[block]!.slots.push(firstSlot + slot);
      pairs[block]!.shares.push(weight[block]! / total);
      weight[block] = 0;
    }
    own.length = 0;
  }
}

function joined(pairs: readonly Pairs[]): SpanShares['keyHeads'][number] {
  const start = new Uint32Array(pairs.length + 1);
  pairs.forEach(({ slots }, at) => (start[at + 1] = start[at]! + slots.length));
  const slots = new Uint32Array(start.at(-1)!);
  const shares = new Float32Array(start.at(-1)!);
  pairs.forEach((own, at) => {
    slots.set(own.slots, start[at]);
    shares.set(own.shares, start[at]);
  });
  return { start, slots, shares };
}
