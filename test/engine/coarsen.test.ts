/** Recall slots merged further, with a tiny model. */
import assert from 'node:assert/strict';
import { openEngine, startEngine, type Engine, type RecallSlots } from '../../src/engine/index.js';
import { TinyFolder } from './tiny-engine.js';
import { tinyTextModel } from './tiny-text-model.js';

suite('coarsening', function () {
  this.timeout(60_000);
  const folder = new TinyFolder();
  let engine: Engine;
  suiteSetup(async () => {
    await tinyTextModel(folder);
    engine = await openEngine(`${folder.path}/text-f32`, { threads: 1 });
  });
  suiteTeardown(async () => {
    await engine.dispose();
    await folder.dispose();
  });

  /** Sum of the keys of one head, by their counts: what merging leaves as it is. */
  const sumOf = ({ slots, headSize, keys, scales, counts }: RecallSlots, head: number): number[] =>
    Array.from({ length: headSize }, (_, at) => {
      let sum = 0;
      for (let slot = head * slots; slot < (head + 1) * slots; slot++) {
        sum += keys[slot * headSize + at]! * scales[slot]! * counts[slot]!;
      }
      return sum;
    });

  test('every four slots become one; tokens and sums stay; each slot is told where it went', async () => {
    const text = Array.from({ length: 60 }, (_, at) => `line ${at} holds ${(at * 7919) % 1013} things\n`).join('');
    const { recall } = await engine.read({ label: 'a.txt', text, tokensPerRecallSlot: 4 });
    assert.ok(recall.slots > 300, 'more than one batch of 256');
    const { recall: coarse, slotOf } = await engine.coarsen(recall, 4);
    // Each batch of 256 gives 64, the last one a quarter of what is left of it.
    const rest = recall.slots % 256;
    assert.equal(
      coarse.slots,
      64 * Math.floor(recall.slots / 256) + (rest > 0 ? Math.max(1, Math.round(rest / 4)) : 0),
    );
    for (let head = 0; head < recall.heads; head++) {
      const counts = new Float64Array(coarse.slots);
      for (let slot = 0; slot < recall.slots; slot++) {
        counts[slotOf[head * recall.slots + slot]!]! += recall.counts[head * recall.slots + slot]!;
      }
      assert.deepEqual([...counts], [...coarse.counts.subarray(head * coarse.slots, (head + 1) * coarse.slots)]);
      const [before, after] = [sumOf(recall, head), sumOf(coarse, head)];
      // int8 rounds each mean by up to 1/254 of its largest component.
      const tolerance = Math.max(...before.map(Math.abs)) * 0.02 + 1;
      before.forEach((value, at) => assert.ok(Math.abs(value - after[at]!) < tolerance, `${value} ${after[at]}`));
    }
    const apart = await startEngine({ modelFolder: `${folder.path}/text-f32`, threads: 1 });
    try {
      assert.deepEqual(await apart.coarsen(recall, 4), { recall: coarse, slotOf });
    } finally {
      await apart.dispose();
    }
  });
});
