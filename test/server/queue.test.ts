/** The queue of the server: two lanes, one at a time in each, cancelled work never starts. */
import assert from 'node:assert/strict';
import { LongviewError } from '../../src/base/index.js';
import { WorkQueue, type Priority } from '../../src/server/queue.js';

suite('work queue', () => {
  /** Runs tasks that end only when the test says so, and notes their order. */
  function bench(): {
    queue: WorkQueue;
    order: string[];
    add: (name: string, priority: Priority, signal?: AbortSignal) => Promise<string>;
    finish: (name: string) => Promise<void>;
  } {
    const queue = new WorkQueue();
    const order: string[] = [];
    const ends = new Map<string, () => void>();
    return {
      queue,
      order,
      add: (name, priority, signal = new AbortController().signal) =>
        queue.run(name, priority, signal, async () => {
          order.push(name);
          await new Promise<void>(done => ends.set(name, done));
          return name;
        }),
      finish: async name => {
        ends.get(name)!();
        await new Promise(done => setImmediate(done));
      },
    };
  }

  test('one at a time in each lane; the user’s work starts beside background work', async () => {
    const { queue, order, add, finish } = bench();
    const results = [add('read a', 'background'), add('read b', 'background'), add('ask', 'user'), add('sum', 'user')];
    assert.deepEqual(order, ['read a', 'ask']);
    assert.equal(queue.current, 'ask');
    assert.equal(queue.waiting, 2);
    await finish('ask');
    await finish('read a');
    assert.deepEqual(order, ['read a', 'ask', 'sum', 'read b']);
    await finish('sum');
    assert.equal(queue.current, 'read b');
    await finish('read b');
    assert.deepEqual(await Promise.all(results), ['read a', 'read b', 'ask', 'sum']);
    assert.equal(queue.current, undefined);
    assert.equal(queue.waiting, 0);
  });

  test('interrupting the background aborts what runs and what waits there, nothing else', async () => {
    const queue = new WorkQueue();
    const { signal } = new AbortController();
    const untilAborted = (own: AbortSignal): Promise<never> =>
      new Promise((_, reject) =>
        own.addEventListener('abort', () => reject(new LongviewError('cancelled', 'Cancelled.'))),
      );
    const reading = queue.run('read', 'background', signal, untilAborted);
    const waiting = queue.run('more', 'background', signal, untilAborted);
    let asked = false;
    const asking = queue.run('ask', 'user', signal, async own => {
      await new Promise(done => setImmediate(done));
      asked = !own.aborted;
    });
    queue.interruptBackground();
    await assert.rejects(reading, { code: 'cancelled' });
    await assert.rejects(waiting, { code: 'cancelled' });
    await asking;
    assert(asked);
    assert.equal(await queue.run('read again', 'background', signal, () => Promise.resolve(1)), 1);
  });

  test('cancelled while waiting: rejects at once and never starts', async () => {
    const { order, add, finish } = bench();
    const first = add('first', 'user');
    const controller = new AbortController();
    const second = add('second', 'user', controller.signal);
    controller.abort();
    await assert.rejects(second, { code: 'cancelled' });
    await finish('first');
    await first;
    assert.deepEqual(order, ['first']);
  });

  test('a failing task rejects its own caller only', async () => {
    const queue = new WorkQueue();
    const { signal } = new AbortController();
    const failing = queue.run('bad', 'user', signal, () => Promise.reject(new Error('broken')));
    const next = queue.run('good', 'user', signal, () => Promise.resolve(7));
    await assert.rejects(failing, /broken/);
    assert.equal(await next, 7);
  });

  test('aborted before it is queued', async () => {
    const { order, add } = bench();
    await assert.rejects(add('late', 'user', AbortSignal.abort()), { code: 'cancelled' });
    assert.deepEqual(order, []);
  });
});
