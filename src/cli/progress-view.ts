/**
 * Progress on stderr: a bar with the time left on a terminal, a line every few seconds elsewhere.
 * Never writes to stdout, and nothing for work that ends within the first moment.
 */
import { Presets, SingleBar } from 'cli-progress';
import type { Progress, ProgressListener } from '../base/index.js';
import { count, duration, size } from './text.js';

export interface ProgressView {
  readonly listener: ProgressListener;
  /** Takes the bar off the screen; the next report shows it again. */
  clear(): void;
}

/** Work shorter than this shows no progress. */
const quietMs = 400;
const lineEveryMs = 10_000;

export function createProgressView(stream: NodeJS.WriteStream): ProgressView {
  return stream.isTTY ? new Bar(stream) : new Lines(stream);
}

/** `1.2 MB of 3 MB`, `120 of 400 tokens`, `7 files`. */
export function amount({ done, total, unit }: Progress): string {
  if (unit === 'bytes') return total === undefined ? size(done) : `${size(done)} of ${size(total)}`;
  return total === undefined ? `${count(done)} ${unit}` : `${count(done)} of ${count(total)} ${unit}`;
}

/** Milliseconds left by the mean speed since the task began; undefined while that says nothing. */
export function timeLeft(progress: Progress, elapsedMs: number): number | undefined {
  if (progress.total === undefined || progress.done <= 0 || elapsedMs < 1000) return undefined;
  return Math.max(0, (elapsedMs * (progress.total - progress.done)) / progress.done);
}

/** When a task was first heard of and how far it was then, so that resumed work does not look fast. */
class Pace {
  private task = '';
  private began = 0;
  private first = 0;

  /** Milliseconds since the task began; 0 when it is a new one. */
  elapsed(progress: Progress, now: number): number {
    if (progress.task !== this.task) {
      this.task = progress.task;
      this.began = now;
      this.first = progress.done;
    }
    return now - this.began;
  }

  left(progress: Progress, now: number): number | undefined {
    const since = { ...progress, done: progress.done - this.first };
    if (progress.total !== undefined) Object.assign(since, { total: progress.total - this.first });
    return timeLeft(since, now - this.began);
  }
}

class Bar implements ProgressView {
  private readonly pace = new Pace();
  private bar: SingleBar | undefined;

  constructor(private readonly stream: NodeJS.WriteStream) {}

  readonly listener: ProgressListener = progress => {
    const now = Date.now();
    if (this.pace.elapsed(progress, now) < quietMs) return;
    const left = this.pace.left(progress, now);
    const fields = {
      task: progress.task,
      amount: amount(progress),
      left: left === undefined ? '' : `, ${duration(left)} left`,
      item: progress.item === undefined ? '' : `  ${progress.item}`,
    };
    const total = progress.total ?? 0;
    if (!this.bar) {
      this.bar = new SingleBar(
        { stream: this.stream, clearOnComplete: true, barsize: 24, fps: 8, format: barFormat },
        Presets.shades_classic,
      );
      this.bar.start(total, progress.done, fields);
    } else {
      this.bar.setTotal(total);
      this.bar.update(progress.done, fields);
    }
  };

  clear(): void {
    this.bar?.stop();
    this.bar = undefined;
  }
}

const barFormat = '{task} {bar} {percentage} %  {amount}{left}{item}';

class Lines implements ProgressView {
  private readonly pace = new Pace();
  private lastLine = 0;

  constructor(private readonly stream: NodeJS.WriteStream) {}

  readonly listener: ProgressListener = progress => {
    const now = Date.now();
    const elapsed = this.pace.elapsed(progress, now);
    if (elapsed === 0) this.lastLine = now - lineEveryMs + quietMs;
    if (now - this.lastLine < lineEveryMs) return;
    this.lastLine = now;
    const left = this.pace.left(progress, now);
    this.stream.write(`${progress.task}: ${amount(progress)}${left === undefined ? '' : `, ${duration(left)} left`}\n`);
  };

  clear(): void {
    // Lines stay.
  }
}
