/**
 * The mass of question rows on all slots of a key head, by the graph that walks over them in blocks. Holds the memory of the
 * graph's products until it is released. Knows slots, not texts.
 */
import { throwIfCancelled } from '../base/index.js';
import { BLOCK_SCORE, blockScoreGraph } from './block-score-graph.js';
import type { CallOptions } from './engine.js';
import { Graph, bytes, floatData, floats } from './ort.js';
import type { EvenBlocks } from './slot-blocks.js';
import type { QueryRows } from './slot-softmax.js';

/** Rows of a run at most, which go through the slots together. Measured: docs/measurements, Scoring. */
const MOST_ROWS = 64;
/** What they take at most while it runs: 4 bytes a row and slot. */
const MOST_BYTES = 128_000_000;

export interface AllMass {
  /** Per query head of the key head, float32 [N]: weighted mean over its rows of their softmax over all slots. */
  readonly mass: readonly Float32Array[];
  /** float32 [R]: log of the sum that each row's softmax is divided by. */
  readonly logSums: Float32Array;
}

export class BlockScorer {
  private constructor(private readonly graph: Graph) {}

  static async open(threads: number): Promise<BlockScorer> {
    // New memory for each product takes as long as the products; the arena goes with the graph.
    return new BlockScorer(await Graph.ofBytes(blockScoreGraph(), 'score-blocks', { threads, arena: true }));
  }

  async mass(
    { rows, weights, starts }: QueryRows,
    blocks: EvenBlocks,
    keyHead: number,
    options: CallOptions = {},
  ): Promise<AllMass> {
    const { slots, shape, headSize } = blocks;
    const logSums = new Float32Array(weights.length);
    const mass: Float32Array[] = starts.slice(1).map(() => new Float32Array(0));
    if (slots === 0) return { mass, logSums: logSums.fill(-Infinity) };
    const block = blocks.of(keyHead);
    const slotInputs = {
      [BLOCK_SCORE.key]: bytes(block.keys, [...shape, headSize]),
      [BLOCK_SCORE.scale]: floats(block.scales, shape),
      [BLOCK_SCORE.logCount]: floats(block.logCounts, shape),
    };
    for (const { head, heads, from, to } of rowGroups(starts, mostRows(slots))) {
      throwIfCancelled(options.signal);
      const inputs = {
        ...slotInputs,
        [BLOCK_SCORE.query]: floats(rows.subarray(from * headSize, to * headSize), [to - from, headSize]),
        [BLOCK_SCORE.rowWeight]: floats(weights.subarray(from, to), [heads, (to - from) / heads]),
      };
      const result = await this.graph.run(inputs, [BLOCK_SCORE.mass, BLOCK_SCORE.logSum]);
      logSums.set(floatData(result[BLOCK_SCORE.logSum]!), from);
      const found = floatData(result[BLOCK_SCORE.mass]!);
      for (let at = 0; at < heads; at++) {
        const first = at * shape[0] * shape[1];
        mass[head + at] = sum(mass[head + at]!, found.subarray(first, first + slots));
      }
    }
    return { mass: mass.map(own => (own.length === 0 ? new Float32Array(slots) : own)), logSums };
  }

  release(): Promise<void> {
    return this.graph.release();
  }
}

function mostRows(slots: number): number {
  return Math.max(1, Math.min(MOST_ROWS, Math.floor(MOST_BYTES / (slots * Float32Array.BYTES_PER_ELEMENT))));
}

/** Rows `from` up to `to`, as many of each of the `heads` from `head` on. */
interface RowGroup {
  readonly head: number;
  readonly heads: number;
  readonly from: number;
  readonly to: number;
}

/** As many heads with equally many rows as a run takes; a head with more rows than that in several runs. */
export function rowGroups(starts: readonly number[], most: number): RowGroup[] {
  const groups: RowGroup[] = [];
  const rowsOf = (head: number): number => starts[head + 1]! - starts[head]!;
  for (let head = 0; head + 1 < starts.length;) {
    const rows = rowsOf(head);
    let heads = 1;
    while (head + heads + 1 < starts.length && rowsOf(head + heads) === rows && rows * (heads + 1) <= most) heads++;
    const runs = Math.ceil(rows / most);
    for (let run = 0; run < runs; run++) {
      const [from, to] = [run, run + 1].map(at => starts[head]! + Math.round((at * heads * rows) / runs)) as [
        number,
        number,
      ];
      groups.push({ head, heads, from, to });
    }
    head += heads;
  }
  return groups;
}

function sum(known: Float32Array, more: Float32Array): Float32Array {
  if (known.length === 0) return more;
  for (let at = 0; at < known.length; at++) known[at]! += more[at]!;
  return known;
}
