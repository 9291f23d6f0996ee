/**
 * A large memory's slots are scored by clusters first: with every cluster taken it is the softmax over all slots, with fewer
 * the masses still sum to 1. Clusters and their choice by hand.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecallSlots } from '../../src/engine/index.js';
import { bestClusters } from '../../src/engine/found-mass.js';
import { FILES } from '../../src/engine/graph-contract.js';
import type { Model } from '../../src/engine/model.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { RecallIndex } from '../../src/engine/recall-index.js';
import type { CoarseLimits } from '../../src/engine/recall-index.js';
import { BLOCK_SLOTS, blocksAt } from '../../src/engine/slot-blocks.js';
import { clustersOf } from '../../src/engine/slot-clusters.js';
import { SlotScorer } from '../../src/engine/slot-softmax.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { assertClose } from '../oracle/golden.js';
import { loadModel, sharedTextModel } from './tiny-shared.js';
import { recall, recallKeyHeadOf } from './tiny-text-model.js';

const KEY_HEADS = Math.max(...recallKeyHeadOf) + 1;
const HEAD = 8;

/** Slots with keys that a small generator makes: the same on every run. */
function slotsOf(slots: number, seed: number): RecallSlots {
  let state = seed;
  const next = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const cells = KEY_HEADS * slots;
  return {
    heads: KEY_HEADS,
    slots,
    headSize: HEAD,
    keys: Int8Array.from({ length: cells * HEAD }, () => Math.round(254 * next() - 127)),
    scales: Float32Array.from({ length: cells }, () => 0.01 + 0.02 * next()),
    counts: Float32Array.from({ length: cells }, () => 1 + Math.floor(7 * next())),
  };
}

