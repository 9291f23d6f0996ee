/** Two models that read one folder, one with gists and one without: each finds what it kept itself, before it reads again. */
import assert from 'node:assert/strict';
import type { MemorySettings, WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const WITH = { stateTokens: 1_000_000 };
const WITHOUT = { stateTokens: 0 };
const files = {
  'a.txt': 'apple amber\n',
  'b.txt': 'birch bronze\n',
  // Of several parts with the limits below.
  'long.txt': Array.from({ length: 400 }, (_, at) => `line${at} of the longer one`).join('\n'),
};

suite('two models in one folder', () => {
  let folder: Folder;
  let own: FakeEngine;
  setup(async () => {
    folder = await Folder.of(files);
    own = new FakeEngine('own');
  });
  teardown(() => folder.dispose());

  const opened = (engine: FakeEngine, settings: Partial<MemorySettings>): Promise<WorkspaceMemory> =>
    folder.memory(engine, { parts: { least: 2000, most: 4000 }, ...settings });
  /** The memory of `own` as it is opened after it and then another model read the folder. */
  async function afterBoth(first: Partial<MemorySettings>, other: Partial<MemorySettings>): Promise<WorkspaceMemory> {
    await (await opened(own, first)).refresh();
    await (await opened(new FakeEngine('other'), other)).refresh();
    own.reads.length = own.compositions.length = own.patches.length = 0;
    return opened(own, WITH);
  }
  const isAllRead = (memory: WorkspaceMemory): void =>
    assert.deepEqual(
      memory.files().map(({ path, state }) => [path, state]),
      Object.keys(files).map(path => [path, 'read']),
    );

  test('gists are found that the other has none of', async () => {
    const memory = await afterBoth(WITH, WITHOUT);
    isAllRead(memory);
    for (const path of Object.keys(files)) assert.ok(memory.gist(path), path);
    assert.equal((await memory.states(['long.txt'])).length, 2, 'the state of the folder and that of the file');
    isAllRead(memory);
    await memory.refresh();
    assert.deepEqual(own.reads, []);
    assert.deepEqual(own.compositions[0], own.compositions.at(-1), 'before it the state is made of the same gists');
  });

  test('no gists are taken for there that the other has', async () => {
    const memory = await afterBoth(WITHOUT, WITH);
    isAllRead(memory);
    for (const path of Object.keys(files)) assert.equal(memory.gist(path), undefined, path);
    assert.deepEqual(await memory.states(['long.txt']), []);
    assert.deepEqual([own.compositions.length, own.patches.length], [0, 0]);
    assert.equal((await memory.recall('line7 of the longer one', { limit: 1 }))[0]?.path, 'long.txt');
    isAllRead(memory);
    await memory.refresh();
    assert.deepEqual(own.reads, []);
  });
});
