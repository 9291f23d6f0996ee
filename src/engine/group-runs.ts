/**
 * Runs a fold graph over some groups at a time: groups never meet in it, and what it compares, [G,N,T], is large enough
 * that memory for all of them costs more time than the products. Never for graphs that hold something of each group (LN_s).
 */
import type { Graph, Tensor } from './ort.js';
import { joinedRows, rowsOf } from './ort.js';

/** Similarities at once, 4 MB. Measured: docs/measurements, Where the time goes. */
const NUMBERS_AT_ONCE = 2 ** 20;

/** Groups that make a run of at most that many similarities; at least 1. */
export function groupsAtOnce(incoming: number, slots: number): number {
  return Math.max(1, Math.floor(NUMBERS_AT_ONCE / Math.max(1, incoming * slots)));
}

/** Feeds named in `shared` are the same for every group; all others, and all outputs, have G in front. */
export async function runByGroups(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor>>,
  outputs: readonly string[],
  sizes: { readonly groups: number; readonly atOnce: number; readonly shared: readonly string[] },
): Promise<Record<string, Tensor>> {
  const { groups, atOnce, shared } = sizes;
  if (groups <= atOnce) return await graph.run(feeds, outputs);
  const parts: Record<string, Tensor>[] = [];
  for (let from = 0; from < groups; from += atOnce) {
    const to = Math.min(groups, from + atOnce);
    const own = Object.entries(feeds).map(([name, tensor]) => [
      name,
      shared.includes(name) ? tensor : rowsOf(tensor, from, to),
    ]);
    parts.push(await graph.run(Object.fromEntries(own) as Record<string, Tensor>, outputs));
  }
  return Object.fromEntries(outputs.map(name => [name, joinedRows(parts.map(part => part[name]!))]));
}
