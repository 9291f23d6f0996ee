/**
 * Progress on stderr: a bar with the time left on a terminal, a line every few seconds elsewhere.
 * Never writes to stdout, and nothing for work that ends within the first moment.
 */
import { Presets, SingleBar } from 'cli-progress';
import { TimeLeft, escaped, type Progress, type ProgressListener } from '../base/index.js';
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

function leftText(seconds: number | undefined): string {
  return seconds === undefined ? '' : `, ${duration(1000 * seconds)} left`;
}

class Bar implements ProgressView {
  private readonly timeLeft = new TimeLeft();
  private bar: SingleBar | undefined;

  constructor(private readonly stream: NodeJS.WriteStream) {}

  readonly listener: ProgressListener = progress => {
    const { elapsedMs, secondsLeft } = this.timeLeft.after(progress, Date.now());
    if (elapsedMs < quietMs) return;
    const fields = {
      task: escaped(progress.task),
      amount: amount(progress),
      left: leftText(secondsLeft),
      item: progress.item === undefined ? '' : `  ${escaped(progress.item)}`,
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
  private readonly timeLeft = new TimeLeft();
  private lastLine = 0;

  constructor(private readonly stream: NodeJS.WriteStream) {}

  readonly listener: ProgressListener = progress => {
    const now = Date.now();
    const { elapsedMs, secondsLeft } = this.timeLeft.after(progress, now);
    if (elapsedMs === 0) this.lastLine = now - lineEveryMs + quietMs;
    if (now - this.lastLine < lineEveryMs) return;
    this.lastLine = now;
    this.stream.write(`${escaped(progress.task)}: ${amount(progress)}${leftText(secondsLeft)}\n`);
  };

  clear(): void {
    // Lines stay.
  }
}
