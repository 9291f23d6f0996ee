/** How long a piece of work will still take, from its progress. Pure. */
import type { ProgressEvent } from '../protocol/index.js';

/** Nothing is said before the speed is known. */
const leastMs = 4000;

export class TimeLeft {
  private task = '';
  private begin = { at: 0, done: 0 };

  /** `now` in milliseconds. */
  after(progress: ProgressEvent, now: number): { fraction?: number; secondsLeft?: number } {
    const { task, done, total } = progress;
    if (task !== this.task || done < this.begin.done) {
      this.task = task;
      this.begin = { at: now, done };
    }
    if (total === undefined || total <= 0) return {};
    const fraction = Math.min(1, done / total);
    const elapsed = now - this.begin.at;
    const doneSince = done - this.begin.done;
    if (elapsed < leastMs || doneSince <= 0) return { fraction };
    return { fraction, secondsLeft: Math.round((elapsed / doneSince / 1000) * Math.max(0, total - done)) };
  }
}
