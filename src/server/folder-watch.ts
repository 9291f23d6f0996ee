/**
 * What happens to the files of one folder, turned into looks at them: after a moment of quiet, or after some seconds where
 * it does not get quiet, one look at all that changed; never two at a time. Changes that come meanwhile are looked at after
 * it. Never reads a file into memory: whoever hears of the look decides that.
 */
import { messageOf, type Disposable, type Log } from '../base/index.js';
import type { ChangeReport } from '../memory/index.js';
import { ChangedPaths } from './changed-paths.js';

export interface WatchTimes {
  /** Milliseconds without a change before one looks. */
  readonly quiet: number;
  /** Milliseconds from the first change to the look at most. */
  readonly most: number;
  /** Milliseconds until the next try, where another process reads the folder. */
  readonly retry: number;
}

export const WATCH_TIMES: WatchTimes = { quiet: 1000, most: 10_000, retry: 5000 };

export interface WatchParts {
  /** Looks at the paths; undefined where another process reads the folder. */
  readonly look: (paths: readonly string[], signal: AbortSignal) => Promise<ChangeReport | undefined>;
  readonly onLooked: (report: ChangeReport) => void;
  readonly log: Log;
  readonly times?: WatchTimes;
  /** Clock, for tests. */
  readonly clock?: Clock;
}

export interface Clock {
  readonly now: () => number;
  /** Calls back after so many milliseconds, unless what it returns was called. */
  readonly after: (ms: number, call: () => void) => () => void;
}

const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export class FolderWatch implements Disposable {
  private readonly changed = new ChangedPaths();
  private readonly closing = new AbortController();
  private readonly times: WatchTimes;
  private readonly clock: Clock;
  /** When the oldest change came that nobody has looked at. */
  private since: number | undefined;
  private looking = false;
  /** How long the last look took: the next one does not come sooner, so that the machine is not only looking. */
  private lastMs = 0;
  private cancelTimer: () => void = () => undefined;

  constructor(private readonly parts: WatchParts) {
    this.times = parts.times ?? WATCH_TIMES;
    this.clock = parts.clock ?? systemClock;
  }

  /** As `ChangedPaths.add`. */
  add(path: string): void {
    if (this.closing.signal.aborted || !this.changed.add(path)) return;
    this.since ??= this.clock.now();
    if (!this.looking) this.lookLater();
  }

  dispose(): void {
    this.closing.abort();
    this.cancelTimer();
  }

  private lookLater(atLeast = 0): void {
    const untilMost = (this.since ?? this.clock.now()) + this.times.most - this.clock.now();
    const wait = Math.max(atLeast, this.lastMs, Math.min(this.times.quiet, untilMost));
    this.cancelTimer();
    this.cancelTimer = this.clock.after(wait, () => void this.look());
  }

  private async look(): Promise<void> {
    this.looking = true;
    const began = this.clock.now();
    const since = this.since;
    const paths = this.changed.take();
    this.since = undefined;
    let retry = false;
    try {
      const report = await this.parts.look(paths, this.closing.signal);
      if (report) this.parts.onLooked(report);
      else retry = true;
    } catch (error) {
      if (this.closing.signal.aborted) return;
      // The next look at everything, at the latest that of a question, finds what this one missed.
      this.parts.log('warning', `Changes could not be looked at: ${messageOf(error)}`);
    } finally {
      this.looking = false;
    }
    this.lastMs = this.clock.now() - began;
    if (retry) {
      for (const path of paths) this.changed.add(path);
      this.since = since;
      this.lookLater(this.times.retry);
    } else if (this.changed.size > 0) this.lookLater();
  }
}
