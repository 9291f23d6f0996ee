/** When a server is busy, and how long it wants to be left alone. Never waits itself. */
import type { HttpAnswer } from './http.js';

/** Times a busy server is asked again, and the longest wait it may ask for, milliseconds. */
export const RETRIES = 3;
export const LONGEST_WAIT = 20_000;

/** Milliseconds until it may be asked again (`Retry-After` in seconds, else 1 s); undefined where it is not busy. */
export function busyWait(answer: HttpAnswer): number | undefined {
  if (answer.status !== 429 && answer.status < 500) return undefined;
  const seconds = Number(answer.header('retry-after') ?? 1);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : 1000;
}
