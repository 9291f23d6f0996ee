/**
 * Recall slots of many texts, copied together in blocks of one key head: small enough to stay in the processor's cache,
 * large enough that running a graph costs little beside its work. Never scores.
 */
import type { HeadSlots } from './span-scores.js';

/** Slots of a block. Measured: docs/measurements, Scoring. */
export const BLOCK_SLOTS = 2048;

/** Slots of one text, or their clusters: int8 [K,S,d] mean keys, float32 [K,S] their units and logs of their tokens. */
export interface SlotTable {
  readonly slots: number;
  readonly keys: Int8Array;
  readonly scales: Float32Array;
  readonly logCounts: Float32Array;
}

/** Slots of a block of a graph that has all blocks at once. Measured: docs/measurements, Scoring. */
const EVEN_BLOCK_SLOTS = 8192;

/**
 * All slots, one key head at a time, as blocks of the same size: the last one is filled up with its last slot, which counts
 * nothing there.
 */
export class EvenBlocks {
  readonly slots: number;
  /** [C,B]. */
  readonly shape: readonly [number, number];
  private readonly block: Block;

  constructor(
    private readonly tables: readonly SlotTable[],
    readonly headSize: number,
    most = EVEN_BLOCK_SLOTS,
  ) {
    this.slots = tables.reduce((sum, { slots }) => sum + slots, 0);
    const blocks = Math.ceil(this.slots / most);
    this.shape = [blocks, Math.ceil(this.slots / Math.max(1, blocks))];
    this.block = new Block(headSize, blocks * this.shape[1]);
  }

  /** Int8 [C,B,d], float32 [C,B] twice; valid until another key head is asked for. */
  of(head: number): HeadSlots {
    for (const table of this.tables) this.block.add(table, head, 0, table.slots);
    while (!this.block.isFull) this.block.repeatLast();
    return this.block.take();
  }
}

/** Slots of a key head by their places among all of the tables, ascending; `starts` [tables+1]: where each table's begin. */
export function* blocksAt(
  tables: readonly SlotTable[],
  starts: Uint32Array,
  places: Uint32Array,
  head: number,
  headSize: number,
): Generator<HeadSlots> {
  const block = new Block(headSize);
  let at = 0;
  for (const [i, table] of tables.entries()) {
    const first = starts[i]!;
    const end = starts[i + 1]!;
    while (at < places.length && places[at]! < end) {
      const from = places[at]!;
      let to = from + 1;
      while (to < end && places[at + to - from] === to) to++;
      at += block.add(table, head, from - first, to - first);
      if (block.isFull) yield block.take();
    }
  }
  if (!block.isEmpty) yield block.take();
}

/** Slots whose bytes cost less to copy one by one than views of them. */
const FEW = 3;

class Block {
  private readonly keys: Int8Array;
  private readonly scales: Float32Array;
  private readonly logCounts: Float32Array;
  private filled = 0;

  constructor(
    private readonly headSize: number,
    private readonly room = BLOCK_SLOTS,
  ) {
    this.keys = new Int8Array(room * headSize);
    this.scales = new Float32Array(room);
    this.logCounts = new Float32Array(room);
  }

  get isFull(): boolean {
    return this.filled === this.room;
  }

  get isEmpty(): boolean {
    return this.filled === 0;
  }

  /** Takes slots `from` up to `to` as far as there is room; how many it took. */
  add({ slots, keys, scales, logCounts }: SlotTable, head: number, from: number, to: number): number {
    const { headSize, filled } = this;
    const count = Math.min(to - from, this.room - filled);
    const cell = head * slots + from;
    this.filled += count;
    if (count < FEW) {
      const [source, target] = [cell * headSize, filled * headSize];
      for (let i = 0; i < count * headSize; i++) this.keys[target + i] = keys[source + i]!;
      for (let i = 0; i < count; i++) {
        this.scales[filled + i] = scales[cell + i]!;
        this.logCounts[filled + i] = logCounts[cell + i]!;
      }
      return count;
    }
    this.keys.set(keys.subarray(cell * headSize, (cell + count) * headSize), filled * headSize);
    this.scales.set(scales.subarray(cell, cell + count), filled);
    this.logCounts.set(logCounts.subarray(cell, cell + count), filled);
    return count;
  }

  /** One more slot with the key of the last, and with no tokens. */
  repeatLast(): void {
    const { headSize, filled } = this;
    this.keys.copyWithin(filled * headSize, (filled - 1) * headSize, filled * headSize);
    this.scales[filled] = this.scales[filled - 1]!;
    this.logCounts[filled] = -Infinity;
    this.filled++;
  }

  take(): HeadSlots {
    const { headSize, filled } = this;
    this.filled = 0;
    return {
      keys: this.keys.subarray(0, filled * headSize),
      scales: this.scales.subarray(0, filled),
      logCounts: this.logCounts.subarray(0, filled),
    };
  }
}
