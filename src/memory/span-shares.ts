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
  parts: readonly Pick<IndexedPart, 'firstLine' | 'provenance' | 'slots'>[],
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
  const touched = [...byPart].map(([part, own]) => ({
    part,
    placed: own.map(at => ({ at, block: blocks[at]!.block })),
    onLine: blocksOnLines(blocks, own, parts[part]!.firstLine),
  }));
  const way = new GiveWay();
  const byKeyHead: SpanShares['keyHeads'][number][] = [];
  for (let keyHead = 0; keyHead < keyHeads; keyHead++) {
    const pairs: { slots: number[]; shares: number[] }[] = blocks.map(() => ({ slots: [], shares: [] }));
    for (const { part, placed, onLine } of touched) {
      addShares(pairs, parts[part]!, placed, onLine, keyHead, slotStart[part]!);
      await way.step();
    }
    byKeyHead.push(joined(pairs));
  }
  return { tokens: Float32Array.from(blocks, ({ tokens }) => tokens), keyHeads: byKeyHead };
}

/** Line of the part → positions of the blocks that it is in. */
function blocksOnLines(
  blocks: readonly PlacedBlock[],
  own: readonly number[],
  firstLine: number,
): Map<number, number[]> {
  const onLine = new Map<number, number[]>();
  for (const at of own) {
    const { startLine, endLine } = blocks[at]!.block;
    for (let line = Math.max(1, startLine - firstLine + 1); line <= endLine - firstLine + 1; line++) {
      onLine.set(line, [...(onLine.get(line) ?? []), at]);
    }
  }
  return onLine;
}

function addShares(
  pairs: readonly { slots: number[]; shares: number[] }[],
  { firstLine, provenance, slots }: Pick<IndexedPart, 'firstLine' | 'provenance' | 'slots'>,
  placed: readonly { readonly at: number; readonly block: Block }[],
  onLine: ReadonlyMap<number, readonly number[]>,
  keyHead: number,
  firstSlot: number,
): void {
  const { slotStart, lines, weights, spans } = provenance;
  const row = keyHead * (slots + 1);
  const own = new Map<number, number>();
  for (let slot = 0; slot < slots; slot++) {
    let total = 0;
    own.clear();
    for (let at = slotStart[row + slot]!; at < slotStart[row + slot + 1]!; at++) {
      total += weights[at]!;
      const span = spans?.[at] ?? 1;
      if (span === 1) {
        for (const block of onLine.get(lines[at]!) ?? []) own.set(block, (own.get(block) ?? 0) + weights[at]!);
        continue;
      }
      const first = lines[at]! + firstLine - 1;
      for (const { at: position, block } of placed) {
        const shared = Math.min(block.endLine, first + span - 1) - Math.max(block.startLine, first) + 1;
        if (shared > 0) own.set(position, (own.get(position) ?? 0) + (weights[at]! * shared) / span);
      }
    }
    for (const [block, weight] of own) {
      pairs[block]!.slots.push(firstSlot + slot);
      pairs[block]!.shares.push(weight / total);
    }
  }
}

function joined(pairs: readonly { slots: number[]; shares: number[] }[]): SpanShares['keyHeads'][number] {
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
