/**
 * Keeps work that nobody waits for below a share of the machine's processor time: after each piece of it comes a pause that
 * makes up for what the piece took. A share holds over each piece and its pause, so over a few seconds. Never holds up
 * anything but who calls `goOn`.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** In ms. */
export interface PaceClock {
  now(): number;
  /** Processor time that this process took so far, in all its threads. */
  taken(): number;
  /** Ends early when the signal is aborted; never throws. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const realClock: PaceClock = {
  now: () => performance.now(),
  taken: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  wait: async (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};

export class Pace {
  /** When the last piece of work began. */
  private beganAt = -Infinity;
  private takenBefore: number | undefined;
  /** Processor time of the last piece. */
  private taken = 0;
  private pause: AbortController | undefined;

  constructor(
    private readonly cores = availableParallelism(),
    private readonly clock = realClock,
  ) {}

  /** A piece of work ended; what comes until the next one begins is not counted. */
  rest(): void {
    if (this.takenBefore === undefined) return;
    this.taken = this.clock.taken() - this.takenBefore;
    this.takenBefore = undefined;
  }

  /**
   * The next piece of work begins when this resolves: once the last one and the time since it began come to no more than
   * `share` percent of what all cores could have done.
   */
  async goOn(share: number, signal: AbortSignal): Promise<void> {
    this.rest();
    const early = this.beganAt + this.taken / (this.cores * (share / 100)) - this.clock.now();
    if (early > 0) {
      this.pause = new AbortController();
      await this.clock.wait(early, AbortSignal.any([signal, this.pause.signal]));
      this.pause = undefined;
    }
    this.begin();
  }

  /** Ends a pause that goes on now. */
  hurry(): void {
    this.pause?.abort();
  }

  /** The next piece of work begins now. */
  begin(): void {
    this.beganAt = this.clock.now();
    this.takenBefore = this.clock.taken();
  }
}
