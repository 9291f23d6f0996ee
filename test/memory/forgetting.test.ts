/**
 * After a file was forgotten and the store was closed, no run of 8 bytes of what was kept of it is in any file of the store:
 * keys, memory, its places, the patched states it was in, and the path if the file is gone from the disk, too. And forgetting
 * beside another process that reads, and where nothing can be written.
 */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, type ErrorCode } from '../../src/base/index.js';
import { forgetEverything, forgetPath } from '../../src/memory/forgetting.js';
import { keptState, loadState } from '../../src/memory/kept-state.js';
import { statePieces } from '../../src/memory/state-blob.js';
import { encodeFileMemory, placesName, type Store } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';
import { plantedText } from './planted-text.js';

const RUN = 8;
const SECRET = 'private/notes.txt';
const TIGHT = { stateBudget: 30 };

function files(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `f${at}.txt`,
      `word${at} and others ${at * 7} more ${at * 11}\nagain ${at}\n`,
    ]),
  );
}

async function bytesIn(folder: string): Promise<Buffer> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const all = names.filter(entry => entry.isFile()).map(entry => readFile(join(entry.parentPath, entry.name)));
  return Buffer.concat(await Promise.all(all));
}

/** Every run of 8 bytes, but those of few different ones, which anything may have. */
function runsOf(bytes: Uint8Array): Set<string> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const runs = new Set<string>();
  for (let at = 0; at + RUN <= text.length; at++) {
    const run = text.slice(at, at + RUN);
    if (new Set(run).size > 4) runs.add(run);
  }
  return runs;
}

/** All that the store keeps of the file, and the state that holds it. */
async function keptOf(store: Store, path: string): Promise<Buffer[]> {
  const parts: Buffer[] = [Buffer.from(path)];
  for (const { key, path: owner } of store.listKeys()) {
    if (owner !== path) continue;
    const memory = store.getMemory(key);
    const places = store.getBlob(placesName(key, keptState(store)!.sides.places));
    assert(memory?.ok);
    parts.push(Buffer.from(key), Buffer.from(encodeFileMemory(memory.value)));
    if (places?.ok) parts.push(Buffer.from(places.value));
  }
  assert(parts.length > 3, 'a memory and its places are there');
  const state = await loadState(store);
  assert(state?.ok);
  parts.push(...[...statePieces(state.value, 1e6)].map(piece => Buffer.from(piece)));
  return parts;
}

suite('bytes of what was forgotten', function () {
  this.timeout(120_000);

  for (const [engineRuns, isGone] of [
    [true, false],
    [false, false],
    [true, true],
  ])
    test(`forgotten ${engineRuns ? 'while the engine runs' : 'without an engine'}${isGone ? ', the file is gone' : ''}`, async () => {
      const folder = await Folder.of({ ...files(40), [SECRET]: 'nobody shall ever know\nwhat stood here\n' });
      const never = await Folder.of(files(40));
      try {
        const engine = new FakeEngine();
        const memory = await folder.memory(engine, TIGHT);
        await memory.refresh();
        const store = await folder.store();
        const kept = await keptOf(store, SECRET);
        // Another content of it, and a state that was patched twice and not composed since.
        for (const text of ['something else that nobody knows\n', 'and a third thing\n']) {
          await folder.write(SECRET, text);
          await memory.refresh();
          kept.push(...(await keptOf(store, SECRET)));
        }
        assert.equal(memory.status().state.made, 'patched');
        const path = memory.status().store.path;
        const fresh = await never.memory(new FakeEngine(), TIGHT);
        await fresh.refresh();
        const neverPath = fresh.status().store.path;
        await fresh.dispose();
        const harmless = runsOf(await bytesIn(neverPath));
        if (!isGone) for (const run of runsOf(Buffer.from(SECRET))) harmless.add(run);
        const secret = new Set(kept.flatMap(bytes => [...runsOf(bytes)]).filter(run => !harmless.has(run)));
        assert(secret.size > 1000, `${secret.size} runs`);
        const before = runsOf(await bytesIn(path));
        // Pages of what was replaced may have been used again; what is in use is there whole.
        const live = (await keptOf(store, SECRET)).flatMap(bytes => [...runsOf(bytes)]);
        assert(live.filter(run => before.has(run)).length > 0.9 * live.length, 'they were there');
        await store.dispose();
        if (isGone) await folder.remove(SECRET);
        if (engineRuns) {
          await memory.forget(SECRET);
          assert.equal(memory.status().state.made, 'composed');
          await memory.dispose();
        } else {
          await memory.dispose();
          const idle = await folder.memory(() => Promise.reject(new Error('must not start')), TIGHT);
          await idle.forget(SECRET);
          assert.deepEqual(idle.status().state, { slots: 0, bytes: 0 });
          await idle.dispose();
        }
        const after = runsOf(await bytesIn(path));
        assert.deepEqual(
          [...secret].filter(run => after.has(run)),
          [],
        );
        // What is left is the memory of a folder that never held it.
        const again = await folder.memory(engineRuns ? engine : new FakeEngine(), TIGHT);
        if (!isGone) await folder.remove(SECRET);
        await again.refresh();
        const [here, there] = [await folder.store(), await never.store()];
        const never2 = await never.memory(new FakeEngine(), TIGHT);
        await never2.refresh();
        assert.deepEqual(await loadState(here), await loadState(there));
      } finally {
        await folder.dispose();
        await never.dispose();
      }
    });
});

