/** Pauses between pieces of work, on a clock of the test's own: what they come to, and what ends them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fc from 'fast-check';
import { Pace, type PaceClock } from '../../src/engine/process/pace.js';

class FakeClock implements PaceClock {
  private wall = 1000;
  private cpu = 300;
  readonly pauses: number[] = [];

  now(): number {
    return this.wall;
  }

  taken(): number {
    return this.cpu;
  }

  wait(ms: number): Promise<void> {
    this.pauses.push(ms);
    this.wall += ms;
    return Promise.resolve();
  }

  /** Time goes by: `wall` ms, in which the process takes `cpu` ms of processor time. */
  pass(wall: number, cpu = 0): void {
    this.wall += wall;
    this.cpu += cpu;
  }
}

const never = new AbortController().signal;

suite('pace', () => {
  test('after each piece comes what it took beyond its share', async () => {
    const clock = new FakeClock();
    const pace = new Pace(2, clock);
    await pace.goOn(25, never);
    clock.pass(500, 900);
    // 900 ms are a quarter of what 2 cores do in 1,800 ms, of which 500 have gone by.
    await pace.goOn(25, never);
    clock.pass(500, 900);
    // Half of what 2 cores do in 900 ms.
    await pace.goOn(50, never);
    clock.pass(500, 900);
    // Nine tenths of what 2 cores do in 500 ms: no more than the share.
    await pace.goOn(90, never);
    assert.deepEqual(clock.pauses, [1300, 400]);
  });

  test('time between pieces counts as a pause, what others take in it does not count', async () => {
    const clock = new FakeClock();
    const pace = new Pace(2, clock);
    await pace.goOn(25, never);
    clock.pass(500, 900);
    pace.rest();
    clock.pass(1000, 2000);
    pace.rest();
    await pace.goOn(25, never);
    assert.deepEqual(clock.pauses, [300]);
  });

  test('a long idleness lets no later piece off its pause', async () => {
    const clock = new FakeClock();
    const pace = new Pace(2, clock);
    await pace.goOn(50, never);
    clock.pass(100, 200);
    pace.rest();
    clock.pass(60_000);
    await pace.goOn(50, never);
    clock.pass(100, 200);
    await pace.goOn(50, never);
    assert.deepEqual(clock.pauses, [100]);
  });

  test('no pieces and times between them come to more than the share', async () => {
    const ms = fc.integer({ min: 0, max: 3000 });
    const piece = fc.record({
      wall: ms,
      parallel: fc.double({ min: 0, max: 1, noNaN: true }),
      between: ms,
      others: ms,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 30 }),
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 1, max: 100 }),
        async (pieces, cores, share) => {
          const clock = new FakeClock();
          const pace = new Pace(cores, clock);
          await pace.goOn(share, never);
          const began = clock.now();
          let taken = 0;
          for (const { wall, parallel, between, others } of pieces) {
            const cpu = wall * parallel * cores;
            clock.pass(wall, cpu);
            taken += cpu;
            pace.rest();
            clock.pass(between, others);
            await pace.goOn(share, never);
            assert(taken <= (share / 100) * cores * (clock.now() - began) + 1e-3);
          }
        },
      ),
    );
  });

  test('a pause ends when its work is cancelled, and when something hurries', async () => {
    let taken = 0;
    const endless: PaceClock = {
      now: () => 0,
      taken: () => (taken += 1000),
      wait: async (_, signal) => {
        if (!signal.aborted) await once(signal, 'abort');
      },
    };
    const pace = new Pace(1, endless);
    await pace.goOn(1, never);
    const cancelled = new AbortController();
    const first = pace.goOn(1, cancelled.signal);
    cancelled.abort();
    await first;
    const second = pace.goOn(1, never);
    pace.hurry();
    await second;
    await pace.goOn(1, AbortSignal.abort());
  });
});
