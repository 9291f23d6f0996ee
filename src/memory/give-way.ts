/** Long loops that let other work of the process go between their steps: the server answers while it looks through a memory. */

/** Milliseconds without a break at most, but for a single step. */
const mostMs = 10;

export class GiveWay {
  private since = performance.now();

  /** To be awaited after each step. */
  async step(): Promise<void> {
    if (performance.now() - this.since < mostMs) return;
    await new Promise<void>(resolve => setImmediate(resolve));
    this.since = performance.now();
  }
}
