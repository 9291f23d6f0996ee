/** An engine that is started when it is first needed; looking at the ledger and forgetting never start it. */
import type { Engine } from '../engine/index.js';

export class LazyEngine {
  private starting: Promise<Engine> | undefined;
  private running: Engine | undefined;

  constructor(private readonly source: Engine | (() => Promise<Engine>)) {
    if (typeof source !== 'function') this.running = source;
  }

  /** The engine if it runs already. */
  get started(): Engine | undefined {
    return this.running;
  }

  /** Starts it once; after a failure the next call tries again. */
  async get(): Promise<Engine> {
    if (this.running) return this.running;
    if (typeof this.source !== 'function') return this.source;
    this.starting ??= this.source();
    try {
      this.running = await this.starting;
      return this.running;
    } catch (error) {
      this.starting = undefined;
      throw error;
    }
  }
}
