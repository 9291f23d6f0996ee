/**
 * Growing a state to a wanted size, and merging recall keys, against the rule composed of the oracle's folds (memory.md):
 * batches of 256, the first one's slots spread evenly over it, every later one's chosen by novelty, growth even.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Compressor, RecallMerger, spreadRows } from '../../src/engine/compress.js';
import type { Folder, Slots } from '../../src/engine/state.js';
import { joinSlots, sliceSlots } from '../../src/engine/state.js';
import { ClosestCalls } from '../reference/decisions.js';
import { seededRandom } from '../reference/tiny-model.js';
import { grownByOracle, mergedByOracle } from './oracle-rules.js';
import { sharedLlama } from './tiny-shared.js';
import { assertKeySlots, assertSlots, randomSlots, toOracle } from './tiny-slots.js';

const HEAD = 8;
/** Float32 sums of some hundred slots are off by less; the seeds below have no closer call in cosine. */
const NOISE = 5e-6;

suite('rows spread evenly', () => {
  test('by hand', () => {
    assert.deepEqual(spreadRows(1, 9), [0]);
    assert.deepEqual(spreadRows(2, 10), [0, 9]);
    // 0, 4.5, 9: halves go up.
    assert.deepEqual(spreadRows(3, 10), [0, 5, 9]);
    assert.deepEqual(spreadRows(4, 4), [0, 1, 2, 3]);
    assert.deepEqual(spreadRows(1, 1), [0]);
  });

  test('n different rows, ascending, first and last among them, gaps that differ by 1 at most', () => {
    const property = fc.property(fc.integer({ min: 2, max: 300 }), fc.integer({ min: 0, max: 300 }), (n, more) => {
      const rows = spreadRows(n, n + more);
      const gaps = rows.slice(1).map((row, i) => row - rows[i]!);
      assert.equal(rows.length, n);
      assert.deepEqual([rows[0], rows.at(-1)], [0, n + more - 1]);
      assert(Math.min(...gaps) >= 1 && Math.max(...gaps) - Math.min(...gaps) <= 1, String(gaps));
    });
    fc.assert(property, { seed: 1 });
  });
});

/** The incoming slots cut at `sizes`, the last part being the rest. */
function cut(all: Slots, sizes: readonly number[]): Slots[] {
  const parts: Slots[] = [];
  let from = 0;
  for (const size of [...sizes, Infinity]) {
    const to = Math.min(all.slots, from + size);
    if (to > from) parts.push(sliceSlots(all, from, to));
    from = to;
  }
  return parts;
}

suite('growing a state to a wanted size', function () {
  this.timeout(60_000);
  let folder: Folder;
  suiteSetup(async () => {
    ({ folder } = await sharedLlama());
  });

  async function compress(parts: readonly Slots[], target: number, total: number): Promise<Slots | undefined> {
    const compressor = new Compressor(folder, target, total);
    for (const part of parts) await compressor.add(part);
    return compressor.finish();
  }

  for (const [slots, target, seed] of [
    [700, 100, 1],
    [600, 300, 2],
    [512, 9, 3],
    [257, 16, 4],
    [40, 7, 5],
    [300, 300, 6],
    [30, 1, 7],
  ] as const)
    test(`${slots} slots to ${target}: the oracle's state, however the slots come in`, async () => {
      const all = randomSlots({ groups: 2, slots, headSize: HEAD }, seededRandom(seed));
      const calls = new ClosestCalls();
      const expected = grownByOracle(toOracle(all), target, calls);
      assert(Math.min(calls.append, calls.merge) > NOISE, `closest calls ${calls.append}, ${calls.merge}`);
      const states = [
        await compress([all], target, slots),
        await compress(cut(all, [100, 300, 7]), target, slots),
        await compress(cut(all, [256]), target, slots),
      ];
      for (const state of states) {
        assert.equal(state!.slots, target);
        assertSlots(state!, expected, 1e-3);
        assert.deepEqual(state, states[0], 'bit for bit');
      }
      const tokens = (counts: Float32Array) => counts.reduce((sum, count) => sum + count, 0);
      assert.equal(tokens(states[0]!.count), tokens(all.count));
    });

  test('nothing merged where the target is what comes in', async () => {
    const all = randomSlots({ groups: 2, slots: 300, headSize: HEAD }, seededRandom(8));
    assert.deepEqual(await compress([all], 300, 300), all);
  });

  test('nothing in, no state', async () => {
    assert.equal(await compress([], 10, 0), undefined);
  });

  test('more than told never grows over the target, less than told stays under it', async () => {
    const all = randomSlots({ groups: 2, slots: 900, headSize: HEAD }, seededRandom(9));
    assert.equal((await compress([all], 50, 300))!.slots, 50);
    assert.equal((await compress([all], 50, 0))!.slots, 50);
    assert.equal((await compress([all], 50, 1800))!.slots, 25);
  });
});

