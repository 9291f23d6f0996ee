/** Time left: from the speed since the task began, and nothing before that is known. */
import assert from 'node:assert/strict';
import { TimeLeft } from '../../src/extension/time-left.js';

suite('time left', () => {
  const at = (done: number, total?: number, task = 'Reading') => ({
    id: '1',
    task,
    done,
    total,
    unit: 'tokens' as const,
  });

  test('1,000 tokens in 10 s, 3,000 to go: 30 s', () => {
    const left = new TimeLeft();
    assert.deepEqual(left.after(at(0, 4000), 1000), { fraction: 0 });
    assert.deepEqual(left.after(at(100, 4000), 2000), { fraction: 0.025 }, 'one second says nothing yet');
    assert.deepEqual(left.after(at(1000, 4000), 11_000), { fraction: 0.25, secondsLeft: 30 });
  });

  test('another task begins anew; so does work that jumps back', () => {
    const left = new TimeLeft();
    left.after(at(0, 100), 0);
    left.after(at(50, 100), 10_000);
    assert.deepEqual(left.after(at(10, 20, 'Composing'), 10_001), { fraction: 0.5 });
    left.after(at(15, 20, 'Composing'), 20_000);
    assert.deepEqual(left.after(at(5, 20, 'Composing'), 30_000), { fraction: 0.25 });
  });

  test('no total: nothing; a total that was too small: never over 1', () => {
    assert.deepEqual(new TimeLeft().after(at(10), 0), {});
    assert.deepEqual(new TimeLeft().after(at(10, 5), 0), { fraction: 1 });
  });
});
