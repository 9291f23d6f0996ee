/** Export and import of a workspace's memory: what comes back, what is read again, what is refused. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LongviewError, type Progress } from '../../src/base/index.js';
import { loadState } from '../../src/memory/kept-state.js';
import { openWorkspaceMemory, type WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const files = {
  'a.py': 'def send_request(url):\n    return connect(url).send()\n\n\ndef close():\n    pass\n',
  'b.py': 'class Retry:\n    def wait(self):\n        sleep(self.backoff)\n',
  'docs/guide.md': '# Guide\n\nHow to install the package.\n',
  'docs/größe.md': '# Maße\n\nWie groß es ist.\n',
};

/** `count` files of some words each. */
function manyFiles(count: number): Record<string, string> {
  const text = (at: number): string => `line one of ${at}\nword${at * 7} other${at}\n`.repeat(1 + (at % 5));
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`src/${at % 7}/f${at}.ts`, text(at)]));
}

suite('portable memory', function () {
  this.timeout(30_000);
  const folders: Folder[] = [];
  const folderOf = async (given: Record<string, string>): Promise<Folder> => {
    const folder = await Folder.of(given);
    folders.push(folder);
    return folder;
  };
  teardown(async () => {
    for (const folder of folders.splice(0)) await folder.dispose();
  });
  /** A place for an export that is no part of the folder that is read. */
  const fileIn = (folder: Folder, name = 'x.longview-memory'): string => join(dirname(folder.root), name);

  const exported = async (memory: WorkspaceMemory, folder: Folder, name?: string): Promise<Buffer> => {
    await memory.exportTo(fileIn(folder, name), { replace: true });
    return readFile(fileIn(folder, name));
  };
  const refusal = async (work: Promise<unknown>): Promise<[string, string]> => {
    const error = await work.then(
      () => assert.fail('was not refused'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof LongviewError, String(error));
    assert.equal(error.message.split('\n').length, 1);
    return [error.code, error.message];
  };

  test('read, exported, imported on another path: nothing is read there, and the same export comes out', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const report = await memory.exportTo(fileIn(here));
    const bytes = await readFile(fileIn(here));
    const tokens = memory.status().tokens;
    assert.deepEqual(report, { files: 4, tokens, bytes: bytes.length, leftOut: 0 });

    const there = await folderOf(files);
    const engine = new FakeEngine();
    const other = await there.memory(engine);
    const imported = await other.importFrom([fileIn(here)]);
    const coverage = { total: 4, read: 4, stale: 0, waiting: 0, coarse: 0, skipped: 0 };
    assert.deepEqual(imported, { files: 4, added: 4, known: 0, coverage });
    assert.deepEqual((await other.importFrom([fileIn(here)])).known, 4, 'a second time changes nothing');
    const read = await other.refresh();
    assert.deepEqual([read.filesRead, read.tokensRead, engine.reads], [0, 0, []]);
    assert.deepEqual(await exported(other, there), bytes);
    assert.equal((await other.recall('backoff retry', { limit: 1 }))[0]?.path, 'b.py');
    // The state is composed there, and is the same.
    const stateOf = async (folder: Folder): Promise<unknown> => loadState(await folder.store());
    assert.equal((await loadState(await here.store()))?.ok, true);
    assert.deepEqual(await stateOf(there), await stateOf(here));
  });

  test('5 % of the files changed: exactly those are read', async () => {
    const given = manyFiles(100);
    const here = await folderOf(given);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    await memory.exportTo(fileIn(here));

    const changed = ['src/0/f7.ts', 'src/1/f8.ts', 'src/2/f9.ts', 'src/3/f10.ts', 'src/4/f11.ts'];
    const there = await folderOf({ ...given, ...Object.fromEntries(changed.map(path => [path, 'two words\n'])) });
    const engine = new FakeEngine();
    const other = await there.memory(engine);
    const { coverage } = await other.importFrom([fileIn(here)]);
    assert.deepEqual([coverage.read, coverage.waiting], [95, 5]);
    const report = await other.refresh();
    // A token is a word, and one is the prefix.
    assert.deepEqual([report.filesRead, report.tokensRead], [5, 5 * 3]);
    assert.deepEqual([...engine.reads].sort(), [...changed].sort());
  });

  test('an export is a function of what is remembered: not of time, path, order of reading or what was there before', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const there = await folderOf({ 'gone.py': 'left = 2\n', ...files, 'a.py': 'x = 1\n' });
    const other = await there.memory(new FakeEngine());
    await other.refresh({ first: ['docs/guide.md'] });
    await there.remove('gone.py');
    await there.write('a.py', files['a.py']);
    await other.refresh();
    assert.deepEqual(await exported(other, there), await exported(memory, here));
  });

  test('no text of any file is in it, nor where the folder lies', async () => {
    const here = await folderOf({ 'a.py': 'UNMISTAKABLE = "needleword"\n' });
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const bytes = await exported(memory, here);
    for (const text of ['UNMISTAKABLE', 'needleword', here.root, dirname(here.root)]) {
      assert.equal(bytes.includes(text), false, text);
    }
    assert.equal(bytes.includes('a.py'), true);
  });

  test('an export never takes the place of a file unless it shall, and leaves nothing beside it', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    await writeFile(fileIn(here), 'mine');
    const [code, message] = await refusal(memory.exportTo(fileIn(here)));
    assert.deepEqual([code, /is there already/.test(message)], ['usage', true]);
    assert.equal(await readFile(fileIn(here), 'utf8'), 'mine');
    await memory.exportTo(fileIn(here), { replace: true });
    assert.ok((await stat(fileIn(here))).size > 1000);
    const link = join(here.root, 'link');
    await symlink(join(here.root, 'not there'), link);
    for (const odd of [link, here.root]) {
      const [why, words] = await refusal(memory.exportTo(odd, { replace: true }));
      assert.deepEqual([why, /no regular file/.test(words)], ['usage', true]);
    }
    assert.ok((await lstat(link)).isSymbolicLink());
    await rm(link);
    const [missing] = await refusal(memory.exportTo(join(here.root, 'nowhere', 'x')));
    assert.equal(missing, 'not-found');
    // What takes no files says so in its own ways: /proc that nothing is there, /sys that it is not permitted.
    for (const folder of ['/proc', '/sys'].filter(it => existsSync(`${it}/kernel`) || existsSync(`${it}/self`))) {
      const [, why] = await refusal(memory.exportTo(join(folder, 'x'), { replace: true }));
      assert.match(why, /^Could not write \/(proc|sys)\/x: its folder [a-z, ]+\. Choose another one\.$/);
    }
    assert.deepEqual((await readdir(dirname(here.root))).sort(), ['data', 'work', 'x.longview-memory']);
  });

  test('cancelled while it exports or imports: one kind of error, no file, and it can be done again', async () => {
    const here = await folderOf(manyFiles(30));
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const stopAt = (task: string, at: number): { signal: AbortSignal; onProgress: (progress: Progress) => void } => {
      const stop = new AbortController();
      let seen = 0;
      const onProgress = (progress: Progress): void => {
        if (progress.task === task && ++seen === at) stop.abort();
      };
      return { signal: stop.signal, onProgress };
    };
    assert.equal((await refusal(memory.exportTo(fileIn(here), stopAt('Exporting', 10))))[0], 'cancelled');
    assert.deepEqual((await readdir(dirname(here.root))).sort(), ['data', 'work']);
    const bytes = await exported(memory, here);
    for (const [task, at] of [
      ['Checking', 9],
      ['Importing', 9],
      ['Looking up memories', 9],
    ] as const) {
      const there = await folderOf(manyFiles(30));
      const other = await there.memory(new FakeEngine());
      assert.equal((await refusal(other.importFrom([fileIn(here)], stopAt(task, at))))[0], 'cancelled', task);
      assert.equal((await other.importFrom([fileIn(here)])).coverage.read, 30);
      assert.deepEqual(await exported(other, there), bytes);
    }
  });

  test('stale files go along, as they were read; partly read ones do not', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const bytes = await exported(memory, here);
    await here.write('a.py', 'changed = 1\n');
    await memory.scan();
    assert.equal(memory.coverage().stale, 1);
    assert.deepEqual(await exported(memory, here), bytes);
    const store = await here.store();
    await store.ledger.put({ ...store.ledger.get('b.py')!, state: 'reading' });
    assert.deepEqual(
      { ...(await memory.exportTo(fileIn(here), { replace: true })), bytes: 0, tokens: 0 },
      { files: 3, leftOut: 1, bytes: 0, tokens: 0 },
    );
  });

  test('coarsened memories are left out', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const store = await here.store();
    await store.ledger.put({ ...store.ledger.get('b.py')!, state: 'coarse' });
    const { files: left, leftOut } = await memory.exportTo(fileIn(here));
    assert.deepEqual([left, leftOut], [3, 1]);
  });

  test('a long file, read in parts: its parts and the gist of the whole go along, and keep their places', async () => {
    const here = await folderOf({
      'long.md': 'one two\n\nthree four\n',
      'part one': 'one two\n\n',
      'part two': 'three four\n',
    });
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const store = await here.store();
    const long = store.ledger.get('long.md')!;
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    // As if the file had been read in two parts: the memory that is there stands for the gist of the whole.
    const parts: { key: string; firstLine: number; tokens: number; slots: number }[] = [];
    const [path, , ...ending] = long.parts![0]!.key.split('.');
    for (const [name, firstLine, text] of [
      ['part one', 1, 'one two\n\n'],
      ['part two', 3, 'three four\n'],
    ] as const) {
      const found = store.getMemory(store.ledger.get(name)!.parts![0]!.key);
      assert.ok(found?.ok);
      const key = [path, sha(text).slice(0, 32), ...ending].join('.');
      await store.putMemory(key, { ...found.value, path: 'long.md' });
      parts.push({ key, firstLine, tokens: found.value.tokens, slots: found.value.recall.slots });
    }
    await store.ledger.put({ ...long, parts, gist: long.parts![0]!.key });
    const { files: left } = await memory.exportTo(fileIn(here));
    assert.equal(left, 3);
    const bytes = await readFile(fileIn(here), 'latin1');
    assert.ok(
      bytes.includes(
        JSON.stringify({
          path: 'long.md',
          contentHash: sha('one two\n\nthree four\n'),
          parts: [
            { firstLine: 1, content: sha('one two\n\n').slice(0, 32) },
            { firstLine: 3, content: sha('three four\n').slice(0, 32) },
          ],
          gist: sha('one two\n\nthree four\n').slice(0, 32),
        }),
      ),
    );
    const there = await folderOf({});
    const other = await there.memory(new FakeEngine());
    assert.deepEqual(
      { ...(await other.importFrom([fileIn(here)])), coverage: 0 },
      { files: 3, added: 5, known: 0, coverage: 0 },
    );
    const theirs = await there.store();
    for (const { key } of parts) assert.deepEqual(theirs.getMemory(key), store.getMemory(key));
  });

  test('a document goes along with what made its text', async () => {
    const notebook = JSON.stringify({ nbformat: 4, cells: [{ cell_type: 'markdown', source: ['# Deep waters'] }] });
    const here = await folderOf({ 'a.ipynb': notebook, 'b.py': 'b = 1\n' });
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const bytes = await exported(memory, here);
    assert.match(bytes.toString('latin1'), /"path":"a\.ipynb","contentHash":"\w+","settings":"recall=4 text=/);
    assert.match(bytes.toString('latin1'), /"path":"b\.py","contentHash":"\w+","parts"/);
    const there = await folderOf({ 'a.ipynb': notebook });
    const engine = new FakeEngine();
    const other = await there.memory(engine);
    assert.equal((await other.importFrom([fileIn(here)])).coverage.read, 1);
    assert.deepEqual([(await other.refresh()).filesRead, engine.reads], [0, []]);
  });

  test('of another model, settings, or without a model: refused, with what is needed', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    await memory.exportTo(fileIn(here));
    const there = await folderOf(files);
    const other = await there.memory(new FakeEngine('fake-2'));
    const [code, message] = await refusal(other.importFrom([fileIn(here)]));
    assert.equal(code, 'unsupported');
    assert.match(message, /^x\.longview-memory was made by the model .* and .* is in use here \(fake-1, not fake-2\)/);
    assert.equal((await there.store()).listKeys().length, 0);

    const wider = await there.memory(new FakeEngine(), { tokensPerRecallSlot: 8 });
    assert.match((await refusal(wider.importFrom([fileIn(here)])))[1], /other settings \("recall=4", not "recall=8"\)/);

    const lazy = await there.memory(() => Promise.reject(new LongviewError('not-found', 'No model is installed.')));
    const [none, what] = await refusal(lazy.importFrom([fileIn(here)]));
    assert.deepEqual([none, /no model is installed here/.test(what)], ['not-found', true]);
    assert.match((await refusal(lazy.exportTo(fileIn(here, 'y'))))[1], /without knowing the model/);
  });

  test('what the installed model is known to make must be what it holds', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    await memory.exportTo(fileIn(here));
    const { root, data } = await folderOf(files);
    const model = { name: 'Fake', fingerprint: 'fake-1', shape: { groups: 3, headSize: 32 } };
    const other = await openWorkspaceMemory({ root, data, engine: new FakeEngine(), model });
    assert.match((await refusal(other.importFrom([fileIn(here)])))[1], /is of another model/);
    await other.dispose();
  });

  test('no file, a folder, an empty file, some other file: refused, nothing is taken', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await writeFile(fileIn(here, 'empty'), '');
    await writeFile(fileIn(here, 'other'), 'PK\u0003\u0004'.padEnd(100, '.'));
    for (const [path, code, pattern] of [
      [fileIn(here, 'none'), 'not-found', /There is no file/],
      [here.root, 'usage', /is no file/],
      [fileIn(here, 'empty'), 'bad-format', /^empty is not used: it ends too early/],
      [fileIn(here, 'other'), 'bad-format', /^other is not used: it is no exported memory/],
    ] as const) {
      const [found, message] = await refusal(memory.importFrom([path]));
      assert.equal(found, code, message);
      assert.match(message, pattern);
    }
  });

  test('of several files one is damaged: nothing of any is taken', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const bytes = await exported(memory, here);
    await writeFile(fileIn(here, 'second'), bytes);
    await truncate(fileIn(here, 'second'), bytes.length - 1);
    const there = await folderOf(files);
    const other = await there.memory(new FakeEngine());
    const [code, message] = await refusal(other.importFrom([fileIn(here), fileIn(here, 'second')]));
    assert.deepEqual([code, message], ['bad-format', 'second is not used: it is cut off. Get or export it again.']);
    assert.deepEqual((await there.store()).listKeys(), []);
  });

  test('a damaged memory in the store: the export says whose, and none is written', async () => {
    const here = await folderOf(files);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const store = await here.store();
    await store.deleteMemory(store.ledger.get('b.py')!.parts![0]!.key);
    const [code, message] = await refusal(memory.exportTo(fileIn(here)));
    assert.deepEqual(
      [code, message],
      ['stale', 'b.py was forgotten meanwhile: read the folder again, then export it.'],
    );
    assert.deepEqual((await readdir(dirname(here.root))).sort(), ['data', 'work']);
  });

  test('two imports at once, beside a reading: the store holds all, and what was read stays', async () => {
    const given = manyFiles(40);
    const here = await folderOf(given);
    const memory = await here.memory(new FakeEngine());
    await memory.refresh();
    const bytes = await exported(memory, here);
    const there = await folderOf({ ...given, 'new.ts': 'some thing new\n' });
    const engine = new FakeEngine();
    const [one, two, reading] = [
      await there.memory(new FakeEngine()),
      await there.memory(new FakeEngine()),
      await there.memory(engine),
    ];
    const tasks: string[] = [];
    let goOn = (): void => undefined;
    const waited = new Promise<void>(resolve => (goOn = resolve));
    engine.beforeRead = () => waited;
    const refreshed = reading.refresh();
    while (!reading.isReading || (await there.store()).ledger.all().length === 0) await new Promise(setImmediate);
    const imports = [one, two].map(other =>
      other.importFrom([fileIn(here)], {
        onProgress: ({ task }) => {
          tasks.push(task);
          if (task === 'Another Longview is reading this folder') goOn();
        },
      }),
    );
    const reports = await Promise.all(imports);
    await refreshed;
    assert.ok(tasks.includes('Another Longview is reading this folder'), 'an import waits for who reads');
    assert.deepEqual(
      reports.map(({ added, known }) => added + known),
      [40, 40],
    );
    await there.remove('new.ts');
    assert.equal((await one.refresh()).filesRead, 0);
    assert.deepEqual(await exported(one, there), bytes);
  });
});
