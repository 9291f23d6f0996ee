/** A file that is read in parts: what is kept of it, what is read again, and that recall finds its lines. */
import assert from 'node:assert/strict';
import type { LongviewError } from '../../src/base/index.js';
import { partsOfText } from '../../src/memory/parts.js';
import { DEFAULT_SETTINGS } from '../../src/memory/settings.js';
import { fileMemoryKey, keysOf, partsOf } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';
import { hashOf, randomNumbers } from './store-samples.js';

/** About 400 kB; every line has long words of its own, so that there are few of them. */
function longText(lines = 6000): string[] {
  const random = randomNumbers(3);
  const word = (): string => Array.from({ length: 6 }, () => Math.floor(random() * 2e9).toString(36)).join('');
  return Array.from({ length: lines }, (_, at) => (at % 9 === 8 ? '' : `entry${at} ${word()} ${word()}`));
}

const limits = DEFAULT_SETTINGS.parts;

suite('a long file', function () {
  this.timeout(30_000);
  const lines = longText();
  const text = lines.join('\n');
  const cuts = partsOfText(text, limits);
  let folder: Folder;
  let engine: FakeEngine;
  setup(async () => {
    folder = await Folder.of({ 'a.txt': 'A short file.\n', 'long.txt': text });
    engine = new FakeEngine();
  });
  teardown(() => folder.dispose());

  test('is kept in parts under the hashes of their texts, with one gist of all', async () => {
    const memory = await folder.memory(engine);
    const report = await memory.refresh();
    assert.ok(cuts.length >= 3, `${cuts.length} parts`);
    assert.equal(engine.reads.filter(path => path === 'long.txt').length, cuts.length);
    const store = await folder.store();
    const row = store.ledger.get('long.txt')!;
    const settings = { model: 'fake-1', settings: 'recall=4', path: 'long.txt' };
    assert.deepEqual(
      partsOf(row).map(({ key, firstLine }) => [key, firstLine]),
      cuts.map(({ start, end, firstLine }) => [
        fileMemoryKey({ ...settings, contentHash: hashOf(text.slice(start, end)) }),
        firstLine,
      ]),
    );
    assert.equal(row.contentHash, hashOf(text));
    const gist = store.getMemory(row.gist!);
    assert.ok(gist?.ok && gist.value.recall.slots === 0);
    assert.deepEqual(memory.gist('long.txt'), gist.value.gist);
    // Its parts have clamp(sqrt(T)/2, 2, 256) slots each with the fake engine: together fewer than 256.
    const ofParts = partsOf(row).map(({ key }) => {
      const part = store.getMemory(key);
      return part?.ok ? part.value.gist.slots : NaN;
    });
    assert.equal(
      gist.value.gist.slots,
      Math.min(
        256,
        ofParts.reduce((a, b) => a + b, 0),
      ),
    );
    assert.equal(report.filesRead, 2);
    assert.equal(
      memory.file('long.txt')?.tokens,
      partsOf(row).reduce((sum, part) => sum + part.tokens, 0),
    );
    assert.deepEqual(await memory.states(['long.txt'], { workspace: false }), [`gist:${row.gist}`]);
  });

  test('a file that is not long has the key it always had', async () => {
    await folder.write('a.txt', `${'x'.repeat(79)}\n`.repeat(limits.most / 80));
    const memory = await folder.memory(engine);
    await memory.refresh({ only: path => path === 'a.txt' });
    const row = (await folder.store()).ledger.get('a.txt')!;
    const { contentHash } = row;
    assert.deepEqual(keysOf(row), [
      fileMemoryKey({ model: 'fake-1', settings: 'recall=4', path: 'a.txt', contentHash }),
    ]);
  });

  test('what was read before it was stopped is not read again', async () => {
    const memory = await folder.memory(engine);
    const stop = new AbortController();
    engine.beforeRead = () => {
      if (engine.reads.filter(path => path === 'long.txt').length === 2) stop.abort();
    };
    await assert.rejects(
      memory.refresh({ signal: stop.signal }),
      (error: unknown) => (error as LongviewError).code === 'cancelled',
    );
    const begun = memory.file('long.txt')!;
    assert.equal(begun.state, 'waiting');
    const parts = partsOf((await folder.store()).ledger.get('long.txt')!);
    assert.equal(parts.length, 2);
    assert.equal(begun.tokens, parts[0]!.tokens + parts[1]!.tokens);
    assert.equal(memory.hashOf('long.txt'), undefined);
    const found = await memory.recall('entry12', { limit: 3 });
    assert.deepEqual(
      found.map(({ path }) => path),
      ['a.txt'],
    );
    assert.equal((await memory.scan()).waiting, 1, 'a scan leaves it as it is');
    assert.equal(memory.file('long.txt')?.tokens, begun.tokens);

    engine.reads.length = 0;
    const seen: number[] = [];
    await memory.refresh({
      onProgress: ({ task, done }) => {
        if (task === 'Reading') seen.push(done);
      },
    });
    assert.equal(engine.reads.length, cuts.length - 2);
    assert.equal(memory.file('long.txt')?.state, 'read');
    assert.ok(
      seen.some(done => done > begun.tokens),
      'progress goes on where it was',
    );
  });

  test('after an edit only the parts around it are read; after an append the last one', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    const before = new Set(partsOf((await folder.store()).ledger.get('long.txt')!).map(part => part.key));
    const edited = [...lines.slice(0, 2999), 'an edited line', ...lines.slice(3000)].join('\n');
    const changed = partsOfText(edited, limits).filter(({ start, end }) => !text.includes(edited.slice(start, end)));
    engine.reads.length = 0;
    await folder.write('long.txt', edited);
    await memory.refresh();
    assert.equal(engine.reads.length, changed.length);
    assert.ok(changed.length < cuts.length);
    const row = (await folder.store()).ledger.get('long.txt')!;
    assert.equal(partsOf(row).filter(part => before.has(part.key)).length, partsOf(row).length - changed.length);

    engine.reads.length = 0;
    await folder.write('long.txt', `${edited}\nappended`);
    await memory.refresh();
    assert.deepEqual(engine.reads, ['long.txt']);
    const [found] = await memory.recall('appended', { limit: 1 });
    assert.ok(found?.text.includes('appended') && found.endLine === lines.length + 1);
  });

  test('recall finds a line in every tenth of it, with the lines of the file', async () => {
    const memory = await folder.memory(engine, { lexicalWeight: 0.5 });
    await memory.refresh();
    for (let tenth = 0; tenth < 10; tenth++) {
      const at = Math.floor(((tenth + 0.5) * lines.length) / 10) + (tenth % 9 === 8 ? 1 : 0);
      const words = lines[at]!.split(' ').slice(1).join(' ');
      const [found] = await memory.recall(words, { limit: 3 });
      assert.ok(found && found.startLine <= at + 1 && found.endLine >= at + 1, `line ${at + 1}: ${found?.startLine}`);
      assert.equal(found.text, lines.slice(found.startLine - 1, found.endLine).join('\n'));
    }
    // Three places of each stretch at most, so more than three of a long file.
    assert.equal((await memory.recall('entry', { limit: 5 })).length, 5);
  });

  test('the same text twice in a file is read once and found in both places', async () => {
    const block = `${lines.slice(0, 2500).join('\n')}\n`.slice(0, limits.most - 1);
    // Lines without a break, so that each part ends inside a line, at its most.
    const line = 'y'.repeat(limits.most);
    await folder.write('long.txt', `${line}${line}\n${block}`);
    const memory = await folder.memory(engine);
    await memory.refresh();
    const keys = partsOf((await folder.store()).ledger.get('long.txt')!).map(part => part.key);
    assert.equal(keys[0], keys[1]);
    assert.equal(new Set(keys).size, keys.length - 1);
    assert.equal(engine.reads.filter(path => path === 'long.txt').length, keys.length - 1);
    const [found] = await memory.recall(lines[40]!.split(' ').slice(1).join(' '), { limit: 1 });
    assert.ok(found && found.startLine <= 42 && found.endLine >= 42);
  });

  test('a damaged part is read again, alone; a lost gist is composed again', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    const store = await folder.store();
    const row = store.ledger.get('long.txt')!;
    await store.deleteMemory(partsOf(row)[1]!.key);
    engine.reads.length = 0;
    await memory.refresh();
    assert.deepEqual(engine.reads, ['long.txt']);
    await store.deleteMemory(row.gist!);
    await memory.refresh();
    assert.deepEqual(engine.reads, ['long.txt']);
    assert.equal(store.getMemory(row.gist!)?.ok, true);
    assert.deepEqual({ ...store.ledger.get('long.txt'), readAt: 0 }, { ...row, readAt: 0 });
  });

  test('another model waits for it, and finds its own parts when it comes back', async () => {
    await (await folder.memory(engine)).refresh();
    const other = new FakeEngine('fake-2');
    const memory = await folder.memory(other);
    await memory.refresh();
    assert.equal(other.reads.filter(path => path === 'long.txt').length, cuts.length);
    const back = await folder.memory(engine);
    assert.equal(back.file('long.txt')?.state, 'read');
    engine.reads.length = 0;
    await back.refresh();
    assert.deepEqual(engine.reads, []);
  });

  test('nothing of it is left after it was forgotten', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    await memory.forget('long.txt');
    const store = await folder.store();
    assert.deepEqual(new Set(store.listKeys().map(({ path }) => path)), new Set(['a.txt']));
    assert.deepEqual(await memory.recall('entry77', { limit: 3 }).then(found => found.map(({ path }) => path)), [
      'a.txt',
    ]);
  });
});
