/**
 * The fold and read graphs against the float64 oracle (test/reference/retrofit-head.ts), on slots that hold several tokens.
 * Decisions are compared where the oracle's closest call exceeds float32 noise; exact ties are made of exact cosines.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { groupsAtOnce } from '../../src/engine/group-runs.js';
import { emptyKeySlots, emptySlots, pickGroups, sliceSlots } from '../../src/engine/state.js';
import type { Folder, Slots } from '../../src/engine/state.js';
import { assertClose } from '../oracle/golden.js';
import { ClosestCalls } from '../reference/decisions.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { seededRandom } from '../reference/tiny-model.js';
import { foldAll, placeAll } from './oracle-rules.js';
import { sharedLlama } from './tiny-shared.js';
import { assertKeySlots, assertSlots, axisSlots, randomSlots, toOracle } from './tiny-slots.js';

const HEAD = 8;
/** Cosines closer than this are left to float32. */
const NOISE = 1e-6;

const shape = fc.record({
  seed: fc.integer({ min: 1, max: 1e6 }),
  groups: fc.integer({ min: 1, max: 6 }),
  slots: fc.integer({ min: 6, max: 70 }),
  incoming: fc.integer({ min: 1, max: 40 }),
  part: fc.constantFrom(0, 0.1, 0.5, 0.9, 1),
  sinks: fc.integer({ min: 0, max: 5 }),
});

