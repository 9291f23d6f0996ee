/**
 * Two lanes, one piece of work of each at a time, in order of arrival: what the user waits for, and reading ahead, which
 * runs beside it (the engine lets it wait between chunks). A task cancelled while it waits never starts.
 */
import { LongviewError } from '../base/index.js';

export type Priority = 'user' | 'background';

interface Task {
  readonly name: string;
  readonly start: () => Promise<void>;
}

class Lane {
  private readonly waitingTasks: Task[] = [];
  private running: Task | undefined;

  get current(): string | undefined {
    return this.running?.name;
  }

  get waiting(): number {
    return this.waitingTasks.length;
  }

  add(task: Task): void {
    this.waitingTasks.push(task);
    this.next();
  }

  /** False where it runs already. */
  drop(task: Task): boolean {
    const at = this.waitingTasks.indexOf(task);
    if (at >= 0) this.waitingTasks.splice(at, 1);
    return at >= 0;
  }

  private next(): void {
    if (this.running) return;
    const task = this.waitingTasks.shift();
    if (!task) return;
    this.running = task;
    void task.start().finally(() => {
      this.running = undefined;
      this.next();
    });
  }
}

export class WorkQueue {
  private readonly lanes: Record<Priority, Lane> = { user: new Lane(), background: new Lane() };
  /** Aborted to make room: what runs in the background ends. */
  private interruption = new AbortController();

  /** What runs; the user's before what runs beside it. */
  get current(): string | undefined {
    return this.lanes.user.current ?? this.lanes.background.current;
  }

  get waiting(): number {
    return this.lanes.user.waiting + this.lanes.background.waiting;
  }

  /** Ends background work, for something that cannot run beside it. Its callers hear `cancelled`. */
  interruptBackground(): void {
    this.interruption.abort();
    this.interruption = new AbortController();
  }

  /** Runs `work` when its turn comes; rejects with `cancelled` if the signal is aborted before. */
  run<T>(name: string, priority: Priority, given: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lane = this.lanes[priority];
    const signal = priority === 'background' ? AbortSignal.any([given, this.interruption.signal]) : given;
    return new Promise<T>((resolve, reject) => {
      const cancelled = (): void => reject(new LongviewError('cancelled', 'Cancelled.'));
      if (signal.aborted) {
        cancelled();
        return;
      }
      const drop = (): void => {
        if (lane.drop(task)) cancelled();
      };
      const task: Task = {
        name,
        start: () => {
          signal.removeEventListener('abort', drop);
          // What throws before it gives a promise must not hold the lane for ever.
          return new Promise<T>(begin => begin(work(signal))).then(resolve, reject);
        },
      };
      signal.addEventListener('abort', drop, { once: true });
      lane.add(task);
    });
  }
}
