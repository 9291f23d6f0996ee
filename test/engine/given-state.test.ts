/**
 * Sessions that begin with a state: shared sinks, composed slots, biases and temperatures, against the float64 oracle.
 * The engine protects every given slot where the oracle lets tokens merge into them, so only texts that merge nothing are
 * compared: shorter than the window, or kept whole.
 */
import assert from 'node:assert/strict';
import { biasOf, giveStates } from '../../src/engine/given-state.js';
import type { Manifest } from '../../src/engine/graph-contract.js';
import type { Model } from '../../src/engine/model.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import type { GivenState } from '../../src/engine/read-state.js';
import type { Slots } from '../../src/engine/state.js';
import { emptySlots, joinSlots, sliceSlots } from '../../src/engine/state.js';
import { assertClose } from '../oracle/golden.js';
import * as rules from '../reference/chunks.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import type { RetrofitOptions } from '../reference/retrofit.js';
import { distinctTokens, seededRandom, tinyModel, tinyReading, tinyVariants } from '../reference/tiny-model.js';
import { fromOracle } from './oracle-rules.js';
import { sharedLlama } from './tiny-shared.js';

suite('bias of a composed state', () => {
  test('linear in the logarithm between the points, flat outside', () => {
    // The default entry (retrofit.md): -1 up to 4 tokens a slot, -5 from 45.
    const points = [
      { tokensPerSlot: 4, bias: -1 },
      { tokensPerSlot: 45, bias: -5 },
    ];
    assert.equal(biasOf(points, 1), -1);
    assert.equal(biasOf(points, 4), -1);
    assert.equal(biasOf(points, 45), -5);
    assert.equal(biasOf(points, 1000), -5);
    // The geometric mean is half way.
    assertClose('half way', [biasOf(points, Math.sqrt(4 * 45))], [-3], 1e-12);
    // ln(8/4) / ln(45/4) = 0.28638; -1 - 4 x 0.28638.
    assertClose('at 8', [biasOf(points, 8)], [-2.14552], 1e-4);
  });

  test('three points, one point, none', () => {
    const points = [
      { tokensPerSlot: 2, bias: 0 },
      { tokensPerSlot: 8, bias: -2 },
      { tokensPerSlot: 32, bias: -3 },
    ];
    assertClose(
      '3 points',
      [4, 8, 16].map(at => biasOf(points, at)),
      [-1, -2, -2.5],
      1e-12,
    );
    assert.deepEqual(
      [biasOf([{ tokensPerSlot: 8, bias: -2 }], 1), biasOf([{ tokensPerSlot: 8, bias: -2 }], 9)],
      [-2, -2],
    );
    assert.equal(biasOf([], 10), 0);
  });
});

const LAYERS = 3;
const HEADS = 6;
const KEY_HEADS = 2;
const HEAD = 8;
const SINKS = tinyReading.sinks;

