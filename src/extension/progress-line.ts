/** Progress of long work as one line of text with the time left. Knows nothing of the editor: it is given the translation. */
import type { ProgressEvent } from '../protocol/index.js';

/** `vscode.l10n.t`. */
export type Translate = (message: string, ...filled: (string | number)[]) => string;

export interface ShownProgress {
  readonly progress: string;
  /** 0…1, where the whole is known. */
  readonly fraction?: number;
}

/** A pace over less than this says nothing. */
const leastMs = 2000;

/** Of one piece of work, through all its tasks. */
export class ProgressLine {
  private task = '';
  private began = 0;
  private first = 0;

  constructor(
    private readonly t: Translate,
    private readonly now: () => number = Date.now,
  ) {}

  /** E.g. `Reading · 3 of 40 files · 12,000 of 90,000 tokens · 2 min left`. */
  show({ task, done, total, unit, item, files }: Omit<ProgressEvent, 'id'>): ShownProgress {
    if (task !== this.task) Object.assign(this, { task, began: this.now(), first: done });
    const parts = [task];
    if (files) parts.push(this.t('{0} of {1} files', count(files.done), count(files.total)));
    if (unit === 'bytes')
      parts.push(total === undefined ? megabytes(done) : `${megabytes(done)} / ${megabytes(total)}`);
    else if (total === undefined) parts.push(done > 0 ? `${count(done)} ${unit}` : '');
    else if (unit !== 'steps') parts.push(this.t('{0} of {1} {2}', count(done), count(total), unit));
    const left = total === undefined ? undefined : this.left(done, total);
    if (left !== undefined) parts.push(this.t('{0} left', duration(left)));
    if (item !== undefined) parts.push(item);
    const progress = parts.filter(part => part !== '').join(' · ');
    return total === undefined || total <= 0 ? { progress } : { progress, fraction: Math.min(1, done / total) };
  }

  /** Milliseconds by the mean pace since the task was first heard of. */
  private left(done: number, total: number): number | undefined {
    const elapsed = this.now() - this.began;
    const made = done - this.first;
    return elapsed < leastMs || made <= 0 ? undefined : (elapsed * (total - done)) / made;
  }
}

const counted = new Intl.NumberFormat('en-US');

export function count(number: number): string {
  return counted.format(number);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

function duration(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
