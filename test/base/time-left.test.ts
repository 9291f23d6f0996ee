/** Time left: right for an even pace, quiet at first, without jumps for an uneven one. Right values from arithmetic. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TimeLeft } from '../../src/base/index.js';

suite('time left', () => {
  const at = (done: number, total?: number, task = 'Reading') => ({ task, done, total });

  test('an even pace: 100 tokens a second, exact from the tenth second on, nothing before', () => {
    const left = new TimeLeft();
    for (let second = 0; second <= 40; second++) {
      const { secondsLeft } = left.after(at(100 * second, 4000), 1000 * second);
      assert.equal(secondsLeft, second < 10 ? undefined : 40 - second, `second ${second}`);
    }
  });

  test('files that differ: half a minute at 150 tokens a second, half a minute at 50, by turns; no step of a second moves it by more than 10', () => {
    const left = new TimeLeft();
    const total = 60_000;
    // 100 a second on the whole: 600 s.
    let done = 0;
    let before: number | undefined;
    for (let second = 0; second < 600; second++) {
      const { secondsLeft } = left.after(at(done, total), 1000 * second);
      if (secondsLeft !== undefined) {
        if (before !== undefined) assert.ok(Math.abs(secondsLeft - (before - 1)) <= 10, `second ${second}`);
        before = secondsLeft;
      }
      done += second % 60 < 30 ? 150 : 50;
    }
  });

  test('a total that doubles is followed over some seconds: a fifteenth of the difference in the first', () => {
    const left = new TimeLeft();
    for (let second = 0; second <= 20; second++) left.after(at(100 * second, 10_000), 1000 * second);
    // 80 s were left; 179 s are now. 79 + 100 · (1 - exp(-1/15)) = 85.4.
    assert.equal(left.after(at(2100, 20_000), 21_000).secondsLeft, 85);
    for (let second = 22; second <= 120; second++) left.after(at(100 * second, 20_000), 1000 * second);
    assert.equal(left.after(at(12_100, 20_000), 121_000).secondsLeft, 79, 'exp(-100/15) of it is left after 100 s');
  });

  test('whatever is reported: never negative, never before ten seconds, 0 when all is done', () => {
    const reports = fc.array(fc.record({ ms: fc.nat(20_000), more: fc.nat(5000), total: fc.option(fc.nat(100_000)) }));
    fc.assert(
      fc.property(reports, steps => {
        const left = new TimeLeft();
        let [now, done] = [0, 0];
        for (const { ms, more, total } of steps) {
          now += ms;
          done += more;
          const { elapsedMs, secondsLeft, fraction } = left.after(at(done, total ?? undefined), now);
          assert.ok(secondsLeft === undefined || (secondsLeft >= 0 && elapsedMs >= 10_000));
          assert.ok(fraction === undefined || fraction <= 1);
          if (secondsLeft !== undefined && done >= total!) assert.equal(secondsLeft, 0);
        }
      }),
    );
  });

  test('another task begins anew; so does work that goes back; no total: nothing', () => {
    const left = new TimeLeft();
    left.after(at(0, 100), 0);
    assert.equal(left.after(at(50, 100), 10_000).secondsLeft, 10);
    assert.deepEqual(left.after(at(10, 20, 'Composing'), 10_001), { elapsedMs: 0, fraction: 0.5 });
    assert.deepEqual(left.after(at(15, 20, 'Composing'), 20_001), {
      elapsedMs: 10_000,
      fraction: 0.75,
      secondsLeft: 10,
    });
    assert.deepEqual(left.after(at(5, 20, 'Composing'), 30_000), { elapsedMs: 0, fraction: 0.25 });
    assert.deepEqual(left.after(at(6, undefined, 'Composing'), 50_000), { elapsedMs: 20_000 });
  });
});
