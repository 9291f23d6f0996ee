/**
 * The mass of question rows on the recall slots of each key head: of a small memory on every slot, of a large one on those
 * of the clusters that matter most, and what is left for all others. Knows slots, not texts.
 */
import { throwIfCancelled } from '../base/index.js';
import { BlockScorer } from './block-scorer.js';
import type { AllMass } from './block-scorer.js';
import type { CallOptions } from './engine.js';
import { EvenBlocks, blocksAt } from './slot-blocks.js';
import type { SlotTable } from './slot-blocks.js';
import type { Clusters } from './slot-clusters.js';
import { logSumsOf, meanMass } from './slot-softmax.js';
import type { Exponentials, QueryRows, SlotScorer } from './slot-softmax.js';

/** Slots of all texts, in order. */
export interface JoinedSlots {
  readonly tables: readonly SlotTable[];
  /** uint32 [texts+1]: where each text's slots begin among all. */
  readonly starts: Uint32Array;
  /** Of a large memory: each text's, and where they begin among all clusters. */
  readonly coarse?: CoarseSlots;
  readonly headSize: number;
}

interface CoarseSlots {
  readonly clusters: readonly Clusters[];
  readonly starts: Uint32Array;
}

export interface FoundMass {
  /** uint32, ascending: places among all slots. Absent: all of them. */
  readonly slots?: Uint32Array;
  /** Per query head of the key head: mass on each of them, and on each token of all others. */
  readonly mass: readonly Float32Array[];
  readonly rest: readonly number[];
  /** float32 [R]: log of the sum that each row's softmax is divided by. */
  readonly logSums: Float32Array;
}

/** Of each key head, `queries` in their order. `most`: slots that are scored one by one where there are clusters. */
export async function foundMass(
  scorer: SlotScorer,
  threads: number,
  queries: readonly QueryRows[],
  joined: JoinedSlots,
  most: number,
  options: CallOptions = {},
): Promise<FoundMass[]> {
  const { tables, coarse, headSize } = joined;
  const blockScorer = await BlockScorer.open(threads);
  try {
    const blocks = new EvenBlocks(coarse?.clusters ?? tables, headSize);
    const found: FoundMass[] = [];
    for (const [head, own] of queries.entries()) {
      const all = await blockScorer.mass(own, blocks, head, options);
      if (coarse) found.push(await fineMass(scorer, own, { ...joined, coarse }, head, all, most, options));
      else found.push({ ...all, rest: all.mass.map(() => 0) });
    }
    return found;
  } finally {
    await blockScorer.release();
  }
}

/** From the masses of clusters to those of the best ones' slots. */
async function fineMass(
  scorer: SlotScorer,
  queries: QueryRows,
  joined: JoinedSlots & { readonly coarse: CoarseSlots },
  head: number,
  rough: AllMass,
  most: number,
  options: CallOptions,
): Promise<FoundMass> {
  const { tables, starts, coarse, headSize } = joined;
  const chosen = bestClusters(rough.mass, sizesOf(coarse.clusters, head), most);
  const exponentials = async (of: readonly SlotTable[], ofStarts: Uint32Array, places: Uint32Array) => {
    const blocks: Exponentials[] = [];
    for (const block of blocksAt(of, ofStarts, places, head, headSize)) {
      throwIfCancelled(options.signal);
      blocks.push(await scorer.exponentials(queries, block, rough.logSums));
    }
    return blocks;
  };
  const slots = membersOf(joined, head, chosen);
  const blocks = await exponentials(tables, starts, slots);
  // What the clusters that were not chosen have, as one more block of a single slot.
  const others = restOf(await exponentials(coarse.clusters, coarse.starts, placesOf(chosen)), rough.logSums);
  const logSums = logSumsOf([...blocks, others], queries.weights.length);
  const [mass, left] = [meanMass(queries, blocks, logSums), meanMass(queries, [others], logSums)];
  const tokens = tokensOf(coarse.clusters, head, chosen);
  return { slots, mass, rest: left.map(([all]) => (tokens > 0 ? all! / tokens : 0)), logSums };
}

