/** Progress of the house as MCP's progress notifications. Never fails a request: who does not listen any more is not told. */
import type { Progress, ProgressListener } from '../../base/index.js';
import { amount } from '../progress-view.js';

export interface ProgressNote {
  /** Rises from note to note, as the protocol wants it, through all tasks of one request. */
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** A note at most this often, but always the first of a task. */
const everyMs = 250;

export function progressNotes(send: (note: ProgressNote) => Promise<void>): ProgressListener {
  let task = '';
  let base = 0;
  let last = 0;
  let lastTime = -Infinity;
  return progress => {
    const now = performance.now();
    if (progress.task === task && now - lastTime < everyMs) return;
    if (progress.task !== task) base = last;
    task = progress.task;
    lastTime = now;
    const value = Math.max(base + progress.done, last + 1e-3);
    last = value;
    const total = progress.total === undefined ? undefined : Math.max(value, base + progress.total);
    send({ progress: value, ...(total === undefined ? {} : { total }), message: messageFor(progress) }).catch(
      () => undefined,
    );
  };
}

/** `Reading: 120 of 400 tokens (src/a.ts)`. */
function messageFor(progress: Progress): string {
  return `${progress.task}: ${amount(progress)}${progress.item === undefined ? '' : ` (${progress.item})`}`;
}
