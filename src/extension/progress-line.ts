/** Progress of long work as one line of text with the time left. Knows nothing of the editor: it is given the translation. */
import { TimeLeft } from '../base/index.js';
import type { ProgressEvent } from '../protocol/index.js';

/** `vscode.l10n.t`. */
export type Translate = (message: string, ...filled: (string | number)[]) => string;

export interface ShownProgress {
  readonly progress: string;
  /** 0…1, where the whole is known. */
  readonly fraction?: number;
}

/** Of one piece of work, through all its tasks. */
export class ProgressLine {
  private readonly timeLeft = new TimeLeft();

  constructor(
    private readonly t: Translate,
    private readonly now: () => number = Date.now,
  ) {}

  /** E.g. `Reading · 3 of 40 files · 12,000 of 90,000 tokens · 2 min left`. */
  show(event: ProgressEvent): ShownProgress {
    const { task, done, total, unit, item, files } = event;
    const { fraction, secondsLeft } = this.timeLeft.after(event, this.now());
    const parts = [task];
    if (files) parts.push(this.t('{0} of {1} files', count(files.done), count(files.total)));
    if (unit === 'bytes')
      parts.push(total === undefined ? megabytes(done) : `${megabytes(done)} / ${megabytes(total)}`);
    else if (total === undefined) parts.push(done > 0 ? `${count(done)} ${unit}` : '');
    else if (unit !== 'steps') parts.push(this.t('{0} of {1} {2}', count(done), count(total), unit));
    if (secondsLeft !== undefined) parts.push(this.t('{0} left', duration(secondsLeft, this.t)));
    if (item !== undefined) parts.push(item);
    return { progress: parts.filter(part => part !== '').join(' · '), fraction };
  }
}

const counted = new Intl.NumberFormat('en-US');

export function count(number: number): string {
  return counted.format(number);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** `40 s`, `3 min`, `2 h 5 min`; under a minute and a half in steps of five seconds, so that it can be read. */
export function duration(seconds: number, t: Translate): string {
  if (seconds < 88) return t('{0} s', seconds < 10 ? Math.max(1, Math.round(seconds)) : 5 * Math.round(seconds / 5));
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return t('{0} min', minutes);
  return t('{0} h {1} min', Math.floor(minutes / 60), minutes % 60);
}
