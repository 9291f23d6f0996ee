/**
 * The fold and read graphs of models trained with KVM against the rule of kvm.md, Update, in float64: tokens with merge gates,
 * slots of several tokens, given rows, sinks, first slots. Decisions are compared where they exceed float32 noise.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Append, Slots } from '../../src/engine/state.js';
import { Folder, emptySlots, joinSlots, sliceSlots } from '../../src/engine/state.js';
import type { Model } from '../../src/engine/model.js';
import { assertClose, goldenPath } from '../oracle/golden.js';
import { ClosestCalls } from '../reference/decisions.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { floatValues, readSafetensors } from '../reference/safetensors.js';
import { seededRandom } from '../reference/tiny-model.js';
import type { Vec } from '../reference/vectors.js';
import { norm, scaled } from '../reference/vectors.js';
import { BackboneFolder } from './backbone-folder.js';
import { foldWith, stateNorms } from './backbone-rule.js';
import { randomSlots, toOracle } from './tiny-slots.js';

/** 4 layers of 2 heads of 32, all with KVM. */
const GROUPS = 8;
const HEAD = 32;
const NOISE = 1e-4;
const weights = floatValues(readSafetensors(goldenPath('fixed/weights.safetensors')));

const stateNorm = stateNorms(weights, [0, 1, 2, 3], 2);
const foldByRule = foldWith(stateNorm);

function assertState(actual: Slots, expected: readonly (readonly RetrofitSlot[])[]): void {
  const all = expected.flat();
  assert.equal(actual.gate, undefined, 'slots have no gates');
  assert.equal(actual.groups * actual.slots, all.length, 'slots');
  const compare = (what: string, values: Float32Array, of: (slot: RetrofitSlot) => Iterable<number>): void =>
    assertClose(
      what,
      values,
      all.flatMap(slot => [...of(slot)]),
      NOISE,
    );
  compare('keys', actual.keySum, slot => slot.key);
  compare('values', actual.valueSum, slot => slot.value);
  compare('counts', actual.count, slot => [slot.count]);
  compare('key radii', actual.keyRadius, slot => [slot.keyRadius]);
  compare('value radii', actual.valueRadius, slot => [slot.valueRadius]);
}

/** Tokens: count 1, gates between 0.05 and 2.05. */
function randomTokens(slots: number, random: () => number): Slots {
  const ones = new Float32Array(GROUPS * slots).fill(1);
  return {
    ...randomSlots({ groups: GROUPS, slots, headSize: HEAD }, random),
    count: ones,
    gate: ones.map(() => 0.05 + 2 * random()),
  };
}

const shape = fc.record({
  seed: fc.integer({ min: 1, max: 1e6 }),
  slots: fc.integer({ min: 6, max: 40 }),
  incoming: fc.integer({ min: 1, max: 24 }),
  part: fc.constantFrom(0, 0.2, 0.5, 1),
  sinks: fc.integer({ min: 0, max: 5 }),
  tokens: fc.boolean(),
  given: fc.boolean(),
});

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

