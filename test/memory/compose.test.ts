/** The workspace state: its bytes, what its digest depends on, its budget, and what the engine holds of it. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ComposeOptions, StateSlots } from '../../src/engine/index.js';
import { DEFAULT_SETTINGS, stateSlots } from '../../src/memory/settings.js';
import {
  STATE_HEADER_BYTES,
  decodeState,
  patchedIdentity,
  stateDigest,
  stateHeader,
  statePieces,
} from '../../src/memory/state-blob.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

function slotsOf(groups: number, slots: number, headSize: number): StateSlots {
  const cells = groups * slots;
  const floats = (from: number): Float32Array => Float32Array.from({ length: cells }, (_, at) => from + at / 8);
  const rows = (from: number): Int16Array =>
    Int16Array.from({ length: cells * headSize }, (_, at) => (((from + at) * 997) % 65535) - 32767);
  return {
    groups,
    slots,
    headSize,
    keys: rows(1),
    keyScales: floats(2),
    values: rows(3),
    valueScales: floats(4),
    counts: floats(5),
    keyRadii: floats(6),
    valueRadii: floats(7),
    keyRadiusSums: floats(8),
    valueRadiusSums: floats(9),
    created: Uint8Array.from({ length: cells }, (_, at) => at % 2),
  };
}

suite('bytes of the workspace state', () => {
  const digest = stateDigest(['a', 'b'], 'model', 64);
  const identity = patchedIdentity(digest, ['b'], ['c']);
  const about = { digest, identity, tokens: 1234, patchedTokens: 56, budget: 64, composedBudget: 60 };
  const state = { ...about, slots: slotsOf(3, 5, 4) };

  test('what is written is what is read, wherever the bytes lie', () => {
    const bytes = Buffer.concat([...statePieces(state, 100)]);
    assert.equal(bytes.byteLength, STATE_HEADER_BYTES + 3 * 5 * (7 * 4 + 2 * 4 * 2 + 1));
    const pieces = [...statePieces(state, 100)].map(piece => piece.byteLength);
    assert.deepEqual(pieces, [
      ...Array.from({ length: Math.floor(bytes.byteLength / 100) }, () => 100),
      bytes.byteLength % 100,
    ]);
    const shifted = new Uint8Array(bytes.byteLength + 4);
    shifted.set(bytes, 4);
    assert.deepEqual(decodeState(shifted.subarray(4)), { ok: true, value: state });
    assert.deepEqual(stateHeader(bytes), {
      ok: true,
      value: { ...about, slots: 5, groups: 3, headSize: 4 },
    });
  });

  test('cut-off bytes are a value with a reason', () => {
    const bytes = Buffer.concat([...statePieces(state, 100)]);
    fc.assert(
      fc.property(fc.nat(bytes.byteLength - 1), length => {
        assert.equal(decodeState(bytes.subarray(0, length)).ok, false);
      }),
      { seed: 3 },
    );
  });

  test('the digest depends on memories, model and budget, not on the order that memories are named in', () => {
    const others = [
      stateDigest(['a'], 'model', 64),
      stateDigest(['a', 'b'], 'model 2', 64),
      stateDigest(['a', 'b'], 'model', 65),
    ];
    assert.equal(new Set([digest, ...others]).size, 4);
    assert.equal(stateDigest(['b', 'a'], 'model', 64), digest);
  });

  test('16·sqrt(tokens) slots, up to the setting', () => {
    assert.equal(stateSlots(100, DEFAULT_SETTINGS), 160);
    assert.equal(stateSlots(10_000, DEFAULT_SETTINGS), 1600);
    assert.equal(stateSlots(1_000_000, DEFAULT_SETTINGS), 2048);
    assert.equal(stateSlots(0, DEFAULT_SETTINGS), 0);
  });
});

suite('composing', () => {
  let folder: Folder;
  setup(async () => {
    folder = await Folder.of({
      'b.txt': 'beta\n',
      'a.txt': 'alpha\n',
      'Z.txt': 'omega\n',
      'README.md': 'read me first\n',
    });
  });
  teardown(() => folder.dispose());

  test('gists come in the order of their paths, whatever the reading order, with budget and sum', async () => {
    const engine = new FakeEngine();
    const asked: ComposeOptions[] = [];
    const compose = engine.compose.bind(engine);
    engine.compose = (gists, options) => {
      asked.push(options);
      return compose(gists, options);
    };
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.equal(engine.reads[0], 'README.md');
    const inOrder = ['README.md', 'Z.txt', 'a.txt', 'b.txt'].map(path => memory.gist(path)!);
    assert.deepEqual(engine.compositions, [inOrder]);
    const { tokens } = memory.status();
    // Words 3 + 1 + 1 + 1, and the prefix's token of each of the four files.
    assert.equal(tokens, 10);
    assert.equal(asked[0]!.budget, Math.floor(16 * Math.sqrt(tokens)));
    assert.equal(
      asked[0]!.incoming,
      inOrder.reduce((sum, gist) => sum + gist.slots, 0),
    );
  });

  test('a damaged state is composed again', async () => {
    const engine = new FakeEngine();
    const memory = await folder.memory(engine);
    await memory.refresh();
    const store = await folder.store();
    await store.putBlob('state 0 0', Buffer.from('not a state'));
    const ids = await memory.states([]);
    assert.equal(ids.length, 1);
    assert.equal(engine.compositions.length, 2);
  });

  test('the engine keeps one workspace state and at most eight gists, with their compression', async () => {
    for (let at = 0; at < 12; at++) await folder.write(`more/${at}.txt`, `word${at} again\n`);
    const engine = new FakeEngine();
    const memory = await folder.memory(engine);
    await memory.refresh();
    for (const { path } of memory.files()) await memory.states([path]);
    await folder.write('a.txt', 'something else\n');
    await memory.refresh();
    const ids = await memory.states(['a.txt', 'b.txt']);
    assert.equal(ids.length, 3);
    const held = [...engine.states.keys()];
    assert.equal(held.filter(id => id.startsWith('workspace:')).length, 1);
    assert.ok(held.length <= 9, `${held.length} states`);
    const { slots, tokensPerSlot } = engine.states.get(ids[0]!)!;
    assert.equal(tokensPerSlot, Math.max(1, memory.status().tokens / slots.slots));
  });

  test('cancelled while composing, the memories stay and the next run composes', async () => {
    const engine = new FakeEngine();
    const stop = new AbortController();
    const compose = engine.compose.bind(engine);
    engine.compose = (gists, options) => {
      stop.abort();
      return compose(gists, options);
    };
    const memory = await folder.memory(engine);
    await assert.rejects(memory.refresh({ signal: stop.signal }), { code: 'cancelled' });
    assert.equal(memory.coverage().read, 4);
    assert.equal(memory.status().state.slots, 0);
    engine.compose = compose;
    assert.equal((await memory.refresh()).filesRead, 0);
    assert.ok(memory.status().state.slots > 0);
  });
});
