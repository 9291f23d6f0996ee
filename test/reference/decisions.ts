/**
 * The two choices of a fold: which tokens become slots, and which slot takes each of the others. One head at a time.
 * Never changes a state. Source: kvm.md, "Update", 2. Both families ask by inner products; they differ in the vectors they pass.
 */
import type { Vec } from './vectors.js';
import { dot } from './vectors.js';

/** How near the closest calls were, in score units. An engine in float32 can only be compared where these exceed its noise. */
export class ClosestCalls {
  /** Smallest distance between the last token appended and the first one not. */
  append = Infinity;
  /** Smallest distance between a winning slot and the runner-up. */
  merge = Infinity;

  noteAppend(gap: number): void {
    this.append = Math.min(this.append, gap);
  }

  noteMerge(gap: number): void {
    this.merge = Math.min(this.merge, gap);
  }
}

/**
 * The `count` tokens whose best slot is worst, that is with the smallest `max_j <token, slot_j>`; indices in order of position.
 * Equal values: the lowest index is appended.
 */
export function chooseAppends(
  tokens: readonly Vec[],
  slotKeys: readonly Vec[],
  count: number,
  calls?: ClosestCalls,
): number[] {
  if (count === 0) return [];
  const familiarity = tokens.map(token => slotKeys.reduce((best, slot) => Math.max(best, dot(token, slot)), -Infinity));
  const order = tokens.map((_, i) => i).sort((a, b) => familiarity[a]! - familiarity[b]! || a - b);
  if (count < order.length) calls?.noteAppend(familiarity[order[count]!]! - familiarity[order[count - 1]!]!);
  return order.slice(0, count).sort((a, b) => a - b);
}

/** Winner takes all: `argmax_j <token, slot_j>` over the slots from `sinks` on; the lowest index wins ties. */
export function chooseWinner(token: Vec, slotKeys: readonly Vec[], sinks: number, calls?: ClosestCalls): number {
  let winner = -1;
  let best = -Infinity;
  let second = -Infinity;
  for (let j = sinks; j < slotKeys.length; j++) {
    const score = dot(token, slotKeys[j]!);
    if (winner < 0 || score > best) {
      second = best;
      best = score;
      winner = j;
    } else second = Math.max(second, score);
  }
  if (winner < 0) throw new Error(`fold: all ${slotKeys.length} slots are sinks, none may take a token`);
  if (second > -Infinity) calls?.noteMerge(best - second);
  return winner;
}