suite('sessions with a given state against the oracle', function () {
  this.timeout(60_000);
  const tiny = tinyModel(tinyVariants.llama.model);
  const keep: RetrofitOptions = { ...tiny, ...tinyReading, schedule: rules.keepEverything() };
  const text = distinctTokens(90, 256, 77);
  let model: Model;
  /** [layer][key head][slot]: a reading of another text, compressed; its first slots are the sinks. */
  let given: RetrofitSlot[][][];
  let sinks: Slots;
  let composed: Slots;

  suiteSetup(async () => {
    model = await sharedLlama();
    const reader = new RetrofitOracle({ ...keep, schedule: rules.even(30, 120) });
    reader.feed(distinctTokens(120, 256, 78));
    given = reader.heads.map(layer => layer.map(head => head.slots));
    const all = fromOracle(given.flat());
    sinks = sliceSlots(all, 0, SINKS);
    composed = sliceSlots(all, SINKS, all.slots);
    assert(
      composed.count.some(count => count > 1),
      'some slots hold several tokens',
    );
  });

  function manifestWith(kvm: Partial<Manifest['kvm']>): Manifest {
    return { ...model.manifest, kvm: { ...model.manifest.kvm, stateBias: [], ...kvm } };
  }

  async function logits(state: GivenState, ids: Int32Array, piece: number): Promise<number[]> {
    const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' }, given: state });
    const all: number[] = [];
    for (let done = 0; done < ids.length; done += piece) {
      await prefill(
        session,
        [...ids.subarray(done, done + piece)],
        (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
        pass => void all.push(...pass.logits),
      );
    }
    return all;
  }

  const expectedOf = (options: RetrofitOptions, ids: Int32Array) =>
    new RetrofitOracle(options).feed(ids).flatMap(row => [...row]);

  /** The same weight said otherwise: exp(bias) tokens more in a slot, keys longer by the temperature. */
  function reweighed(bias: (slot: number) => number, temperature = 1): RetrofitSlot[][][] {
    return given.map(layer =>
      layer.map(head =>
        head.map((slot, i) =>
          i < SINKS
            ? slot
            : { ...slot, count: slot.count * Math.exp(bias(i)), keyRadius: slot.keyRadius * temperature },
        ),
      ),
    );
  }

  const short = text.subarray(0, 32);

  test('no bias: prefill and decode, text in the window', async () => {
    const state = giveStates(manifestWith({}), sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const expected = expectedOf({ ...keep, initialState: given }, short);
    assertClose('prefill', await logits(state, short, 32), expected, 1e-4);
    assertClose('decode', await logits(state, short, 1), expected, 1e-4);
    assertClose('7 at a time', await logits(state, short, 7), expected, 1e-4);
    // The state matters: without it the logits are others.
    const without = expectedOf(keep, short);
    assert(without.some((logit, i) => Math.abs(logit - expected[i]!) > 0.1));
  });

  test('a text three windows long, nothing merged: its own slots stand behind the given ones', async () => {
    const state = giveStates(manifestWith({}), sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const expected = expectedOf({ ...keep, initialState: given }, text);
    assertClose('logits', await logits(state, text, 90), expected, 1e-4);
    assertClose('logits, token by token', await logits(state, text, 1), expected, 1e-4);
  });

  test('bias by compression and by head, temperature by key head', async () => {
    const random = seededRandom(5);
    const table = (columns: number, valueAt: () => number) =>
      Array.from({ length: LAYERS }, () => Array.from({ length: columns }, valueAt));
    const stateBiasOfHead = table(HEADS, () => random() * 2 - 1);
    const stateTemperatureOfKeyHead = table(KEY_HEADS, () => 0.7 + random());
    const manifest = manifestWith({
      stateBias: [{ tokensPerSlot: 4, bias: -1.5 }],
      stateBiasOfHead,
      stateTemperatureOfKeyHead,
    });
    const state = giveStates(manifest, sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const expected = expectedOf(
      {
        ...keep,
        initialState: given,
        stateBias: stateBiasOfHead.map(layer => layer.map(bias => bias - 1.5)),
        // Three query heads read each key head.
        stateTemperature: stateTemperatureOfKeyHead.map(layer => layer.flatMap(own => [own, own, own])),
      },
      short,
    );
    assertClose('prefill', await logits(state, short, 32), expected, 1e-4);
    assertClose('decode', await logits(state, short, 1), expected, 1e-4);
  });

  test('the scale of values by key head: as slots whose values are so much longer, the sinks as they were', async () => {
    const stateValueScaleOfKeyHead = Array.from({ length: LAYERS }, (_, layer) => [0.5 + layer, 1.25]);
    const before = composed.valueRadius.slice();
    const state = giveStates(manifestWith({ stateValueScaleOfKeyHead }), sinks, [
      { slots: composed, tokensPerSlot: 4 },
    ]);
    const longer = given.map((layer, l) =>
      layer.map((head, h) =>
        head.map((slot, i) =>
          i < SINKS ? slot : { ...slot, valueRadius: slot.valueRadius * stateValueScaleOfKeyHead[l]![h]! },
        ),
      ),
    );
    assertClose('logits', await logits(state, short, 32), expectedOf({ ...keep, initialState: longer }, short), 1e-4);
    assert.deepEqual(composed.valueRadius, before, 'the state given is not changed');
  });

  test('more tokens than the weights were fitted beside weigh so much less, fewer as they are', async () => {
    const states = [{ slots: composed, tokensPerSlot: 4 }];
    const tokens = composed.slots * 4;
    const more = giveStates(manifestWith({ stateTokens: tokens / 3 }), sinks, states);
    const expected = expectedOf({ ...keep, initialState: reweighed(() => -Math.log(3)) }, short);
    assertClose('three times as many', await logits(more, short, 32), expected, 1e-4);
    const fewer = giveStates(manifestWith({ stateTokens: tokens * 3 }), sinks, states);
    assert.deepEqual(fewer.bias, giveStates(manifestWith({}), sinks, states).bias);
  });

  test('bias and temperature touch the given slots only, not those of the text', async () => {
    const manifest = manifestWith({
      stateBias: [{ tokensPerSlot: 4, bias: -2 }],
      stateTemperatureOfKeyHead: Array.from({ length: LAYERS }, () => [1.4, 1.4]),
    });
    const state = giveStates(manifest, sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const expected = expectedOf({ ...keep, initialState: reweighed(() => -2, 1.4) }, text);
    assertClose('logits', await logits(state, text, 90), expected, 1e-4);
  });

  test('two states of different compression, each with its own bias; an empty one adds nothing', async () => {
    const manifest = manifestWith({
      stateBias: [
        { tokensPerSlot: 4, bias: -1 },
        { tokensPerSlot: 16, bias: -3 },
      ],
    });
    const half = composed.slots >> 1;
    const state = giveStates(manifest, sinks, [
      { slots: sliceSlots(composed, 0, half), tokensPerSlot: 4 },
      { slots: emptySlots(composed.groups, HEAD), tokensPerSlot: 4 },
      { slots: sliceSlots(composed, half, composed.slots), tokensPerSlot: 8 },
    ]);
    assert.deepEqual(state.slots, joinSlots([sinks, composed]));
    // 8 is half way between 4 and 16 in the logarithm: -2.
    const expected = expectedOf({ ...keep, initialState: reweighed(i => (i < SINKS + half ? -1 : -2)) }, short);
    assertClose('logits', await logits(state, short, 32), expected, 1e-4);
  });

  test('a free slot is not seen, wherever it lies in each group', async () => {
    const wide = composed.slots + 3;
    const spread = (values: Float32Array, size: number): Float32Array => {
      const all = new Float32Array(composed.groups * wide * size);
      for (let group = 0; group < composed.groups; group++) {
        for (let slot = 0; slot < composed.slots; slot++) {
          // Three free ones: at the front, after slot 5 of some groups and slot 9 of others, at the end.
          const to = slot + 1 + (slot > (group % 2 ? 5 : 9) ? 1 : 0);
          const from = (group * composed.slots + slot) * size;
          all.set(values.subarray(from, from + size), (group * wide + to) * size);
        }
      }
      return all;
    };
    const holed: Slots = {
      ...{ groups: composed.groups, slots: wide, headSize: HEAD },
      ...{ keySum: spread(composed.keySum, HEAD), valueSum: spread(composed.valueSum, HEAD) },
      ...{ count: spread(composed.count, 1), keyRadius: spread(composed.keyRadius, 1) },
      valueRadius: spread(composed.valueRadius, 1),
    };
    const state = giveStates(manifestWith({}), sinks, [{ slots: holed, tokensPerSlot: 4 }]);
    const expected = expectedOf({ ...keep, initialState: given }, short);
    assertClose('prefill', await logits(state, short, 32), expected, 1e-4);
    assertClose('decode', await logits(state, short, 1), expected, 1e-4);
  });

  test('the sinks alone: a text behind the first tokens of every text', async () => {
    const state = giveStates(manifestWith({}), sinks, []);
    const alone = given.map(layer => layer.map(head => head.slice(0, SINKS)));
    assertClose('logits', await logits(state, text, 90), expectedOf({ ...keep, initialState: alone }, text), 1e-4);
  });

  test('a growing text never merges into what was given', async () => {
    const state = giveStates(manifestWith({}), sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const session = await KvmSession.start(model, { schedule: { kind: 'fixed', slots: 16 }, given: state });
    await prefill(
      session,
      [...text],
      () => ({ logitRows: [] }),
      () => undefined,
    );
    assert.deepEqual(sliceSlots(session.slots, 0, state.slots.slots), state.slots);
    // 90 tokens, chunks of 16, window 32: 64 tokens have left (kvm.md: ceil(90/16)·16 - 32), all in 16 slots.
    const own = sliceSlots(session.slots, state.slots.slots, session.slots.slots);
    assert.equal(own.slots, 16);
    for (let group = 0; group < own.groups; group++) {
      const counts = own.count.subarray(group * 16, (group + 1) * 16);
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        64,
      );
    }
  });

  test('window only: nothing is added to what was given', async () => {
    const state = giveStates(manifestWith({}), sinks, [{ slots: composed, tokensPerSlot: 4 }]);
    const session = await KvmSession.start(model, { schedule: { kind: 'windowOnly' }, given: state });
    await prefill(
      session,
      [...text],
      () => ({ logitRows: [] }),
      () => undefined,
    );
    assert.deepEqual(session.slots, state.slots);
  });
});