suite('bytes of what was forgotten while another has the store open', function () {
  this.timeout(60_000);

  test('the one that closes last compacts it', async () => {
    const folder = await Folder.of({ ...files(5), [SECRET]: 'nobody shall ever know\nwhat stood here\n' });
    try {
      const [memory, other] = [await folder.memory(new FakeEngine()), await folder.memory(new FakeEngine())];
      await memory.refresh();
      // Once the file is gone no row needs its name, which stands in its memory.
      await folder.remove(SECRET);
      const { path } = memory.status().store;
      const isThere = async (): Promise<boolean> => (await bytesIn(path)).includes(SECRET);
      await memory.forget(SECRET);
      await memory.dispose();
      assert.equal(await isThere(), true);
      await other.dispose();
      assert.equal(await isThere(), false);
    } finally {
      await folder.dispose();
    }
  });
});

suite('forgetting while another reads', function () {
  this.timeout(60_000);
  const folders: Folder[] = [];
  teardown(async () => {
    for (const folder of folders.splice(0)) await folder.dispose();
  });

  /** What is left of a file that `forgets` is called for at each of its readings. */
  const leftAfter = async (
    content: Record<string, string>,
    path: string,
    forgets: (engine: FakeEngine, forget: () => Promise<unknown>) => void,
  ): Promise<{ read: string[]; left: string[]; others: number }> => {
    const folder = await Folder.of(content);
    folders.push(folder);
    const engine = new FakeEngine();
    const reader = await folder.memory(engine, { parts: { least: 4000, most: 9000 } });
    const other = await folder.memory(() => Promise.reject(new Error('must not start')));
    forgets(engine, () => other.forget(path));
    await reader.refresh();
    const store = await folder.store();
    const keys = store.listKeys();
    const rows = store.ledger.all().filter(({ state }) => state !== 'skipped');
    const left = [...rows, ...keys].map(one => one.path).filter(found => found.startsWith(path));
    // It stays forgotten at the next look.
    assert.equal((await reader.scan()).skipped, Object.keys(content).filter(name => name.startsWith(path)).length);
    return { read: engine.reads, left, others: new Set(keys.map(key => key.path)).size };
  };
  const once = (action: () => Promise<unknown>): (() => Promise<void>) => {
    let done = false;
    return async () => {
      if (!done) {
        done = true;
        await action();
      }
    };
  };

  test('a file that is being read is not written', async () => {
    const { read, left, others } = await leftAfter(files(4), 'f2.txt', (engine, forget) => {
      const now = once(forget);
      engine.beforeRead = label => (label === 'f2.txt' ? now() : undefined);
    });
    assert.deepEqual([left, others], [[], 3]);
    assert.equal(read.filter(path => path === 'f2.txt').length, 1);
  });

  test('a file that waits is not read', async () => {
    const { read, left, others } = await leftAfter(files(4), 'f3.txt', (engine, forget) => {
      const now = once(forget);
      engine.beforeRead = label => (label === 'f0.txt' ? now() : undefined);
    });
    assert.deepEqual([left, others, read.includes('f3.txt')], [[], 3, false]);
  });

  test('a folder, and of a long file no part comes back', async () => {
    const content = { ...files(2), 'own/long.txt': plantedText(40_000).text, 'own/short.txt': 'a few words' };
    const { read, left, others } = await leftAfter(content, 'own/', (engine, forget) => {
      const now = once(forget);
      engine.beforeRead = label => {
        const parts = engine.reads.filter(path => path === 'own/long.txt').length;
        return label === 'own/long.txt' && parts === 2 ? now() : undefined;
      };
    });
    assert.deepEqual([left, others], [[], 2]);
    // Two parts, and the one that was being read.
    assert.equal(read.filter(path => path === 'own/long.txt').length, 3);
  });

  test('the coverage is the one that the next look finds', async () => {
    const folder = await Folder.of({ ...files(2), 'own/a.txt': 'a word', 'own/gone.txt': 'another' });
    folders.push(folder);
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    await folder.remove('own/gone.txt');
    const after = await memory.forget('own');
    assert.deepEqual([after.total, after.read, after.skipped], [3, 2, 1]);
    assert.deepEqual(await memory.scan(), after);
    assert.deepEqual(await memory.forgetAll(), await memory.scan());
  });

  test('where nothing can be written it says what to do, with the folder to delete', async () => {
    const failing = (code: ErrorCode): Store => {
      const fails = (): Promise<never> => Promise.reject(new LongviewError(code, 'no'));
      const store = {
        folder: '/data/of it',
        ledger: { all: () => [] },
        listKeys: () => [],
        forget: fails,
        forgetAll: fails,
      };
      return store as unknown as Store;
    };
    const remove = process.platform === 'win32' ? 'rmdir /s /q "/data/of it"' : "rm -r '/data/of it'";
    const orDelete = `or delete all memory of this folder, with no Longview running: ${remove}`;
    await assert.rejects(forgetPath(failing('disk-full'), 'a.txt', '/'), {
      code: 'disk-full',
      message: `a.txt was not forgotten: the disk is full or fails. Free some space and try again, ${orDelete}`,
    });
    await assert.rejects(forgetEverything(failing('permission')), {
      code: 'permission',
      message: `The folder was not forgotten: /data/of it may not be written. Allow it and try again, ${orDelete}`,
    });
  });
});
