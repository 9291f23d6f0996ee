/**
 * Recall slots of a text in clusters, to be scored first where a memory is large: the mean key of a few alike slots stands
 * for them. A slot joins the most alike of evenly spread slots of its stretch, as KVM compares (cosine). Never scores.
 */
import { throwIfCancelled } from '../base/index.js';
import type { CallOptions } from './engine.js';
import type { SlotTable } from './slot-blocks.js';
import type { SlotScorer } from './slot-softmax.js';
import { spreadRows } from './compress.js';

/** Slots of a cluster, on average. Measured: docs/measurements, Scoring. */
const SLOTS_PER_CLUSTER = 8;
/** Only slots of one stretch meet in a cluster, so what clusters cost grows with their number. */
const STRETCH_SLOTS = 1024;

export interface Clusters extends SlotTable {
  /** uint32 [K,C+1]: cluster c of key head k has the members `starts[k*(C+1)+c]` up to `starts[k*(C+1)+c+1]`. */
  readonly starts: Uint32Array;
  /** uint32 [K,S]: slots of the text, ascending within each cluster. */
  readonly members: Uint32Array;
}

export async function clustersOf(
  table: SlotTable,
  scorer: SlotScorer,
  { heads, headSize }: { readonly heads: number; readonly headSize: number },
  options: CallOptions = {},
): Promise<Clusters> {
  const stretches = stretchesOf(table.slots);
  const slots = stretches.reduce((sum, { clusters }) => sum + clusters, 0);
  const out = {
    slots,
    keys: new Int8Array(heads * slots * headSize),
    scales: new Float32Array(heads * slots),
    logCounts: new Float32Array(heads * slots),
    starts: new Uint32Array(heads * (slots + 1)),
    members: new Uint32Array(heads * table.slots),
  };
  for (let head = 0; head < heads; head++) {
    let first = 0;
    for (const { from, to, clusters } of stretches) {
      throwIfCancelled(options.signal);
      const nearest = await nearestLeaders(table, scorer, head, from, to, clusters, headSize);
      gather(table, head, from, nearest, headSize, out, first, clusters);
      first += clusters;
    }
  }
  return out;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly clusters: number;
}

function stretchesOf(slots: number): Stretch[] {
  const count = Math.ceil(slots / STRETCH_SLOTS);
  return Array.from({ length: count }, (_, at) => {
    const from = Math.round((at * slots) / count);
    const to = Math.round(((at + 1) * slots) / count);
    return { from, to, clusters: Math.max(1, Math.round((to - from) / SLOTS_PER_CLUSTER)) };
  });
}

/** For each slot of a stretch the most alike leader, the first of equal ones. */
async function nearestLeaders(
  { slots, keys }: SlotTable,
  scorer: SlotScorer,
  head: number,
  from: number,
  to: number,
  clusters: number,
  headSize: number,
): Promise<Uint32Array> {
  const count = to - from;
  const first = (head * slots + from) * headSize;
  const own = keys.subarray(first, first + count * headSize);
  const leaders = new Float32Array(clusters * headSize);
  spreadRows(clusters, count).forEach((slot, leader) => {
    const row = own.subarray(slot * headSize, (slot + 1) * headSize);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1;
    row.forEach((value, i) => (leaders[leader * headSize + i] = value / length));
  });
  return scorer.mostAlike(leaders, own, clusters, count);
}

interface Growing {
  readonly slots: number;
  readonly keys: Int8Array;
  readonly scales: Float32Array;
  readonly logCounts: Float32Array;
  readonly starts: Uint32Array;
  readonly members: Uint32Array;
}

/** Mean keys and members of a stretch's clusters. */
function gather(
  table: SlotTable,
  head: number,
  from: number,
  nearest: Uint32Array,
  headSize: number,
  out: Growing,
  first: number,
  clusters: number,
): void {
  const sums = new Float32Array(clusters * headSize);
  const counts = new Float32Array(clusters);
  const sizes = new Uint32Array(clusters);
  nearest.forEach((cluster, i) => {
    const cell = head * table.slots + from + i;
    const count = Math.exp(table.logCounts[cell]!);
    const factor = count * table.scales[cell]!;
    for (let at = 0; at < headSize; at++) {
      sums[cluster * headSize + at]! += factor * table.keys[cell * headSize + at]!;
    }
    counts[cluster]! += count;
    sizes[cluster]!++;
  });
  const starts = out.starts.subarray(head * (out.slots + 1) + first);
  starts[0] = head * table.slots + from;
  const next = new Uint32Array(clusters);
  for (let cluster = 0; cluster < clusters; cluster++) {
    next[cluster] = starts[cluster]!;
    starts[cluster + 1] = starts[cluster]! + sizes[cluster]!;
    const cell = head * out.slots + first + cluster;
    const row = sums.subarray(cluster * headSize, (cluster + 1) * headSize);
    const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const unit = largest / 127 || 1;
    row.forEach((value, at) => (out.keys[cell * headSize + at] = Math.round(value / unit)));
    // A cluster without a member has no tokens: its logit is -Infinity.
    out.logCounts[cell] = Math.log(counts[cluster]!);
    out.scales[cell] = unit / (counts[cluster]! || 1);
  }
  nearest.forEach((cluster, i) => (out.members[next[cluster]!++] = from + i));
}