suite('fold graphs against the oracle', function () {
  this.timeout(60_000);
  let folder: Folder;
  suiteSetup(async () => {
    ({ folder } = await sharedLlama());
  });

  test('novelty: slots, counts, sums, radii and where each incoming one went', async () => {
    const property = fc.asyncProperty(shape, async ({ seed, groups, slots, incoming, part, sinks }) => {
      const random = seededRandom(seed);
      const before = randomSlots({ groups, slots, headSize: HEAD }, random);
      const coming = randomSlots({ groups, slots: incoming, headSize: HEAD }, random);
      const append = Math.floor(incoming * part);
      const expected = toOracle(before);
      const calls = new ClosestCalls();
      const winners = foldAll(expected, toOracle(coming), append, sinks, calls);
      fc.pre(Math.min(calls.append, calls.merge) > NOISE);
      const { state, slotOf } = await folder.fold(before, coming, { novel: append }, sinks);
      assert.deepEqual([...slotOf], winners);
      assertSlots(state, expected, 1e-4);
      const keys = await folder.foldKeys(before, coming, { novel: append });
      const expectedKeys = toOracle(before);
      const keyCalls = new ClosestCalls();
      const keyWinners = foldAll(expectedKeys, toOracle(coming), append, 0, keyCalls);
      fc.pre(keyCalls.merge > NOISE);
      assert.deepEqual([...keys.slotOf], keyWinners);
      assertKeySlots(keys.state, expectedKeys, 1e-4);
    });
    await fc.assert(property, { seed: 7, numRuns: 60 });
  });

  test('given rows: they become slots in their order, the others merge, appended ones included', async () => {
    const property = fc.asyncProperty(shape, async ({ seed, groups, slots, incoming, part, sinks }) => {
      const random = seededRandom(seed);
      const before = randomSlots({ groups, slots, headSize: HEAD }, random);
      const coming = randomSlots({ groups, slots: incoming, headSize: HEAD }, random);
      const rows = Array.from({ length: incoming }, (_, row) => row).filter(() => random() < part);
      const expected = toOracle(before);
      const calls = new ClosestCalls();
      const winners = placeAll(expected, toOracle(coming), rows, sinks, calls);
      fc.pre(calls.merge > NOISE);
      const { state, slotOf } = await folder.fold(before, coming, { rows }, sinks);
      assert.deepEqual([...slotOf], winners);
      assertSlots(state, expected, 1e-4);
    });
    await fc.assert(property, { seed: 8, numRuns: 40 });
  });

  test('the first fold, into nothing: given rows are all there is to merge into', async () => {
    const random = seededRandom(3);
    const coming = randomSlots({ groups: 4, slots: 30, headSize: HEAD }, random);
    for (const rows of [[0], [0, 7, 29], Array.from({ length: 30 }, (_, row) => row)]) {
      const expected: RetrofitSlot[][] = [[], [], [], []];
      const winners = placeAll(expected, toOracle(coming), rows, 0);
      const { state, slotOf } = await folder.fold(emptySlots(4, HEAD), coming, { rows }, 0);
      assert.deepEqual([...slotOf], winners);
      assertSlots(state, expected, 1e-4);
      const keys = await folder.foldKeys(emptyKeySlots(4, HEAD), coming, { rows });
      assert.deepEqual([...keys.slotOf], winners);
      assertKeySlots(keys.state, expected, 1e-4);
    }
  });

  test('nothing coming in changes nothing', async () => {
    const before = randomSlots({ groups: 3, slots: 10, headSize: HEAD }, seededRandom(4));
    const { state, slotOf } = await folder.fold(before, emptySlots(3, HEAD), { novel: 0 }, 2);
    assert.deepEqual(state, before);
    assert.equal(slotOf.length, 0);
    const keys = await folder.foldKeys(before, emptyKeySlots(3, HEAD), { novel: 0 });
    assert.deepEqual(keys.state, before);
    assert.equal(keys.slotOf.length, 0);
  });

  test('exact ties: the lowest index wins, among the appended and among the slots', async () => {
    // 16 different keys at most, so almost every decision is a tie; the oracle breaks them by the lowest index (kvm.md).
    const property = fc.asyncProperty(shape, async ({ seed, groups, slots, incoming, part, sinks }) => {
      const random = seededRandom(seed);
      const before = axisSlots({ groups, slots, headSize: HEAD }, random);
      const coming = axisSlots({ groups, slots: incoming * 6, headSize: HEAD }, random);
      const append = Math.floor(incoming * 6 * part);
      const expected = toOracle(before);
      const winners = foldAll(expected, toOracle(coming), append, sinks);
      const { state, slotOf } = await folder.fold(before, coming, { novel: append }, sinks);
      assert.deepEqual([...slotOf], winners);
      assertSlots(state, expected, 0);
    });
    await fc.assert(property, { seed: 9, numRuns: 60 });
  });

  test('sinks take nothing, even where they are the token itself', async () => {
    const random = seededRandom(5);
    const before = randomSlots({ groups: 2, slots: 12, headSize: HEAD }, random);
    const same = sliceSlots(before, 0, 6);
    const { state, slotOf } = await folder.fold(before, same, { novel: 0 }, 6);
    assert(slotOf.every(slot => slot >= 6 && slot < 12));
    assert.deepEqual(sliceSlots(state, 0, 6), same);
    const open = await folder.fold(before, same, { novel: 0 }, 0);
    assert.deepEqual([...open.slotOf], [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
  });

  test('many slots: groups folded a few at a time are what each gives alone, bit for bit', async () => {
    const random = seededRandom(10);
    const before = randomSlots({ groups: 5, slots: 1250, headSize: HEAD }, random);
    const coming = randomSlots({ groups: 5, slots: 400, headSize: HEAD }, random);
    assert.equal(groupsAtOnce(coming.slots, before.slots), 2);
    for (const append of [{ novel: 30 }, { rows: [0, 7, 399] }]) {
      const together = await folder.fold(before, coming, append, 4);
      const keys = await folder.foldKeys(before, coming, append);
      for (let group = 0; group < 5; group++) {
        const [own, ownComing] = [pickGroups(before, [group]), pickGroups(coming, [group])];
        const alone = await folder.fold(own, ownComing, append, 4);
        assert.deepEqual(pickGroups(together.state, [group]), alone.state);
        assert.deepEqual(together.slotOf.slice(group * 400, (group + 1) * 400), alone.slotOf);
        const aloneKeys = await folder.foldKeys(own, ownComing, append);
        assert.deepEqual(keys.slotOf.slice(group * 400, (group + 1) * 400), aloneKeys.slotOf);
        const { slots } = keys.state;
        assert.deepEqual(
          keys.state.keySum.slice(group * slots * HEAD, (group + 1) * slots * HEAD),
          aloneKeys.state.keySum,
        );
      }
    }
  });

  test('a fold leaves the state it was given as it was', async () => {
    const random = seededRandom(6);
    const before = randomSlots({ groups: 2, slots: 12, headSize: HEAD }, random);
    const copy = structuredClone(before);
    await folder.fold(before, randomSlots({ groups: 2, slots: 20, headSize: HEAD }, random), { novel: 3 }, 4);
    assert.deepEqual(before, copy);
  });
});

suite('read graph against its formula', function () {
  this.timeout(60_000);
  let folder: Folder;
  suiteSetup(async () => {
    ({ folder } = await sharedLlama());
  });

  /** Direction of each sum times its radius times a factor (retrofit.md, table). */
  function formula(sums: Float32Array, factors: (row: number) => number): number[] {
    const out: number[] = [];
    for (let row = 0; row < sums.length / HEAD; row++) {
      const sum = [...sums.subarray(row * HEAD, (row + 1) * HEAD)];
      const length = Math.hypot(...sum);
      out.push(...sum.map(value => (length === 0 ? 0 : (value / length) * factors(row))));
    }
    return out;
  }

  test('keys: direction x creating length x temperature; values: direction x creating length', async () => {
    const random = seededRandom(10);
    const state = randomSlots({ groups: 5, slots: 33, headSize: HEAD }, random);
    const temperature = Float32Array.from({ length: 5 * 33 }, () => 0.5 + random());
    const read = await folder.read(state, temperature);
    const keys = formula(state.keySum, row => state.keyRadius[row]! * temperature[row]!);
    assertClose('keys', read.keys, keys, 1e-6);
    assertClose(
      'values',
      read.values,
      formula(state.valueSum, row => state.valueRadius[row]!),
      1e-6,
    );
    const plain = await folder.read(state);
    assertClose(
      'keys without temperature',
      plain.keys,
      formula(state.keySum, row => state.keyRadius[row]!),
      1e-6,
    );
  });

  test('sums that cancelled to zero read as zero, not as NaN', async () => {
    const state: Slots = randomSlots({ groups: 1, slots: 2, headSize: HEAD }, seededRandom(11));
    state.keySum.fill(0, 0, HEAD);
    state.valueSum.fill(0, HEAD);
    const { keys, values } = await folder.read(state);
    assert.deepEqual([...keys.subarray(0, HEAD)], new Array(HEAD).fill(0));
    assert.deepEqual([...values.subarray(HEAD)], new Array(HEAD).fill(0));
    assert(keys.every(Number.isFinite) && values.every(Number.isFinite));
  });

  test('no slots read as nothing', async () => {
    const { keys, values } = await folder.read(emptySlots(5, HEAD));
    assert.deepEqual([keys.length, values.length], [0, 0]);
  });
});
