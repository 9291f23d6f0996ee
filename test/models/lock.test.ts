/** The lock between processes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLock } from '../../src/models/lock.js';

suite('lock', () => {
  let folder: string;
  let path: string;
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-lock-'));
    path = join(folder, 'a.lock');
  });
  teardown(() => rm(folder, { recursive: true, force: true }));

  /** Id of a process that has ended. */
  const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid;

  test('one at a time, the waiter told once whom it waits for, nothing left behind', async () => {
    let inside = 0;
    let most = 0;
    const waited: number[] = [];
    const work = async () => {
      most = Math.max(most, ++inside);
      await sleep(30);
      inside--;
    };
    await Promise.all(
      Array.from({ length: 5 }, () => withLock(path, { poll: 5, onWait: pid => waited.push(pid) }, work)),
    );
    assert.equal(most, 1);
    assert.deepEqual(waited, Array(4).fill(process.pid));
    assert.deepEqual(await readdir(folder), []);
  });

  test('a holder that is gone, or a file that is no lock, is taken over', async () => {
    for (const text of [JSON.stringify({ pid: deadPid(), host: hostname(), id: 'x' }), '', 'garbage', '{"pid":1}']) {
      await writeFile(path, text);
      assert.equal(await withLock(path, { poll: 5 }, () => Promise.resolve('done')), 'done');
    }
    assert.deepEqual(await readdir(folder), []);
  });

  test('many waiters of a dead holder still go one at a time', async () => {
    await writeFile(path, JSON.stringify({ pid: deadPid(), host: hostname(), id: 'x' }));
    let inside = 0;
    await Promise.all(
      Array.from({ length: 8 }, () =>
        withLock(path, { poll: 5 }, async () => {
          assert.equal(++inside, 1);
          await sleep(10);
          inside--;
        }),
      ),
    );
    assert.deepEqual(await readdir(folder), []);
  });

  test('a holder on another machine is waited for; waiting can be cancelled', async () => {
    const text = JSON.stringify({ pid: deadPid(), host: `not-${hostname()}`, id: 'x' });
    await writeFile(path, text);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(
      withLock(path, { poll: 5, signal: stop.signal }, () => Promise.resolve()),
      { code: 'cancelled' },
    );
    assert.equal(await readFile(path, 'utf8'), text);
  });

  test('it is given back where the work fails', async () => {
    await assert.rejects(
      withLock(path, {}, () => Promise.reject(new Error('no'))),
      /no/,
    );
    assert.deepEqual(await readdir(folder), []);
  });
});