suite('scoring a large memory', function () {
  this.timeout(60_000);
  let model: Model;
  let index: (limits: CoarseLimits) => Promise<RecallIndex>;
  const texts = { a: slotsOf(1500, 1), b: slotsOf(1, 2), c: slotsOf(0, 3), d: slotsOf(900, 4) };
  const ids = Object.keys(texts);
  const total = 2401;

  suiteSetup(async () => {
    model = await loadModel(await sharedTextModel());
    const json = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(model.path, name), 'utf8'));
    const tokenizer = TextTokenizer.load(await json(FILES.tokenizer), await json(FILES.tokenizerConfig));
    const heads = await RecallHeads.load(model.path, model.manifest);
    index = limits => {
      const made = new RecallIndex(model, tokenizer, heads, limits);
      for (const [id, slots] of Object.entries(texts)) made.put(id, slots);
      return Promise.resolve(made);
    };
  });

  test('with every cluster taken it is the same as slot by slot, and so is what spans get', async () => {
    const exact = await index({ exactSlots: total, fineSlots: 0 });
    const coarse = await index({ exactSlots: total - 1, fineSlots: total });
    const [one, other] = [await exact.score('adds?', ids), await coarse.score('adds?', ids)];
    for (const of of ['mass', 'nullMass'] as const) {
      assert.equal(one[of].slots, undefined);
      for (const own of other[of].slots!) assert.deepEqual([...own], [...new Array(total).keys()]);
      assert.deepEqual(other[of].rest, one[of].rest);
      one[of].mass.forEach((own, head) => assertClose(`${of} ${head}`, other[of].mass[head]!, own, 1e-6));
    }
    const own = {
      start: Uint32Array.of(0, 3, 4, 4),
      slots: Uint32Array.of(7, 1499, 1500, 7),
      shares: Float32Array.of(1, 0.5, 0.25, 0.5),
    };
    const spans = { tokens: Float32Array.of(6, 2, 1), keyHeads: Array.from({ length: KEY_HEADS }, () => own) };
    const [expected, scores] = [
      await exact.scoreSpans('adds?', ids, spans),
      await coarse.scoreSpans('adds?', ids, spans),
    ];
    assertClose('spans', scores.found, expected.found, 1e-4);
    assert.equal(expected.nullMass, undefined);
    const nothing = one.nullMass.mass.flatMap(mass => [
      mass[7]! + 0.5 * mass[1499]! + 0.25 * mass[1500]!,
      0.5 * mass[7]!,
      0,
    ]);
    assertClose('of nothing', scores.nullMass!, nothing, 1e-6);
  });

  test('with some taken, those have the most mass and everything sums to 1', async () => {
    const exact = await (await index({ exactSlots: total, fineSlots: 0 })).score('adds?', ids);
    const { mass } = await (await index({ exactSlots: 0, fineSlots: 600 })).score('adds?', ids);
    recall.heads.forEach((_, head) => {
      const keyHead = recallKeyHeadOf[head]!;
      const slots = mass.slots![keyHead]!;
      assert.ok(slots.length > 500 && slots.length <= 600, `${slots.length} slots`);
      const named = mass.mass[head]!.reduce((a, b) => a + b, 0);
      let tokens = 0;
      let first = 0;
      for (const text of Object.values(texts)) {
        for (let slot = 0; slot < text.slots; slot++) {
          if (!slots.includes(first + slot)) tokens += text.counts[keyHead * text.slots + slot]!;
        }
        first += text.slots;
      }
      assertClose('sum', [named + tokens * mass.rest[head]!], [1], 1e-4);
      // A quarter of the slots, chosen by their clusters, has more than a quarter of the mass.
      const share = slots.reduce((sum, slot) => sum + exact.mass.mass[head]![slot]!, 0);
      assert.ok(share > 0.3, `${share} of the mass`);
    });
  });

  test('one slot has all mass; no slots, no mass', async () => {
    const coarse = await index({ exactSlots: 0, fineSlots: 10 });
    const one = await coarse.score('adds?', ['b']);
    one.mass.mass.forEach(own => assertClose('mass', own, [1], 1e-6));
    const none = await coarse.score('adds?', ['c']);
    assert.deepEqual(
      [...none.slotStart, ...none.mass.mass.map(own => own.length)],
      [0, 0, ...recall.heads.map(() => 0)],
    );
  });

  test('every slot is in one cluster, whose key is the mean of its members’ by their tokens', async () => {
    const { slots, keys, scales, counts } = texts.d;
    const table = { slots, keys, scales, logCounts: counts.map(Math.log) };
    const shape = { heads: KEY_HEADS, headSize: HEAD };
    const clusters = await clustersOf(table, new SlotScorer(model), shape);
    assert.equal(clusters.slots, Math.round(900 / 8));
    for (let head = 0; head < KEY_HEADS; head++) {
      const row = head * (clusters.slots + 1);
      const members = clusters.members.subarray(clusters.starts[row], clusters.starts[row + clusters.slots]);
      assert.deepEqual(
        [...members].sort((a, b) => a - b),
        [...new Array(slots).keys()],
      );
      for (let cluster = 0; cluster < clusters.slots; cluster++) {
        const own = [...clusters.members.subarray(clusters.starts[row + cluster], clusters.starts[row + cluster + 1])];
        const tokens = own.reduce((sum, slot) => sum + counts[head * slots + slot]!, 0);
        const cell = head * clusters.slots + cluster;
        assertClose('tokens', [Math.exp(clusters.logCounts[cell]!)], [tokens], 1e-3);
        for (let i = 0; i < HEAD; i++) {
          const mean = own.reduce((sum, slot) => {
            const at = head * slots + slot;
            return sum + counts[at]! * scales[at]! * keys[at * HEAD + i]!;
          }, 0);
          const unit = clusters.scales[cell]!;
          assertClose('key', [clusters.keys[cell * HEAD + i]! * unit], [mean / Math.max(1, tokens)], unit);
        }
      }
    }
  });

  test('the best clusters are those with the most mass in some head; of equal ones the first that fit', () => {
    const sizes = Uint32Array.of(4, 3, 5, 2, 1);
    const mass = [Float32Array.of(0.1, 0.4, 0, 0.1, 0.1), Float32Array.of(0, 0, 0.6, 0, 0)];
    const of = (most: number) => [...bestClusters(mass, sizes, most)];
    assert.deepEqual(of(0), [0, 0, 0, 0, 0]);
    assert.deepEqual(of(5), [0, 0, 1, 0, 0]);
    assert.deepEqual(of(10), [0, 1, 1, 1, 0]);
    assert.deepEqual(of(11), [0, 1, 1, 1, 1]);
    assert.deepEqual(of(15), [1, 1, 1, 1, 1]);
  });

  test('blocks hold the slots asked for, in order, whatever texts they are of', () => {
    const tables = [slotsOf(BLOCK_SLOTS + 1, 5), slotsOf(3, 6)].map(({ slots, keys, scales, counts }) => ({
      ...{ slots, keys, scales },
      logCounts: counts.map(Math.log),
    }));
    const starts = Uint32Array.of(0, BLOCK_SLOTS + 1, BLOCK_SLOTS + 4);
    const places = Uint32Array.of(0, 5, BLOCK_SLOTS, BLOCK_SLOTS + 2);
    const [block, ...more] = [...blocksAt(tables, starts, places, 1, HEAD)];
    assert.equal(more.length, 0);
    const first = tables[0]!;
    const cells = [first.slots, first.slots + 5, 2 * first.slots - 1].map(cell => first.scales[cell]!);
    assert.deepEqual([...block!.scales], [...cells, tables[1]!.scales[3 + 1]!]);
    assert.equal(block!.keys[3 * HEAD], tables[1]!.keys[(3 + 1) * HEAD]);
  });
});