/** What is left of each row's softmax, whose sum is `logSums`, beside those blocks. */
function restOf(blocks: readonly Exponentials[], logSums: Float32Array): Exponentials {
  const values = Float32Array.from(logSums, (logSum, row) => {
    const taken = blocks.reduce((sum, { sums, reference }) => sum + sums[row]! * Math.exp(reference[row]! - logSum), 0);
    return Math.max(0, 1 - taken);
  });
  return { values, reference: logSums, sums: Float64Array.from(values), slots: 1 };
}

function placesOf(chosen: Uint8Array): Uint32Array {
  const places = new Uint32Array(chosen.length);
  let count = 0;
  for (let at = 0; at < chosen.length; at++) if (chosen[at] === 1) places[count++] = at;
  return places.slice(0, count);
}

/** Slots in each cluster, in the order of the texts. */
function sizesOf(all: readonly Clusters[], head: number): Uint32Array {
  const sizes = new Uint32Array(all.reduce((sum, { slots }) => sum + slots, 0));
  let at = 0;
  for (const { slots, starts } of all) {
    const row = head * (slots + 1);
    for (let cluster = 0; cluster < slots; cluster++) {
      sizes[at++] = starts[row + cluster + 1]! - starts[row + cluster]!;
    }
  }
  return sizes;
}

function tokensOf(all: readonly Clusters[], head: number, chosen: Uint8Array): number {
  let tokens = 0;
  let at = 0;
  for (const { slots, logCounts } of all) {
    for (let cluster = 0; cluster < slots; cluster++) {
      if (chosen[at++] === 0) tokens += Math.exp(logCounts[head * slots + cluster]!);
    }
  }
  return tokens;
}

/** Bits of a float32 that are told apart: sign, exponent and 5 bits of the fraction. */
const BITS = 14;

/**
 * 1 for each cluster with the most mass in some head, as long as their slots are `most` at most. Clusters are told apart to
 * 3 % of their mass; of those in the last such step the first ones are taken.
 */
export function bestClusters(mass: readonly Float32Array[], sizes: Uint32Array, most: number): Uint8Array {
  const best = Float32Array.from(sizes, (_, cluster) => mass.reduce((a, own) => Math.max(a, own[cluster]!), 0));
  const bits = new Uint32Array(best.buffer);
  const step = (cluster: number): number => bits[cluster]! >>> (32 - BITS);
  const slotsOf = new Float64Array(1 << BITS);
  for (let cluster = 0; cluster < best.length; cluster++) slotsOf[step(cluster)]! += sizes[cluster]!;
  let left = most;
  let last = slotsOf.length - 1;
  while (last > 0 && slotsOf[last]! <= left) left -= slotsOf[last--]!;
  const chosen = new Uint8Array(best.length);
  for (let cluster = 0; cluster < best.length; cluster++) {
    const own = step(cluster);
    if (own < last || (own === last && sizes[cluster]! > left)) continue;
    if (own === last) left -= sizes[cluster]!;
    chosen[cluster] = 1;
  }
  return chosen;
}

/** Slots of the chosen clusters, ascending. */
function membersOf({ starts, coarse }: JoinedSlots, head: number, chosen: Uint8Array): Uint32Array {
  const slots = new Uint32Array(starts.at(-1)!);
  let count = 0;
  for (const [text, { slots: clusters, starts: own, members }] of coarse!.clusters.entries()) {
    const from = count;
    const first = coarse!.starts[text]!;
    for (let cluster = 0; cluster < clusters; cluster++) {
      if (chosen[first + cluster] === 0) continue;
      const row = head * (clusters + 1) + cluster;
      for (let at = own[row]!; at < own[row + 1]!; at++) slots[count++] = starts[text]! + members[at]!;
    }
    slots.subarray(from, count).sort();
  }
  return slots.slice(0, count);
}
