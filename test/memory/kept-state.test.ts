/** A workspace state of several pieces in the store: the old one or the new one, whole, whenever writing ends or is refused. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropState, keepState, keptState, loadState, type NewState } from '../../src/memory/kept-state.js';
import { openStore, type Store } from '../../src/memory/store/index.js';

/** 16 x 512 x (29 + 4 x 64) bytes: two pieces, the second not full. */
const [GROUPS, SLOTS, HEAD_SIZE] = [16, 512, 64];

function stateOf(identity: string, fill: number): NewState {
  const cells = GROUPS * SLOTS;
  const floats = (): Float32Array => new Float32Array(cells).fill(fill);
  const rows = (): Int16Array => new Int16Array(cells * HEAD_SIZE).fill(fill);
  const about = { digest: identity.repeat(32), identity: identity.repeat(32), tokens: 1, patchedTokens: 0 };
  return {
    model: 'model',
    ...{ added: [], places: [] },
    state: {
      ...{ ...about, budget: SLOTS, composedBudget: SLOTS },
      slots: {
        ...{ groups: GROUPS, slots: SLOTS, headSize: HEAD_SIZE, keys: rows(), values: rows() },
        ...{ keyScales: floats(), valueScales: floats(), counts: floats(), keyRadii: floats(), valueRadii: floats() },
        ...{ keyRadiusSums: floats(), valueRadiusSums: floats(), created: new Uint8Array(cells).fill(fill) },
      },
    },
  };
}

suite('a kept state of several pieces', () => {
  let folder: string;
  let store: Store;
  const [first, second] = [stateOf('aa', 1), stateOf('bb', 2)];
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-kept-'));
    store = await openStore(folder, { workspace: '' });
    assert.equal(await keepState(store, first), true);
  });
  teardown(async () => {
    await store.dispose();
    await rm(folder, { recursive: true });
  });

  /** Runs `between` before transaction number `at` of what `work` does; gives how many there were. */
  async function interrupted(at: number, between: () => Promise<void>, work: () => Promise<unknown>): Promise<number> {
    const batch = store.batch.bind(store);
    let count = 0;
    store.batch = async actions => {
      if (count++ === at) {
        store.batch = batch;
        await between();
      }
      await batch(actions);
    };
    await work();
    store.batch = batch;
    return count;
  }

  test('it is read as it was written; the next one takes its place, and nothing of the first is left', async () => {
    assert.deepEqual(await loadState(store), { ok: true, value: first.state });
    assert.equal(await keepState(store, second), true);
    assert.deepEqual(await loadState(store), { ok: true, value: second.state });
    assert.deepEqual(store.blobNames(''), ['state 1 0', 'state 1 1', 'state-about']);
  });

  test('wherever writing ends, one of the two is there, whole; the next writing leaves one alone', async () => {
    const seen = new Set<string>();
    for (let at = 0; at < 3; at++) {
      const fail = (): Promise<void> => Promise.reject(new Error('ended'));
      await interrupted(at, fail, () => keepState(store, second).catch(() => undefined));
      const found = await loadState(store);
      assert(found?.ok);
      seen.add(found.value.identity.slice(0, 2));
      assert.deepEqual(found.value, (found.value.identity.startsWith('aa') ? first : second).state);
      assert.equal(await keepState(store, first), true);
      assert.deepEqual(await loadState(store), { ok: true, value: first.state });
      assert.equal(store.blobNames('state').length, 3);
    }
    // Before the first piece, before the switch, before the old one is removed.
    assert.deepEqual([...seen], ['aa', 'bb']);
  });

  test('what is dropped while it is written is not written: something in it was forgotten', async () => {
    await dropState(store);
    await interrupted(
      1,
      () => dropState(store),
      () => keepState(store, second),
    );
    assert.deepEqual([keptState(store), store.blobNames('')], [undefined, []]);
  });

  test('a patch is refused where another state is kept by now, and the pieces go with the next state', async () => {
    const patch: NewState = { ...second, patched: { from: first.state.identity, removed: [] } };
    const other = stateOf('cc', 3);
    await interrupted(
      1,
      async () => assert.equal(await keepState(store, other), true),
      () => keepState(store, patch),
    );
    assert.deepEqual(await loadState(store), { ok: true, value: other.state });
    assert.equal(await keepState(store, second), true);
    assert.equal(store.blobNames('state').length, 3);
  });

  test('pieces of another state are none of it', async () => {
    const blob = store.getBlob('state 0 1');
    assert(blob?.ok);
    await store.putBlob('state 0 1', Buffer.from(blob.value).fill(9, 0, 32));
    assert.deepEqual(await loadState(store), { ok: false, reason: 'of another state' });
    await store.batch(write => write.deleteBlob('state 0 1'));
    assert.deepEqual(await loadState(store), { ok: false, reason: 'a piece is missing' });
  });
});