suite('fold graphs of trained models against the rule', function () {
  this.timeout(60_000);

  for (const [name, switches] of [
    ['fixed', { gatesAppends: true, gates: true }],
    ['extra/no_append_gate', { gatesAppends: false, gates: true }],
    ['extra/no_merge_gate', { gatesAppends: true, gates: false }],
  ] as const)
    test(`${name}: slots, sums, radii and where each incoming one went`, async () => {
      const model = await folder.model(name);
      let compared = 0;
      const property = fc.asyncProperty(shape, async ({ seed, slots, incoming, part, sinks, tokens, given }) => {
        const random = seededRandom(seed);
        const before = randomSlots({ groups: GROUPS, slots, headSize: HEAD }, random);
        const coming = tokens
          ? randomTokens(incoming, random)
          : randomSlots({ groups: GROUPS, slots: incoming, headSize: HEAD }, random);
        const rows = Array.from({ length: incoming }, (_, row) => row).filter(() => random() < part);
        const append: Append = given ? { rows } : { novel: Math.floor(incoming * part) };
        const expected = toOracle(before);
        const calls = new ClosestCalls();
        const winners = foldByRule(expected, coming, append, sinks, switches, calls);
        fc.pre(Math.min(calls.append, calls.merge) > NOISE);
        compared++;
        const { state, slotOf } = await model.folder.fold(before, coming, append, sinks);
        assert.deepEqual([...slotOf], winners);
        assertState(state, expected);
      });
      await fc.assert(property, { seed: 11, numRuns: 40 });
      assert(compared >= 40);
    });

  test('into nothing: given rows are all there is to merge into', async () => {
    const model = await folder.model('fixed');
    const coming = randomTokens(30, seededRandom(3));
    for (const rows of [[0], [0, 7, 29], Array.from({ length: 30 }, (_, row) => row)]) {
      const expected: RetrofitSlot[][] = Array.from({ length: GROUPS }, () => []);
      const calls = new ClosestCalls();
      const winners = foldByRule(expected, coming, { rows }, 0, { gatesAppends: true, gates: true }, calls);
      assert(calls.merge > NOISE);
      const { state, slotOf } = await model.folder.fold(emptySlots(GROUPS, HEAD), coming, { rows }, 0);
      assert.deepEqual([...slotOf], winners);
      assertState(state, expected);
    }
  });

  test('first slots: the tokens without their gates, or gated with ungated radii where the model says so', async () => {
    const model = await folder.model('fixed');
    const tokens = randomTokens(5, seededRandom(4));
    const { gate, ...plain } = tokens;
    assert.deepEqual(model.folder.firstSlots(tokens), plain);
    const trained = model.manifest.kvm.trained!;
    const gating = await Folder.load(model.path, { threads: 1 }, { ...trained, gatesInitialState: true });
    const gated = (values: Float32Array): number[] => [...values].map((v, i) => v * gate![Math.floor(i / HEAD)]!);
    const first = gating.firstSlots(tokens);
    assertClose('keys', first.keySum, gated(tokens.keySum), 1e-6);
    assertClose('values', first.valueSum, gated(tokens.valueSum), 1e-6);
    assert.deepEqual([first.valueRadius, first.gate], [tokens.valueRadius, undefined]);
    for (const graph of gating.graphs) await graph.release();
  });

  test('tokens cut and joined keep their gates', () => {
    const tokens = randomTokens(9, seededRandom(5));
    assert.deepEqual(joinSlots([sliceSlots(tokens, 0, 4), sliceSlots(tokens, 4, 9)]), tokens);
  });
});

suite('read and token graphs of trained models against their formulas', function () {
  this.timeout(60_000);
  let model: Model;
  suiteSetup(async () => {
    model = await folder.model('fixed');
  });

  test('keys: LN_s of the sum x temperature; values: direction x creating length', async () => {
    const random = seededRandom(6);
    const state = randomSlots({ groups: GROUPS, slots: 21, headSize: HEAD }, random);
    const temperature = Float32Array.from({ length: GROUPS * 21 }, () => 0.5 + random());
    const { keys, values } = await model.folder.read(state, temperature);
    const expected = toOracle(state).map((group, g) =>
      group.map(({ key, value, valueRadius }, slot) => ({
        key: scaled(stateNorm(g, key), temperature[g * 21 + slot]!),
        value: scaled(value, valueRadius / norm(value)),
      })),
    );
    assertClose(
      'keys',
      keys,
      expected.flat().flatMap(({ key }) => [...key]),
      1e-5,
    );
    assertClose(
      'values',
      values,
      expected.flat().flatMap(({ value }) => [...value]),
      1e-5,
    );
  });

  test('tokens: the rotated dimensions leave a key, then LN_s; values, lengths and gates stay', async () => {
    const rows = 7;
    const { keySum, valueSum, gate } = randomTokens(rows, seededRandom(7));
    const rotation = { rows, indices: [], cos: new Float32Array(0), sin: new Float32Array(0) };
    const window = { keys: keySum, values: valueSum, gates: gate! };
    const tokens = await model.folder.tokensOf(window, rotation, GROUPS, HEAD);
    const keys: Vec[] = [];
    const lengths: number[] = [];
    for (let row = 0; row < GROUPS * rows; row++) {
      const key = Float64Array.from(keySum.subarray(row * HEAD, (row + 1) * HEAD));
      keys.push(stateNorm(Math.floor(row / rows), key.fill(0, 0, 16)));
      lengths.push(norm(valueSum.subarray(row * HEAD, (row + 1) * HEAD)));
    }
    assertClose(
      'keys',
      tokens.keySum,
      keys.flatMap(key => [...key]),
      1e-5,
    );
    assertClose('key radii', tokens.keyRadius, keys.map(norm), 1e-4);
    assertClose('value radii', tokens.valueRadius, lengths, 1e-4);
    assert.deepEqual(tokens.valueSum, valueSum);
    assert.deepEqual([tokens.gate, tokens.slots], [gate, rows]);
    assert(tokens.count.every(count => count === 1));
  });
});
