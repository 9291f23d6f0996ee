/**
 * Where the window begins, how a run of tokens is cut, how many slots a fold may add. Numbers only, no tensors.
 * Source: kvm.md, "Symbols" (window start), "Update" (budget); retrofit.md (schedules of ordinary checkpoints).
 */

/** First position in the window with `tokens` seen: `max(0, ceil(T/C)*C - W*C)`. */
export function windowStart(tokens: number, chunk: number, windowChunks: number): number {
  return Math.max(0, (Math.ceil(tokens / chunk) - windowChunks) * chunk);
}

/**
 * Cuts positions `from .. from + count - 1` at the chunk boundaries, as [begin, end). The window begins at one place for all
 * tokens of a piece, so at most one fold is due before it and none inside it.
 */
export function pieces(from: number, count: number, chunk: number): [number, number][] {
  const cuts: [number, number][] = [];
  for (let begin = from; begin < from + count;) {
    const end = Math.min(from + count, (Math.floor(begin / chunk) + 1) * chunk);
    cuts.push([begin, end]);
    begin = end;
  }
  return cuts;
}

/** How many slots a state may have once `tokens` are seen. */
export interface Schedule {
  readonly slots: (tokens: number) => number;
  /** Nothing is kept but the sinks: the baseline of retrofit.md, "window + sinks only". */
  readonly sinksOnly: boolean;
}

function growing(slots: (tokens: number) => number): Schedule {
  return { slots, sinksOnly: false };
}

/** The same number of slots whatever was read. */
export function fixed(slots: number): Schedule {
  return growing(() => slots);
}

/** `floor(factor * T^exponent)`; the paper: 16 and 0.5. */
export function powerLaw(factor = 16, exponent = 0.5): Schedule {
  return growing(tokens => Math.floor(factor * tokens ** exponent));
}

/** `floor(N*T / (N+T))`: grows with every token at first, never over N. */
export function saturating(limit: number): Schedule {
  return growing(tokens => Math.floor((limit * tokens) / (limit + tokens)));
}

/** A document of known length, growth spread evenly: `floor(T * slots / documentTokens)`. */
export function even(slots: number, documentTokens: number): Schedule {
  return growing(tokens => Math.floor((tokens * slots) / documentTokens));
}

/** A slot for every token: nothing is merged. */
export function keepEverything(): Schedule {
  return growing(tokens => tokens);
}

/** The sinks and the window, nothing else. */
export function windowOnly(): Schedule {
  return { slots: () => 0, sinksOnly: true };
}

/** The authors' rounding: down to a multiple of `multiple`, not under `minimum`. */
export function rounded(schedule: Schedule, multiple: number, minimum: number): Schedule {
  return growing(tokens => Math.max(minimum, Math.floor(schedule.slots(tokens) / multiple) * multiple));
}

/** What a fold knows of the past when it asks for its budget. */
export interface BudgetQuestion {
  /** The chunk boundary before the token that makes the fold necessary: a multiple of C. */
  readonly tokens: number;
  /** Tokens that have left the window, the chunk now leaving included. */
  readonly left: number;
  /** Slots the state has, S. */
  readonly slots: number;
  readonly chunk: number;
  readonly maxSlots: number;
}

/** `target = clamp(schedule(T), S, min(left, max))`, and of it `n = min(target - S, C)` appends (kvm.md, "Update", 2). */
export function appendCount(schedule: Schedule, { tokens, left, slots, chunk, maxSlots }: BudgetQuestion): number {
  const target = Math.max(slots, Math.min(schedule.slots(tokens), left, maxSlots));
  return Math.min(target - slots, chunk);
}
