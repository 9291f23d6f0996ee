/** The lock of the set-up scripts, between real processes: no two at once, and a dead holder's lock is taken over. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const lockModule = pathToFileURL(resolve('scripts/lock.mjs')).toString();

suite('set-up lock', function () {
  this.timeout(30_000);
  let folder: string;
  setup(() => (folder = mkdtempSync(join(tmpdir(), 'longview-lock-'))));
  teardown(() => rmSync(folder, { recursive: true, force: true }));

  /** A process that adds 1 to the file `count` under the lock, slowly; resolves with its exit code. */
  function increment(): Promise<number | null> {
    const program = `
      const { withLock } = await import(${JSON.stringify(lockModule)});
      const { readFileSync, writeFileSync } = await import('node:fs');
      await withLock('lock', async () => {
        const value = Number(readFileSync('count', 'utf8'));
        await new Promise(done => setTimeout(done, 50));
        writeFileSync('count', String(value + 1));
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, stdio: 'inherit' });
    return new Promise(done => child.once('exit', done));
  }

  test('six processes at once, each has its turn', async () => {
    writeFileSync(join(folder, 'count'), '0');
    assert.deepEqual(await Promise.all(Array.from({ length: 6 }, increment)), [0, 0, 0, 0, 0, 0]);
    assert.equal(readFileSync(join(folder, 'count'), 'utf8'), '6');
    assert.deepEqual(readdirSync(folder), ['count'], 'no lock is left');
  });

  test('the lock of a process that has ended is taken over at once', async () => {
    const ended = spawnSync(process.execPath, ['-e', '']).pid;
    writeFileSync(join(folder, 'lock'), `${hostname()} ${ended}`);
    writeFileSync(join(folder, 'count'), '0');
    assert.deepEqual(await Promise.all([increment(), increment(), increment()]), [0, 0, 0]);
    assert.equal(readFileSync(join(folder, 'count'), 'utf8'), '3');
  });

  test('the lock of another machine is taken over when it was not touched for half a minute', async () => {
    writeFileSync(join(folder, 'lock'), 'elsewhere 1');
    const past = new Date(Date.now() - 31_000);
    utimesSync(join(folder, 'lock'), past, past);
    writeFileSync(join(folder, 'count'), '0');
    assert.equal(await increment(), 0);
    assert.equal(readFileSync(join(folder, 'count'), 'utf8'), '1');
  });
});
