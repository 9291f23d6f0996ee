/**
 * After a file was forgotten and the store was closed, no run of 8 bytes of what was kept of it is in any file of the store:
 * path, keys, memory, its places, and the patched states it was in.
 */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadState } from '../../src/memory/kept-state.js';
import { encodeState } from '../../src/memory/state-blob.js';
import { encodeFileMemory, type Store } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

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
function keptOf(store: Store, path: string): Buffer[] {
  const parts: Buffer[] = [Buffer.from(path)];
  for (const { key, path: owner } of store.listKeys()) {
    if (owner !== path) continue;
    const memory = store.getMemory(key);
    const places = store.getBlob(`places ${key}`);
    assert(memory?.ok);
    parts.push(Buffer.from(key), Buffer.from(encodeFileMemory(memory.value)));
    if (places?.ok) parts.push(Buffer.from(places.value));
  }
  assert(parts.length > 3, 'a memory and its places are there');
  const state = loadState(store);
  assert(state?.ok);
  parts.push(Buffer.from(encodeState(state.value)));
  return parts;
}

suite('bytes of what was forgotten', function () {
  this.timeout(120_000);

  for (const engineRuns of [true, false])
    test(engineRuns ? 'forgotten while the engine runs' : 'forgotten without an engine', async () => {
      const folder = await Folder.of({ ...files(40), [SECRET]: 'nobody shall ever know\nwhat stood here\n' });
      const never = await Folder.of(files(40));
      try {
        const engine = new FakeEngine();
        const memory = await folder.memory(engine, TIGHT);
        await memory.refresh();
        const store = await folder.store();
        const kept = keptOf(store, SECRET);
        // Another content of it, and a state that was patched twice and not composed since.
        for (const text of ['something else that nobody knows\n', 'and a third thing\n']) {
          await folder.write(SECRET, text);
          await memory.refresh();
          kept.push(...keptOf(store, SECRET));
        }
        assert.equal(memory.status().state.made, 'patched');
        const path = memory.status().store.path;
        const fresh = await never.memory(new FakeEngine(), TIGHT);
        await fresh.refresh();
        const neverPath = fresh.status().store.path;
        await fresh.dispose();
        const harmless = runsOf(await bytesIn(neverPath));
        const secret = new Set(kept.flatMap(bytes => [...runsOf(bytes)]).filter(run => !harmless.has(run)));
        assert(secret.size > 1000, `${secret.size} runs`);
        const before = runsOf(await bytesIn(path));
        // Pages of what was replaced may have been used again; what is in use is there whole.
        const live = keptOf(store, SECRET).flatMap(bytes => [...runsOf(bytes)]);
        assert(live.filter(run => before.has(run)).length > 0.9 * live.length, 'they were there');
        await store.dispose();
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
        await folder.remove(SECRET);
        await again.refresh();
        const [here, there] = [await folder.store(), await never.store()];
        const never2 = await never.memory(new FakeEngine(), TIGHT);
        await never2.refresh();
        assert.deepEqual(loadState(here), loadState(there));
      } finally {
        await folder.dispose();
        await never.dispose();
      }
    });
});
