/**
 * One piece of work at a time, highest priority first, in order of arrival within a priority.
 * Never interrupts what runs: the work watches its own signal. A task cancelled while it waits never starts.
 */
import { LongviewError } from '../base/index.js';

/** A question of the user goes before reading ahead. */
export type Priority = 'user' | 'background';

interface Task {
  readonly name: string;
  readonly priority: Priority;
  readonly signal: AbortSignal;
  readonly start: () => Promise<void>;
  readonly drop: () => void;
}

export class WorkQueue {
  private readonly tasks: Task[] = [];
  private running: Task | undefined;

  get current(): string | undefined {
    return this.running?.name;
  }

  get waiting(): number {
    return this.tasks.length;
  }

  /** Runs `work` when its turn comes; rejects with `cancelled` if the signal is aborted before. */
  run<T>(name: string, priority: Priority, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const task: Task = {
        name,
        priority,
        signal,
        start: () => work().then(resolve, reject),
        drop: () => {
          const at = this.tasks.indexOf(task);
          if (at < 0) return;
          this.tasks.splice(at, 1);
          reject(new LongviewError('cancelled', 'Cancelled.'));
        },
      };
      this.tasks.push(task);
      if (signal.aborted) task.drop();
      else signal.addEventListener('abort', task.drop, { once: true });
      this.next();
    });
  }

  private next(): void {
    if (this.running) return;
    const user = this.tasks.findIndex(task => task.priority === 'user');
    const [task] = this.tasks.splice(Math.max(user, 0), 1);
    if (!task) return;
    this.running = task;
    task.signal.removeEventListener('abort', task.drop);
    void task.start().finally(() => {
      this.running = undefined;
      this.next();
    });
  }
}
