/**
 * Window and state of one key head of an ordinary checkpoint read through KVM: how slots are made, merged and read.
 * Never trained, never rotated. Source: retrofit.md (the table "KVM, trained | retrofit"), kvm.md, "Update", for the order.
 */
import type { Schedule } from './chunks.js';
import { appendCount, windowStart } from './chunks.js';
import { chooseAppends, chooseWinner, ClosestCalls } from './decisions.js';
import type { Vec } from './vectors.js';
import { addInto, norm, scaled, unit } from './vectors.js';

/** One slot: sums, how many tokens they hold, and the lengths of the creating token's key and value. */
export interface RetrofitSlot {
  /** Sum of un-rotated keys [d]. */
  readonly key: Vec;
  /** Sum of values [d]. */
  readonly value: Vec;
  count: number;
  readonly keyRadius: number;
  readonly valueRadius: number;
}

/** One token of the window. */
export interface RetrofitWindowToken {
  /** Un-rotated key [d], what goes into the state. */
  readonly key: Vec;
  /** The key rotated to the token's position, what attention meets. */
  readonly rotatedKey: Vec;
  readonly value: Vec;
}

/** How a text is read; the same for all heads. */
export interface RetrofitRules {
  readonly schedule: Schedule;
  /** C, tokens in a chunk. */
  readonly chunk: number;
  /** W, chunks in the window. */
  readonly windowChunks: number;
  /** m, slots in front that no token merges into. */
  readonly sinks: number;
  /** Cap of the slots made from this text; none if left out. */
  readonly maxSlots?: number;
}

/** The slot of a token that went to none (window only). */
export const NO_SLOT = -1;

/** A slot of one token: its un-rotated key and its value. */
export function slotOfOne(key: Vec, value: Vec): RetrofitSlot {
  return { key: key.slice(), value: value.slice(), count: 1, keyRadius: norm(key), valueRadius: norm(value) };
}

/** A slot that shares no memory with `slot`. */
export function copySlot(slot: RetrofitSlot): RetrofitSlot {
  return { ...slot, key: slot.key.slice(), value: slot.value.slice() };
}

/**
 * Puts `incoming` into `slots`, in place, and returns the slot that took each: the `append` most novel ones become slots, every other
 * one is added to its most similar slot behind the sinks, all winners being chosen before any merge (kvm.md, "Update", 2, with
 * cosines of key sums). Incoming slots may hold several tokens, as when states are composed.
 */
export function foldSlots(
  slots: RetrofitSlot[],
  incoming: readonly RetrofitSlot[],
  { append, sinks, calls }: { append: number; sinks: number; calls?: ClosestCalls },
): number[] {
  const directions = (of: readonly RetrofitSlot[]) => of.map(slot => unit(slot.key));
  const keys = directions(incoming);
  const appended = chooseAppends(keys, directions(slots), append, calls);
  const taken = new Map(appended.map(i => [i, slots.push(copySlot(incoming[i]!)) - 1]));
  const slotKeys = directions(slots);
  const winners = keys.map((key, i) => taken.get(i) ?? chooseWinner(key, slotKeys, sinks, calls));
  incoming.forEach(({ key, value, count }, i) => {
    if (taken.has(i)) return;
    const slot = slots[winners[i]!]!;
    addInto(slot.key, key);
    addInto(slot.value, value);
    slot.count += count;
  });
  return winners;
}

/**
 * A given state stands before the text's own slots and is no part of its budget: `schedule`, `left` and `maxSlots` count the slots
 * made from the text. Tokens may merge into given slots, its first `sinks` excepted; then the text's own first tokens are no sinks.
 */
export class RetrofitHead {
  readonly slots: RetrofitSlot[];
  window: RetrofitWindowToken[] = [];
  /** What a query meets of the slots, formed again after each fold: direction of each sum times its radius. */
  read: { readonly key: Vec; readonly value: Vec; readonly count: number }[];
  /** For each token that has left the window, the slot it went to. */
  readonly slotOfToken: number[] = [];
  /** Position of the first token in the window. */
  start = 0;
  readonly calls = new ClosestCalls();
  readonly #given: number;

  constructor(
    private readonly rules: RetrofitRules,
    given: readonly RetrofitSlot[] = [],
  ) {
    this.slots = given.map(copySlot);
    this.#given = given.length;
    this.read = this.#readSlots();
  }

  /**
   * Folds the chunk that leaves when tokens up to `tokens` are seen. `from` is the position of the first of them not seen before:
   * where a fold is due, the chunk boundary before the token that makes it necessary.
   */
  advance(from: number, tokens: number): void {
    const { chunk, windowChunks } = this.rules;
    const start = windowStart(tokens, chunk, windowChunks);
    if (start === this.start) return;
    const leaving = this.window.slice(0, chunk);
    this.window = this.window.slice(chunk);
    this.start = start;
    this.#fold(leaving, from);
    this.read = this.#readSlots();
  }

  #fold(leaving: readonly RetrofitWindowToken[], tokens: number): void {
    const { schedule, chunk, sinks, maxSlots = Infinity } = this.rules;
    const first = this.slotOfToken.length === 0;
    const incoming = leaving.map(({ key, value }) => slotOfOne(key, value));
    const unmerged = (slot: RetrofitSlot) => this.slots.push(slot) - 1;
    if (schedule.sinksOnly) {
      const kept = first && this.#given === 0 ? sinks : 0;
      this.slotOfToken.push(...incoming.map((slot, i) => (i < kept ? unmerged(slot) : NO_SLOT)));
    } else if (first) this.slotOfToken.push(...incoming.map(unmerged));
    else {
      const slots = this.slots.length - this.#given;
      const append = appendCount(schedule, { tokens, left: this.start, slots, chunk, maxSlots });
      this.slotOfToken.push(...foldSlots(this.slots, incoming, { append, sinks, calls: this.calls }));
    }
  }

  #readSlots(): RetrofitHead['read'] {
    return this.slots.map(({ key, value, count, keyRadius, valueRadius }) => ({
      key: scaled(unit(key), keyRadius),
      value: scaled(unit(value), valueRadius),
      count,
    }));
  }
}