suite('merging recall keys', function () {
  this.timeout(60_000);
  let folder: Folder;
  suiteSetup(async () => {
    ({ folder } = await sharedLlama());
  });

  /** Tokens of count 1. */
  function tokens(n: number, seed: number): Slots {
    const all = randomSlots({ groups: 3, slots: n, headSize: HEAD }, seededRandom(seed));
    return { ...all, count: new Float32Array(3 * n).fill(1) };
  }

  async function merge(chunks: readonly Slots[], tokensPerSlot: number): Promise<RecallMerger> {
    const merger = new RecallMerger(folder, 3, HEAD, tokensPerSlot);
    for (const chunk of chunks) await merger.add(chunk);
    return merger;
  }

  for (const [tokensPerSlot, seed] of [
    [1, 1],
    [2, 2],
    [4, 3],
    [8, 4],
  ] as const)
    test(`1 slot for ${tokensPerSlot} tokens: the oracle's slots, and where each token went`, async () => {
      // As a text comes in: the first chunk without its sinks, the last one partly filled.
      const all = tokens(12 + 16 * 5 + 9, seed);
      const chunks = cut(all, [12, 16, 16, 16, 16, 16]);
      const calls = new ClosestCalls();
      const expected = mergedByOracle(chunks.map(toOracle), tokensPerSlot, calls);
      assert(Math.min(calls.append, calls.merge) > NOISE, `closest calls ${calls.append}, ${calls.merge}`);
      const merger = await merge(chunks, tokensPerSlot);
      assertKeySlots(merger.slots, expected.state, 1e-4);
      const slots = chunks.reduce((sum, { slots }) => sum + Math.max(1, Math.round(slots / tokensPerSlot)), 0);
      assert.equal(merger.slots.slots, slots);
      const slotOf = merger.slotOfToken();
      assert.deepEqual([...slotOf], expected.slotOf.flat());
      // A slot's count is the number of tokens that went to it.
      const counted = new Float32Array(3 * merger.slots.slots);
      slotOf.forEach((slot, i) => counted[Math.floor(i / all.slots) * merger.slots.slots + slot]!++);
      assert.deepEqual(merger.slots.count, counted);
      const again = await merge(chunks, tokensPerSlot);
      assert.deepEqual([again.slots, again.slotOfToken()], [merger.slots, slotOf], 'bit for bit');
    });

  test('one token a slot keeps the keys as they came', async () => {
    const all = tokens(30, 9);
    const merger = await merge(cut(all, [16]), 1);
    assert.deepEqual(merger.slots.keySum, joinSlots(cut(all, [16])).keySum);
  });

  test('a chunk shorter than a slot still makes one; nothing in gives nothing', async () => {
    const merger = await merge(cut(tokens(16 + 1, 10), [16]), 16);
    assert.equal(merger.slots.slots, 2);
    const none = await merge([], 4);
    assert.deepEqual([none.slots.slots, none.slotOfToken().length], [0, 0]);
  });
});
