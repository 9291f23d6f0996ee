/**
 * Readings that go on between the calls of an agent, one a folder: a long file may take longer than a call waits, and is kept
 * once a part of it is read. Ends with the process. Never starts one by itself.
 */
import { throwIfCancelled, type ProgressListener } from '../../base/index.js';
import type { Backend, Work } from '../../server/index.js';

interface Reading {
  readonly done: Promise<unknown>;
  readonly end: AbortController;
  listener: ProgressListener | undefined;
}

export class Readings {
  private readonly running = new Map<string, Reading>();

  constructor(private readonly backend: Backend) {}

  /** Waits for the folder's reading, `seconds` at most; it goes on then. A call that is cancelled while it waits ends it. */
  async wait(root: string, seconds: number, { signal, onProgress }: Work): Promise<void> {
    if (seconds === 0) return;
    const reading = this.running.get(root) ?? this.start(root);
    reading.listener = onProgress;
    try {
      await Promise.race([reading.done, ended(AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]))]);
      if (signal.aborted) reading.end.abort();
      throwIfCancelled(signal);
    } finally {
      reading.listener = undefined;
    }
  }

  /** Ends the folder's reading; what was read stays. */
  async stop(root: string): Promise<void> {
    const reading = this.running.get(root);
    reading?.end.abort();
    await reading?.done.catch(() => undefined);
  }

  private start(root: string): Reading {
    const end = new AbortController();
    const onProgress: ProgressListener = progress => reading.listener?.(progress);
    const done = this.backend
      .read(root, {}, { signal: end.signal, onProgress })
      .finally(() => this.running.delete(root));
    done.catch(() => undefined); // Whoever waits hears of it; the next call reads again.
    const reading: Reading = { done, end, listener: undefined };
    this.running.set(root, reading);
    return reading;
  }
}

function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}
