/** Shares of a folder for several machines: each file in one, of about the same size, and together what one machine reads. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { loadState } from '../../src/memory/kept-state.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { pathsOfShard } from '../../src/memory/shards.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const someFiles = fc.uniqueArray(fc.record({ path: fc.string({ minLength: 1 }), size: fc.nat(1_000_000) }), {
  selector: file => file.path,
  maxLength: 60,
});

suite('shards', function () {
  this.timeout(60_000);
  const folders: Folder[] = [];
  const folderOf = async (files: Record<string, string>): Promise<Folder> => {
    const folder = await Folder.of(files);
    folders.push(folder);
    return folder;
  };
  teardown(async () => {
    for (const folder of folders.splice(0)) await folder.dispose();
  });
  const fileIn = (folder: Folder): string => join(dirname(folder.root), 'x');
  const exported = async (memory: WorkspaceMemory, folder: Folder): Promise<Buffer> => {
    await memory.exportTo(fileIn(folder), { replace: true });
    return readFile(fileIn(folder));
  };

  test('each file is in exactly one shard, whatever order the files come in', () => {
    fc.assert(
      fc.property(someFiles, fc.integer({ min: 1, max: 9 }), (files, count) => {
        const all = Array.from({ length: count }, (_, at) => pathsOfShard(files, { index: at + 1, count }));
        assert.deepEqual(all.flatMap(paths => [...paths]).sort(), files.map(file => file.path).sort());
        all.forEach((paths, at) =>
          assert.deepEqual(pathsOfShard([...files].reverse(), { index: at + 1, count }), paths),
        );
      }),
      { seed: 11 },
    );
  });

  test('no shard has more than the least one and the largest file together', () => {
    // The last file that a shard got went to it when it had the least.
    fc.assert(
      fc.property(someFiles, fc.integer({ min: 1, max: 9 }), (files, count) => {
        const bytes = Array.from({ length: count }, (_, at) => {
          const paths = pathsOfShard(files, { index: at + 1, count });
          return files.reduce((sum, file) => sum + (paths.has(file.path) ? file.size : 0), 0);
        });
        assert.ok(Math.max(...bytes) <= Math.min(...bytes) + Math.max(0, ...files.map(file => file.size)));
      }),
      { seed: 12 },
    );
  });

  test('all machines agree, whatever they knew before; their imports give what one machine reads', async () => {
    const given = {
      ...Object.fromEntries(
        Array.from({ length: 60 }, (_, at) => [`src/${at % 7}/f${at}.ts`, `word${at} of ${at}\n`.repeat(1 + (at % 5))]),
      ),
      'long.txt': 'a long line of words\n'.repeat(400),
      '.env': 'SECRET=1\n',
    };
    const single = await folderOf(given);
    const whole = await single.memory(new FakeEngine());
    await whole.refresh();
    const expected = await exported(whole, single);

    assert.equal((await loadState(await single.store()))?.ok, true);

    const exports: string[] = [];
    const read: string[] = [];
    const tokens: number[] = [];
    for (const index of [1, 2, 3]) {
      const machine = await folderOf(given);
      const engine = new FakeEngine();
      const memory = await machine.memory(engine);
      // The second knows some files from before: its share must not depend on that.
      if (index === 2) await memory.refresh({ only: path => path.startsWith('src/3') });
      engine.reads.length = 0;
      const mine = await memory.shard({ index, count: 3 });
      const report = await memory.refresh({ only: path => mine.has(path) });
      assert.ok(engine.reads.every(path => mine.has(path)));
      read.push(...mine);
      tokens.push(report.tokensRead);
      if (index !== 2) assert.equal((await memory.exportTo(fileIn(machine))).files, mine.size);
      else await memory.exportTo(fileIn(machine));
      exports.push(fileIn(machine));
    }
    assert.deepEqual(read.sort(), [...Object.keys(given)].filter(path => path !== '.env').sort());

    for (const order of [exports, [...exports].reverse()]) {
      const machine = await folderOf(given);
      const engine = new FakeEngine();
      const memory = await machine.memory(engine);
      await memory.importFrom(order);
      assert.deepEqual(await exported(memory, machine), expected);
      assert.equal((await memory.refresh()).filesRead, 0);
      assert.deepEqual(await loadState(await machine.store()), await loadState(await single.store()));
    }
  });
});
