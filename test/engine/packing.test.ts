/** Sums ⇄ int8 means: off by half a step at most, everything else as it was. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { packRecall, packSlots, unpackSlots } from '../../src/engine/packing.js';
import { seededRandom } from '../reference/tiny-model.js';
import { randomSlots } from './tiny-slots.js';

const HEAD = 8;

/** Means of sums [R,d] with counts [R]. */
function means(sums: Float32Array, counts: Float32Array): number[] {
  return Array.from(sums, (sum, i) => sum / counts[Math.floor(i / HEAD)]!);
}

suite('packing', () => {
  test('by hand: a step is the largest number of the mean over 127', () => {
    const state = randomSlots({ groups: 1, slots: 1, headSize: HEAD }, seededRandom(1));
    state.count.set([4]);
    // Sum 4 x (127, -63.4, 0.6, 0, …): mean 127 at most, so a step is 1.
    state.keySum.set([508, -253.6, 2.4, 0, 0, 0, 0, -508]);
    const packed = packSlots(state);
    assert.deepEqual([...packed.keys], [127, -63, 1, 0, 0, 0, 0, -127]);
    assert.deepEqual([...packed.keyScales], [1]);
    assert.deepEqual([...unpackSlots(packed).keySum], [508, -252, 4, 0, 0, 0, 0, -508]);
  });

  const shape = fc.record({
    seed: fc.integer({ min: 1, max: 1e6 }),
    groups: fc.integer({ min: 1, max: 5 }),
    slots: fc.integer({ min: 0, max: 20 }),
    size: fc.constantFrom(1e-6, 1, 1e4),
  });

  test('means come back within half a step; counts and radii exactly', () => {
    const property = fc.property(shape, ({ seed, groups, slots, size }) => {
      const state = randomSlots({ groups, slots, headSize: HEAD }, seededRandom(seed));
      for (const sums of [state.keySum, state.valueSum]) sums.forEach((sum, i) => (sums[i] = sum * size));
      const packed = packSlots(state);
      const back = unpackSlots(packed);
      const pairs = [
        [state.keySum, back.keySum, packed.keyScales],
        [state.valueSum, back.valueSum, packed.valueScales],
      ] as const;
      for (const [sums, unpacked, scales] of pairs) {
        const expected = means(sums, state.count);
        means(unpacked, state.count).forEach((mean, i) => {
          const step = scales[Math.floor(i / HEAD)]!;
          // float32 keeps 24 bits: a little on top of half a step of 1/127.
          assert(Math.abs(mean - expected[i]!) <= step * 0.50002, `${mean} for ${expected[i]!}, a step is ${step}`);
        });
      }
      assert.deepEqual(
        { ...back, keySum: state.keySum, valueSum: state.valueSum },
        { ...state, groups, slots, headSize: HEAD },
      );
    });
    fc.assert(property, { seed: 1, numRuns: 200 });
  });

  test('packing what was unpacked changes no number', () => {
    const property = fc.property(shape, ({ seed, groups, slots }) => {
      const packed = packSlots(randomSlots({ groups, slots, headSize: HEAD }, seededRandom(seed)));
      const again = packSlots(unpackSlots(packed));
      assert.deepEqual([again.keys, again.values], [packed.keys, packed.values]);
      again.keyScales.forEach((scale, i) => assert(Math.abs(scale / packed.keyScales[i]! - 1) < 1e-6));
    });
    fc.assert(property, { seed: 2, numRuns: 100 });
  });

  test('a slot of zeros packs to zeros', () => {
    const state = randomSlots({ groups: 1, slots: 2, headSize: HEAD }, seededRandom(3));
    state.keySum.fill(0, 0, HEAD);
    const packed = packSlots(state);
    assert.deepEqual([...packed.keys.subarray(0, HEAD)], new Array(HEAD).fill(0));
    assert.equal(packed.keyScales[0], 0);
    assert(unpackSlots(packed).keySum.every(Number.isFinite));
  });

  test('recall slots are packed the same way', () => {
    const state = randomSlots({ groups: 3, slots: 5, headSize: HEAD }, seededRandom(4));
    const { keys, keyScales, counts } = packSlots(state);
    assert.deepEqual(packRecall(state), { heads: 3, slots: 5, headSize: HEAD, keys, scales: keyScales, counts });
  });
});
