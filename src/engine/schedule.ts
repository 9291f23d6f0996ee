/** How many slots a state has after T tokens (kvm.md, Update: Budget). Pure. */
import type { Schedule } from './engine.js';

/** Slots wanted after `tokens` tokens, before the limits of what is there. */
export function scheduledSlots(schedule: Schedule, tokens: number): number {
  const { roundDownTo = 1, atLeast = 0, atMost = Infinity } = schedule;
  const slots = Math.floor(unlimitedSlots(schedule, tokens) / roundDownTo) * roundDownTo;
  return Math.min(Math.max(slots, atLeast), atMost);
}

function unlimitedSlots(schedule: Schedule, tokens: number): number {
  switch (schedule.kind) {
    case 'fixed':
      return schedule.slots;
    case 'powerLaw':
      return Math.floor(schedule.factor * tokens ** schedule.exponent);
    case 'saturating':
      return Math.floor((schedule.slots * tokens) / (schedule.slots + tokens));
    case 'even':
      return Math.floor((tokens * schedule.slots) / schedule.tokens);
    case 'keepEverything':
      return tokens;
    case 'windowOnly':
      return 0;
  }
}

/**
 * Incoming tokens of a chunk that become slots: clamp(schedule(T), S, tokens that have left) - S, at most C.
 * `tokens` is T at the chunk boundary, `left` what has left the window after this chunk, `slots` S before it, `share` times
 * the schedule's figure counts (default 1).
 */
export function appendedSlots(
  schedule: Schedule,
  at: { tokens: number; left: number; slots: number; chunk: number; share?: number },
): number {
  const target = Math.max(
    at.slots,
    Math.min(Math.floor((at.share ?? 1) * scheduledSlots(schedule, at.tokens)), at.left),
  );
  return Math.min(target - at.slots, at.chunk);
}
