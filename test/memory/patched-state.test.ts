/**
 * The workspace state over time: patched when little changes, composed again when much did, never other than what the
 * memories in it make; after forgetting bit for bit that of a folder which never held the file.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Engine } from '../../src/engine/index.js';
import { keptState, placedKeys } from '../../src/memory/kept-state.js';
import type { MemorySettings, WorkspaceMemory } from '../../src/memory/index.js';
import { openShared } from '../engine/tiny-shared.js';
import { placesName } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';
import { assertStateOfMemories, composedOf } from './placed-state.js';

/** So few that slots merge. */
const TIGHT: Partial<MemorySettings> = { stateBudget: 30 };

/** The fake's sums are whole numbers up to 32,767, and scales of float32: less than a tenth of one is nothing. */
const WHOLE = 1e-6;

function textOf(seed: number): string {
  return Array.from({ length: 6 }, (_, line) => `word${seed} line${line} of${(seed * 7 + line) % 13}`).join('\n');
}

function manyFiles(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}.txt`, textOf(at)]));
}

suite('a state that is patched', function () {
  this.timeout(60_000);
  let folder: Folder;
  let engine: FakeEngine;
  setup(async () => {
    folder = await Folder.of(manyFiles(40));
    engine = new FakeEngine();
  });
  teardown(() => folder.dispose());

  test('one edited file: its old gist leaves, its new one comes, nothing is composed', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    assert.equal(memory.status().state.made, 'composed');
    const before = memory.gist('f3.txt')!;
    await folder.write('f3.txt', textOf(100));
    await memory.refresh();
    assert.equal(engine.compositions.length, 1);
    assert.equal(memory.status().state.made, 'patched');
    assert.deepEqual(
      engine.patches.map(({ remove, add }) => [remove.map(({ gist }) => gist), add]),
      [[[before], [memory.gist('f3.txt')!]]],
    );
    await assertStateOfMemories(await folder.store(), engine.model.fingerprint, WHOLE);
  });

  test('a state of another identity is put into the engine, and the former one leaves it', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    const [first] = await memory.states([]);
    await folder.write('f3.txt', textOf(100));
    await memory.refresh();
    const [second] = await memory.states([]);
    await folder.write('f3.txt', textOf(3));
    await memory.refresh();
    const [third] = await memory.states([]);
    // The third has the memories of the first, merged another way.
    assert.equal(new Set([first, second, third]).size, 3);
    assert.deepEqual(
      [...engine.states.keys()].filter(id => id.startsWith('workspace:')),
      [third],
    );
  });

  test('after more than a tenth of the tokens came or went it is composed again, and then patched anew', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    const made: (string | undefined)[] = [];
    // An edit moves 2 of 40 files' tokens: the third passes a tenth.
    for (let at = 0; at < 4; at++) {
      await folder.write(`f${at}.txt`, textOf(200 + at));
      await memory.refresh();
      made.push(memory.status().state.made);
    }
    assert.deepEqual(made, ['patched', 'patched', 'composed', 'patched']);
    assert.equal(engine.patches.length, 4, 'patched first, so that answers see the change while it is composed');
  });

  test('what was deleted is taken out before the next answer, though nothing was read', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    await folder.remove('f5.txt');
    await memory.scan();
    const [id] = await memory.states([]);
    assert.equal(engine.patches.length, 1);
    assert.equal(engine.compositions.length, 1);
    const parts = await assertStateOfMemories(await folder.store(), engine.model.fingerprint, WHOLE);
    assert.deepEqual(engine.states.get(id!)!.slots, parts!.state);
    await memory.states([]);
    assert.equal(engine.patches.length, 1, 'once');
  });

  test('places that are missing or damaged, and a gist that is gone, make it be composed', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    const store = await folder.store();
    const place = placesName(placedKeys(store)[7]!, keptState(store)!.sides.places);
    await store.batch(write => write.deleteBlob(place));
    await folder.write('f1.txt', textOf(101));
    await memory.refresh();
    assert.deepEqual([engine.compositions.length, engine.patches.length], [2, 0]);
    const { key } = store.listKeys().find(({ path }) => path === 'f2.txt')!;
    await store.putBlob(placesName(key, keptState(store)!.sides.places), Buffer.from('no places!'));
    await folder.write('f2.txt', textOf(102));
    await memory.refresh();
    assert.deepEqual([engine.compositions.length, engine.patches.length], [3, 0]);
    const { key: third } = store.listKeys().find(({ path }) => path === 'f3.txt')!;
    await store.putBlob(placesName(third, keptState(store)!.sides.places), Buffer.alloc(4));
    await folder.write('f3.txt', textOf(103));
    await memory.refresh();
    assert.equal(engine.compositions.length, 4, 'the engine found that these are not its places');
    await assertStateOfMemories(store, engine.model.fingerprint, WHOLE);
  });

  test('another budget composes again', async () => {
    await (await folder.memory(engine, TIGHT)).refresh();
    await (await folder.memory(engine, { stateBudget: 60 })).refresh();
    assert.equal(engine.compositions.length, 2);
    assert.equal((await assertStateOfMemories(await folder.store(), engine.model.fingerprint, WHOLE))!.state.slots, 60);
  });

  test('a change that is cancelled leaves state and places as they were', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    const store = await folder.store();
    const before = keptState(store);
    const stop = new AbortController();
    const patch = engine.patch.bind(engine);
    engine.patch = (...request) => {
      stop.abort();
      return patch(...request);
    };
    await folder.write('f1.txt', textOf(101));
    await assert.rejects(memory.refresh({ signal: stop.signal }), { code: 'cancelled' });
    assert.deepEqual(keptState(store), before);
    engine.patch = patch;
    await memory.refresh();
    assert.equal(memory.status().state.made, 'patched');
    await assertStateOfMemories(store, engine.model.fingerprint, WHOLE);
  });

  test('what another process changed while it was patched stays, and the patch is made again', async () => {
    const memory = await folder.memory(engine, TIGHT);
    await memory.refresh();
    await folder.remove('f9.txt');
    const other = await folder.memory(engine, TIGHT);
    const patch = engine.patch.bind(engine);
    engine.patch = async (...request) => {
      engine.patch = patch;
      await other.scan();
      await other.states([]);
      return patch(...request);
    };
    await folder.write('f1.txt', textOf(101));
    await memory.refresh();
    await assertStateOfMemories(await folder.store(), engine.model.fingerprint, WHOLE);
  });
});

const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('edit' as const), file: fc.nat(29), text: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), file: fc.nat(60), text: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), file: fc.nat(60), text: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename' as const), file: fc.nat(60), text: fc.nat(60) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('forget' as const), file: fc.nat(60), text: fc.constant(0) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restart' as const), file: fc.constant(0), text: fc.constant(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('model' as const), file: fc.constant(0), text: fc.constant(0) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('answer' as const), file: fc.constant(0), text: fc.constant(0) }),
  },
);

/** Runs operations, checking the state after each; gives how often a state that was checked was a patched one. */
async function live(
  operations: readonly (typeof operation extends fc.Arbitrary<infer T> ? T : never)[],
  engines: readonly Engine[],
  files: number,
  tolerance: number,
): Promise<number> {
  const folder = await Folder.of(manyFiles(files));
  try {
    const texts = new Map(Object.entries(manyFiles(files)));
    let engine = engines[0]!;
    let memory = await folder.memory(engine, TIGHT);
    let patched = 0;
    await memory.refresh();
    const open = async (next: Engine): Promise<WorkspaceMemory> => {
      engine = next;
      await memory.dispose();
      if (engine instanceof FakeEngine) engine.restart();
      return folder.memory(engine, TIGHT);
    };
    for (const { kind, file, text } of operations) {
      const path = `f${file}.txt`;
      if (kind === 'edit' || kind === 'create') {
        texts.set(path, textOf(text));
        await folder.write(path, textOf(text));
      } else if (kind === 'delete' || kind === 'rename') {
        const old = texts.get(path);
        if (old === undefined || texts.size === 1) continue;
        texts.delete(path);
        await folder.remove(path);
        if (kind === 'rename') {
          texts.set(`f${text}.txt`, old);
          await folder.write(`f${text}.txt`, old);
        }
      } else if (kind === 'restart') memory = await open(engine);
      else if (kind === 'model') memory = await open(engines[(engines.indexOf(engine) + 1) % engines.length]!);
      else if (kind === 'answer') await memory.states([]);
      else if (texts.has(path) && texts.size > 1) {
        texts.delete(path);
        await memory.forget(path);
        await folder.remove(path);
        const store = await folder.store();
        const parts = (await assertStateOfMemories(store, engine.model.fingerprint, tolerance))!;
        assert.deepEqual(parts.state, await composedOf(parts, engine), 'as if it had never been there');
        await store.dispose();
        continue;
      }
      await memory.refresh();
      const store = await folder.store();
      assert.deepEqual(
        store.ledger
          .all()
          .map(row => row.path)
          .sort(),
        [...texts.keys()].sort(),
      );
      const parts = (await assertStateOfMemories(store, engine.model.fingerprint, tolerance))!;
      if (memory.status().state.made === 'patched') patched++;
      else assert.deepEqual(parts.state, await composedOf(parts, engine));
      await store.dispose();
    }
    return patched;
  } finally {
    await folder.dispose();
  }
}

suite('random edits, deletions, forgettings, restarts', function () {
  this.timeout(300_000);

  test('places, counts and sums of the fake engine exactly; composed states bit for bit', async () => {
    let patched = 0;
    const property = fc.asyncProperty(fc.array(operation, { minLength: 8, maxLength: 12 }), async operations => {
      patched += await live(operations, [new FakeEngine(), new FakeEngine('fake-2')], 30, WHOLE);
    });
    await fc.assert(property, { seed: 11, numRuns: 6 });
    assert(patched > 10, `${patched} patched states were seen`);
  });

  test('through the fold graphs of a tiny model', async () => {
    const engine = await openShared();
    let patched = 0;
    const property = fc.asyncProperty(fc.array(operation, { minLength: 8, maxLength: 10 }), async operations => {
      // int16: half a step of 1/32767 for each of the few patches, of sums that are at most the group's largest.
      patched += await live(operations, [engine], 24, 3e-4);
    });
    await fc.assert(property, { seed: 12, numRuns: 2 });
    assert(patched > 3, `${patched} patched states were seen`);
  });
});
