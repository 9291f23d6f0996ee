/** How many slots a state has: every schedule at hand-computed points, and the limits of kvm.md's budget. */
import assert from 'node:assert/strict';
import type { Schedule } from '../../src/engine/index.js';
import { appendedSlots, scheduledSlots } from '../../src/engine/schedule.js';

suite('schedule', () => {
  test('slots after T tokens, by hand', () => {
    const cases: [Schedule, number, number][] = [
      [{ kind: 'fixed', slots: 24 }, 1, 24],
      [{ kind: 'fixed', slots: 24 }, 1_000_000, 24],
      // The paper's: 16 times the square root.
      [{ kind: 'powerLaw', factor: 16, exponent: 0.5 }, 1024, 512],
      [{ kind: 'powerLaw', factor: 16, exponent: 0.5 }, 1000, 505],
      [{ kind: 'powerLaw', factor: 16, exponent: 0.5 }, 1_000_000, 16_000],
      [{ kind: 'powerLaw', factor: 2, exponent: 1 }, 7, 14],
      // N·T / (N+T): half of N at T = N, three quarters at 3N.
      [{ kind: 'saturating', slots: 1024 }, 1024, 512],
      [{ kind: 'saturating', slots: 1024 }, 3072, 768],
      [{ kind: 'saturating', slots: 1024 }, 1, 0],
      [{ kind: 'saturating', slots: 1024 }, 10_000_000, 1023],
      [{ kind: 'even', slots: 60, tokens: 200 }, 100, 30],
      [{ kind: 'even', slots: 60, tokens: 200 }, 199, 59],
      [{ kind: 'even', slots: 60, tokens: 200 }, 200, 60],
      [{ kind: 'keepEverything' }, 777, 777],
      [{ kind: 'windowOnly' }, 777, 0],
    ];
    for (const [schedule, tokens, slots] of cases) {
      assert.equal(scheduledSlots(schedule, tokens), slots, `${JSON.stringify(schedule)} at ${tokens}`);
    }
  });

  test('limits: down to a multiple, not under the least, not over the most', () => {
    // 6·sqrt(203) = 85.49 → 85 → 80; of the golden power_law model.
    const golden: Schedule = { kind: 'powerLaw', factor: 6, exponent: 0.5, roundDownTo: 8, atLeast: 16, atMost: 64 };
    assert.equal(scheduledSlots({ ...golden, atMost: 100 }, 203), 80);
    assert.equal(scheduledSlots(golden, 203), 64);
    // 6·sqrt(4) = 12 → 8.
    assert.equal(scheduledSlots(golden, 4), 16);
    assert.equal(scheduledSlots({ kind: 'fixed', slots: 24, roundDownTo: 1, atLeast: 24, atMost: 32 }, 999), 24);
    // The most counts where the least is more; and a state never shrinks to it.
    assert.equal(scheduledSlots({ kind: 'fixed', slots: 9, atLeast: 40, atMost: 20 }, 1), 20);
    assert.equal(appendedSlots(golden, { tokens: 900, left: 880, slots: 70, chunk: 16 }), 0);
    assert.equal(appendedSlots(golden, { tokens: 900, left: 880, slots: 60, chunk: 16 }), 4);
  });

  test('appends: up to the schedule, never below none, over what left, or over a chunk', () => {
    const fixed: Schedule = { kind: 'fixed', slots: 100 };
    const at = { tokens: 512, left: 512, slots: 90, chunk: 256 };
    assert.equal(appendedSlots(fixed, at), 10);
    assert.equal(appendedSlots(fixed, { ...at, slots: 100 }), 0);
    assert.equal(appendedSlots(fixed, { ...at, slots: 120 }), 0);
    assert.equal(appendedSlots(fixed, { ...at, left: 95 }), 5);
    assert.equal(appendedSlots(fixed, { ...at, left: 80 }), 0);
    assert.equal(appendedSlots({ kind: 'keepEverything' }, { tokens: 1024, left: 512, slots: 256, chunk: 256 }), 256);
    // The schedule is far ahead of the state (a window of many chunks): still one chunk a fold.
    assert.equal(appendedSlots({ kind: 'keepEverything' }, { tokens: 9000, left: 9000, slots: 256, chunk: 256 }), 256);
  });

  test('the paper’s defaults, fold by fold', () => {
    // C 256, W 2, 16·sqrt(T). A fold is due at T = 512, 768, …; the first chunk came in whole: 256 slots.
    const schedule: Schedule = { kind: 'powerLaw', factor: 16, exponent: 0.5 };
    let slots = 256;
    const grown: number[] = [];
    for (let tokens = 768; tokens <= 2048; tokens += 256) {
      slots += appendedSlots(schedule, { tokens, left: tokens - 256, slots, chunk: 256 });
      grown.push(slots);
    }
    // floor(16·sqrt(T)): 443, 512, 572, 627, 677, 724.
    assert.deepEqual(grown, [443, 512, 572, 627, 677, 724]);
  });
});
