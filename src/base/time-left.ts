/**
 * How long a piece of work will still take, from its progress. The pace is a mean that forgets what is long past, and what is
 * said follows it slowly: a slow file, or a total that turns out larger, moves it without a jump. Never reads a clock.
 */
import type { Progress } from './progress.js';

/** Nothing is said before the pace has been seen for this long. */
const leastMs = 10_000;
/** What is this long past counts for 1/e of what is now. */
const paceMs = 60_000;
/** What is said comes 1/e near to what the pace says in this time. */
const followMs = 15_000;

export interface Estimate {
  /** Since the task was first heard of. */
  readonly elapsedMs: number;
  /** 0…1, where the whole is known. */
  readonly fraction?: number;
  readonly secondsLeft?: number;
}

export class TimeLeft {
  private task: string | undefined;
  private begin = 0;
  private last = { at: 0, done: 0 };
  /** Both fade alike; their ratio is the pace. */
  private worked = 0;
  private timed = 0;
  private saidMs: number | undefined;

  /** After one report of work; `now` in milliseconds. Another task, or work that went back, begins anew. */
  after({ task, done, total }: Pick<Progress, 'task' | 'done' | 'total'>, now: number): Estimate {
    if (task !== this.task || done < this.last.done) this.restart(task, done, now);
    const passed = Math.max(0, now - this.last.at);
    const fading = Math.exp(-passed / paceMs);
    this.worked = this.worked * fading + done - this.last.done;
    this.timed = this.timed * fading + passed;
    this.last = { at: now, done };
    const elapsedMs = now - this.begin;
    if (total === undefined || total <= 0) return { elapsedMs };
    const fraction = Math.min(1, done / total);
    if (elapsedMs < leastMs || this.worked <= 0) return { elapsedMs, fraction };
    const leftMs = (Math.max(0, total - done) * this.timed) / this.worked;
    const awaitedMs = this.saidMs === undefined ? leftMs : Math.max(0, this.saidMs - passed);
    this.saidMs = leftMs === 0 ? 0 : awaitedMs + (leftMs - awaitedMs) * (1 - Math.exp(-passed / followMs));
    return { elapsedMs, fraction, secondsLeft: Math.round(this.saidMs / 1000) };
  }

  private restart(task: string, done: number, now: number): void {
    this.task = task;
    this.begin = now;
    this.last = { at: now, done };
    this.worked = this.timed = 0;
    this.saidMs = undefined;
  }
}
