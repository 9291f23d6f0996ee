/** A memory whose folder may not be written: it answers from what was read before, and says in one line what it cannot do. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore, storeFolder } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const CHILD = fileURLToPath(new URL('./read-only-child.js', import.meta.url));
/** The user "nobody" of most systems; only root can become it, and root may write everywhere. */
const NOBODY = 65534;

/** Root's own folders may be closed to others. */
function othersMayRun(): Promise<boolean> {
  if (process.getuid?.() !== 0) return Promise.resolve(true);
  const look = `require('fs').readFileSync(${JSON.stringify(CHILD)})`;
  return new Promise(done => {
    execFile(process.execPath, ['-e', look], { uid: NOBODY, gid: NOBODY, cwd: '/' }, error => done(error === null));
  });
}

suite('read-only memory', () => {
  let folder: Folder;
  let store: string;
  suiteSetup(async function () {
    if (process.platform === 'win32' || !(await othersMayRun())) this.skip();
  });
  setup(async () => {
    folder = await Folder.of({ 'a.md': 'The lantern hangs\nby the door.\n', 'b.md': 'The well is deep.\n' });
    store = storeFolder(folder.data, folder.root);
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    await memory.dispose();
    for (const path of [dirname(folder.root), folder.data, dirname(store)]) await chmod(path, 0o755);
    for (const name of await readdir(store)) await chmod(join(store, name), 0o444);
    await chmod(store, 0o555);
  });
  teardown(async () => {
    await chmod(store, 0o755);
    await folder.dispose();
  });

  const asAnother = (): Promise<Record<string, unknown>> => {
    const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    return new Promise((done, fail) => {
      execFile(process.execPath, [CHILD, folder.root, folder.data], { ...user }, (error, out, err) => {
        if (error) fail(new Error(err));
        else done(JSON.parse(out) as Record<string, unknown>);
      });
    });
  };

  test('answers use what was read; reading and forgetting fail in one line', async () => {
    const before = await readFile(join(store, 'data.mdb'));
    const reason = 'this user may not write there';
    const failure = [
      'permission',
      `The memory in ${store} cannot be written: ${reason}; answers use what was read before.`,
    ];
    const remedy = `${store} may not be written. Allow it and try again, or delete all memory of this folder, with no Longview running: rm -r '${store}'`;
    const coverage = { total: 2, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 0 };
    assert.deepEqual(await asAnother(), {
      readOnly: reason,
      scanned: coverage,
      coverage,
      recalled: [['a.md', 1]],
      states: ['workspace', 'gist'],
      read: failure,
      forget: ['permission', `a.md was not forgotten: ${remedy}`],
      forgetAll: ['permission', `The folder was not forgotten: ${remedy}`],
      mark: 'not kept',
    });
    assert.deepEqual(await readdir(store), ['data.mdb', 'lock.mdb']);
    assert.ok(before.equals(await readFile(join(store, 'data.mdb'))));
  }).timeout(20_000);

  test('a file that changed since is left out, though that cannot be noted', async () => {
    await folder.write('a.md', 'The lantern fell\ndown the well.\n');
    const { recalled, coverage } = await asAnother();
    assert.deepEqual(recalled, [['b.md', 1]]);
    assert.equal((coverage as { read: number }).read, 2);
  }).timeout(20_000);

  test('a damaged store that cannot be repaired says so', async () => {
    const data = join(store, 'data.mdb');
    await chmod(data, 0o644);
    const bytes = await readFile(data);
    bytes.fill(0, 4096, 8192);
    await writeFile(data, bytes);
    await chmod(data, 0o444);
    await assert.rejects(
      asAnother(),
      /is damaged \(no meta page\) and cannot be repaired where it cannot be written\./,
    );
    // Where it can be written, it is repaired.
    await chmod(store, 0o755);
    await chmod(data, 0o644);
    const repaired = await openStore(store, { workspace: folder.root });
    assert.equal(repaired.ledger.all().length, 2);
    await repaired.dispose();
  }).timeout(20_000);
});
