/** Gists for the files that are read first, up to so many tokens; the others are read for recall alone. A fake engine. */
import assert from 'node:assert/strict';
import type { MemorySettings } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const words = (name: string): string => Array.from({ length: 40 }, (_, i) => `${name}${i}`).join(' ');
/** Read in the order of their paths, 41 tokens each: one for the prefix. */
const files = { 'a.txt': words('apple'), 'b.txt': words('birch'), 'c.txt': words('cedar'), 'd.txt': words('daisy') };

suite('gists of a workspace', () => {
  let folder: Folder;
  let engine: FakeEngine;
  let asked: Map<string, number | undefined>;
  setup(async () => {
    folder = await Folder.of(files);
    engine = new FakeEngine();
    Object.assign(engine.model, { lowerLayers: 1 });
    asked = new Map();
    const read = engine.read.bind(engine);
    engine.read = (request, options) => {
      asked.set(request.label, request.gistSlots);
      return read(request, options);
    };
  });
  teardown(() => folder.dispose());
  const opened = async (settings: Partial<MemorySettings>) => {
    const memory = await folder.memory(engine, settings);
    await memory.refresh();
    return memory;
  };
  const withGist = (): string[] => [...asked].flatMap(([path, slots]) => (slots === undefined ? [path] : [])).sort();

  test('as long as there is room; the state is made of those, recall finds all', async () => {
    const memory = await opened({ stateTokens: 60 });
    assert.deepEqual([withGist(), asked.get('d.txt')], [['a.txt', 'b.txt'], 0]);
    assert.equal(engine.compositions.at(-1)!.length, 2);
    assert.equal(memory.coverage().read, 4);
    for (const [path, text] of Object.entries(files))
      assert.equal((await memory.recall(text.slice(0, 40), { limit: 1 }))[0]?.path, path);
    assert.ok((await memory.states(['d.txt', 'a.txt'])).length > 0);
    assert.equal(memory.gist('d.txt'), undefined);
  });

  test('a file that had one keeps having one when it changes, one that had none does not get one', async () => {
    const memory = await opened({ stateTokens: 60 });
    asked.clear();
    await folder.write('b.txt', `${files['b.txt']} changed`);
    await folder.write('d.txt', `${files['d.txt']} changed`);
    await memory.refresh();
    assert.deepEqual([withGist(), asked.get('d.txt')], [['b.txt'], 0]);
    const other = await folder.memory(engine, { stateTokens: 60 });
    asked.clear();
    await folder.write('e.txt', words('elder'));
    await other.refresh();
    assert.deepEqual([...asked], [['e.txt', 0]], 'another process knows what has gists');
  });

  test('a file that is read again takes the place of what it was: a new one behind it has room', async () => {
    const memory = await opened({ stateTokens: 200 });
    asked.clear();
    await folder.write('a.txt', `${files['a.txt']} changed`);
    await folder.write('e.txt', words('elderberry'));
    await memory.refresh();
    // Of 200 tokens four files had 164, and have 165 with the change: so a fifth file begins within them, the larger one read last.
    assert.deepEqual(withGist(), ['a.txt', 'e.txt']);
  });

  test('all files, where reading without gists is no faster', async () => {
    Object.assign(engine.model, { lowerLayers: undefined });
    await opened({ stateTokens: 60 });
    assert.deepEqual(withGist(), Object.keys(files));
  });

  test('none at all: no state, and answers are recalled', async () => {
    const memory = await opened({ stateTokens: 0 });
    assert.deepEqual(withGist(), []);
    assert.equal(engine.compositions.length, 0);
    assert.deepEqual(await memory.states(['a.txt']), []);
    assert.equal((await memory.recall('cedar3 cedar4 cedar5', { limit: 1 }))[0]?.path, 'c.txt');
  });

  test('what was read without stays of use when there is room again, and nothing is read twice', async () => {
    await opened({ stateTokens: 0 });
    const memory = await opened({ stateTokens: 1000 });
    assert.equal(engine.reads.length, 4);
    assert.equal(memory.coverage().read, 4);
  });
});
