/**
 * Lets work run only while the machine is plugged in, where the user wants that: before it begins and while it runs. The
 * machine is asked at most once in 30 s, and only while something runs or waits here. Never decides what the work is.
 */

/** After this long the machine is asked again. */
const everyMs = 31_000;
const freshMs = 30_000;

export interface PowerOptions {
  readonly isOnBattery: () => Promise<boolean>;
  /** The user's wish, as it is now: then the machine is not asked. */
  readonly mayUseBattery: () => boolean;
  /** For tests. */
  readonly everyMs?: number;
  readonly freshMs?: number;
}

export class PowerGate {
  private known: { readonly at: number; readonly answer: Promise<boolean> } | undefined;
  private readonly sleepers = new Set<() => void>();

  constructor(private readonly options: PowerOptions) {}

  /** The user's wish may have changed. */
  check(): void {
    for (const wake of this.sleepers) wake();
  }

  /**
   * Runs `work` when the machine is plugged in; its signal is aborted where that ends, and it is run again when power is
   * back. `onWait` is told whenever it has to wait. Resolves when the work has ended by itself or `signal` is aborted.
   */
  async run(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>, onWait: () => void): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    for (;;) {
      const mustWait = await this.mustWait();
      if (isOver()) return;
      if (mustWait) {
        onWait();
        await this.sleep(signal);
        continue;
      }
      const unplugged = new AbortController();
      const ended = new AbortController();
      void this.abortWhenUnplugged(unplugged, ended.signal);
      try {
        await work(AbortSignal.any([signal, unplugged.signal]));
      } finally {
        ended.abort();
      }
      if (!unplugged.signal.aborted) return;
    }
  }

  private async abortWhenUnplugged(unplugged: AbortController, ended: AbortSignal): Promise<void> {
    const isOver = (): boolean => ended.aborted;
    while (!isOver() && !unplugged.signal.aborted) {
      await this.sleep(ended);
      if (!isOver() && (await this.mustWait()) && !isOver()) unplugged.abort();
    }
  }

  private async mustWait(): Promise<boolean> {
    const { mayUseBattery, isOnBattery } = this.options;
    if (mayUseBattery()) return false;
    const now = performance.now();
    if (!this.known || now - this.known.at >= (this.options.freshMs ?? freshMs)) {
      this.known = { at: now, answer: isOnBattery().catch(() => false) };
    }
    return (await this.known.answer) && !mayUseBattery();
  }

  /** Until the machine can be asked again, `check` is called or the signal is aborted. */
  private sleep(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer);
        this.sleepers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, this.options.everyMs ?? everyMs);
      this.sleepers.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }
}
