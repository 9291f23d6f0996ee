/**
 * The oracle of ordinary checkpoints read through KVM: equal to Hugging Face where the window holds the whole text, and
 * beyond it equal to what the rules of retrofit.md give by other ways of computing the same thing.
 */
import assert from 'node:assert/strict';
import { even, fixed, keepEverything, powerLaw, saturating, windowOnly } from '../reference/chunks.js';
import type { LlamaConfig } from '../reference/llama-config.js';
import type { LayerHeads, RetrofitOptions } from '../reference/retrofit.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { slotOfOne } from '../reference/retrofit-head.js';
import { distinctTokens, tinyModel, tinyReading, tinyText, tinyVariants } from '../reference/tiny-model.js';
import type { Vec } from '../reference/vectors.js';
import { argmax, scaled } from '../reference/vectors.js';
import { assertClose, openCase, tensor } from './golden.js';

const flat = (vectors: readonly Vec[]): number[] => vectors.flatMap(v => [...v]);

/** A window of 256 tokens: longer than every golden text (112 with what is decoded). */
const longWindow = { schedule: keepEverything(), chunk: 128, windowChunks: 2, sinks: 4, readDistance: 64 };

const tiny = tinyModel();
const oracle = (options: Partial<RetrofitOptions> = {}) =>
  new RetrofitOracle({ ...tiny, ...tinyReading, schedule: even(60, 200), ...options });

/** q and k rows reordered so that pair (i, i + d/2) becomes (2i, 2i + 1), as GGUF stores the Llama family. */
function adjacentWeights(weights: ReadonlyMap<string, Float32Array>, width: number, headSize: number) {
  return new Map(
    [...weights].map(([name, values]): [string, Float32Array] => {
      if (!/self_attn\.[qk]_proj\.weight$/.test(name)) return [name, values];
      const half = headSize / 2;
      const moved = new Float32Array(values.length);
      for (let row = 0; row < values.length / width; row++) {
        const i = row % headSize;
        const target = row - i + (i < half ? 2 * i : 2 * (i - half) + 1);
        moved.set(values.subarray(row * width, (row + 1) * width), target * width);
      }
      return [name, moved];
    }),
  );
}

suite('oracle of ordinary checkpoints: window as long as the text', function () {
  this.timeout(20_000);

  for (const name of ['llama', 'llama3_rope', 'qwen2', 'qwen3'])
    test(`${name}: logits and greedy tokens of Hugging Face`, () => {
      const { config, weights, golden } = openCase<LlamaConfig>(`hf/${name}`, `hf/${name}/model.safetensors`);
      const model = new RetrofitOracle({ config, weights, ...longWindow });
      const rows = model.feed(tensor(golden, 'prompt_tokens').data);
      assertClose('logits', flat(rows), tensor(golden, 'logits').data, 1e-4);
      const greedy: number[] = [];
      for (let last = rows.at(-1)!; greedy.length < 16; last = model.feed([greedy.at(-1)!])[0]!)
        greedy.push(argmax(last));
      assert.deepEqual(greedy, [...tensor(golden, 'greedy_tokens').data]);
    });

  test('adjacent rotary pairs (GGUF) of permuted weights give the same logits, through state and window', () => {
    const text = tinyText('llama').subarray(0, 100);
    const weights = adjacentWeights(tiny.weights, 48, 8);
    const rows = oracle({ weights, rotaryPairs: 'adjacent' }).feed(text);
    assertClose('logits', flat(rows), flat(oracle().feed(text)), 1e-9);
  });

  test('other families and rotary scalings are refused by name', () => {
    const refused = (change: Partial<LlamaConfig>) => () => oracle({ config: { ...tiny.config, ...change } });
    assert.throws(refused({ model_type: 'gemma2' }), /model_type gemma2/);
    assert.throws(refused({ rope_scaling: { rope_type: 'yarn', factor: 4 } }), /rotary scaling yarn/);
  });
});

suite('oracle of ordinary checkpoints: reading the state', function () {
  this.timeout(20_000);

  /** Slots of one token, as layer by layer the model computed them: [layer][key head][1]. */
  function slotsOfToken(token: number): RetrofitSlot[][][] {
    const seen: LayerHeads[] = [];
    oracle({ onHeads: (layer, _, heads) => (seen[layer] = heads) }).feed([token]);
    return seen.map(({ keys, values }) => keys.map((key, h) => [slotOfOne(key, values[h]!)]));
  }

  test('a slot at read distance 1 is what ordinary attention makes of the token before', () => {
    const [before, token] = [17, 201];
    const expected = oracle().feed([before, token])[1]!;
    const [actual] = oracle({ initialState: slotsOfToken(before), readDistance: 1, sinks: 0 }).feed([token]);
    assertClose('logits', actual!, expected, 1e-12);
  });

  test('a slot of three equal tokens weighs as three slots: + log(count), direction times radius', () => {
    const one = slotsOfToken(17);
    const three = one.map(heads => heads.map(([slot]) => [slot!, slot!, slot!]));
    const merged = one.map(heads =>
      heads.map(([slot]) => [{ ...slot!, key: scaled(slot!.key, 3), value: scaled(slot!.value, 3), count: 3 }]),
    );
    const text = [5, 99, 42];
    const rows = oracle({ initialState: merged, sinks: 0 }).feed(text);
    assertClose('logits', flat(rows), flat(oracle({ initialState: three, sinks: 0 }).feed(text)), 1e-12);
  });

  test('bias and temperature weigh the slots behind the sinks only, per layer and query head', () => {
    const sinks = slotsOfToken(17);
    const others = slotsOfToken(180);
    const state = sinks.map((heads, l) => heads.map((slots, h) => [...slots, ...others[l]![h]!]));
    const text = [5, 99, 42];
    const perHead = (value: number) => [0, 1, 2].map(() => new Array<number>(6).fill(value));
    const muted = oracle({ initialState: state, sinks: 1, stateBias: perHead(-1e9) }).feed(text);
    assertClose('bias -1e9', flat(muted), flat(oracle({ initialState: sinks, sinks: 1 }).feed(text)), 1e-12);

    // Temperature 2 is a key of twice the length; bias log 3 is a count three times as large.
    const weighed = state.map(heads =>
      heads.map(([sink, slot]) => [sink!, { ...slot!, keyRadius: 2 * slot!.keyRadius, count: 3 }]),
    );
    const options = { initialState: state, sinks: 1, stateTemperature: perHead(2), stateBias: perHead(Math.log(3)) };
    const expected = oracle({ initialState: weighed, sinks: 1 }).feed(text);
    assertClose('temperature 2, bias log 3', flat(oracle(options).feed(text)), flat(expected), 1e-12);
  });

  test('window only: the first m tokens of the text, and no other, stay beside the window', () => {
    const text = tinyText('llama');
    const model = oracle({ schedule: windowOnly() });
    model.feed(text);
    for (const head of model.heads.flat()) {
      assert.deepEqual(head.slotOfToken.slice(0, 6), [0, 1, 2, 3, -1, -1]);
      assert.equal(head.slots.length, 4);
      assert(head.slotOfToken.slice(4).every(slot => slot === -1));
    }
    const given = oracle({ schedule: windowOnly(), initialState: slotsOfToken(17), sinks: 1 });
    given.feed(text);
    assert(given.heads.flat().every(head => head.slots.length === 1 && head.slotOfToken[0] === -1));
  });

  test('keep everything: as many slots as tokens that left, each of count 1, in order of position', () => {
    const model = oracle({ schedule: keepEverything() });
    model.feed(tinyText('llama'));
    // 200 tokens, C 16, W 2: the window starts at ceil(200/16)*16 - 32 = 176.
    const order = Array.from({ length: 176 }, (_, i) => i);
    for (const head of model.heads.flat()) {
      assert.deepEqual(head.slotOfToken, order);
      assert(head.slots.every(slot => slot.count === 1));
      assert.equal(head.window.length, 24);
    }
  });

  test('a given state stands before the text’s own slots and outside their budget', () => {
    const model = oracle({ schedule: fixed(20), initialState: slotsOfToken(17), sinks: 1 });
    model.feed(tinyText('llama'));
    for (const head of model.heads.flat()) {
      assert.equal(head.slots.length, 1 + 20);
      assert.deepEqual(head.slotOfToken.slice(0, 3), [1, 2, 3]);
      assert.equal(head.slots[0]!.count, 1, 'the sink takes no token');
    }
  });
});

suite('oracle of ordinary checkpoints: tiny models', function () {
  this.timeout(20_000);

  const schedules = {
    'fixed(24)': fixed(24),
    'powerLaw(4, 0.5)': powerLaw(4, 0.5),
    'saturating(64)': saturating(64),
    'even(60, 200)': even(60, 200),
  };
  // Slots after 200 tokens: the last fold has T = 192. 4*sqrt(192) = 55.4; 64*192/256 = 48; 192*60/200 = 57.6.
  const slots: Record<string, number> = {
    'fixed(24)': 24,
    'powerLaw(4, 0.5)': 55,
    'saturating(64)': 48,
    'even(60, 200)': 57,
  };

  for (const [name, { model }] of Object.entries(tinyVariants))
    test(`${name}: no decision within 1e-4 of a tie; slots as the schedules say`, () => {
      const made = tinyModel(model);
      const text = tinyText(name as keyof typeof tinyVariants);
      for (const [rule, schedule] of Object.entries(schedules)) {
        const read = new RetrofitOracle({ ...made, ...tinyReading, schedule });
        read.feed(text);
        const { append, merge } = read.closestCalls();
        assert(Math.min(append, merge) > 1e-4, `${rule}: append ${append}, merge ${merge}`);
        assert(read.heads.flat().every(head => head.slots.length === slots[rule]));
      }
    });

  const splits: Record<string, number[]> = {
    'one token at a time': Array.from({ length: 200 }, () => 1),
    'whole chunks': [...Array.from({ length: 12 }, () => 16), 8],
    'one token short of each chunk': [15, ...Array.from({ length: 11 }, () => 16), 9],
    'uneven, over several folds at once': [5, 60, 1, 33, 31, 70],
  };
  suite('fed in pieces', () => {
    const text = tinyText('llama');
    let whole: RetrofitOracle;
    let expected: readonly Vec[];
    suiteSetup(() => {
      whole = oracle();
      expected = whole.feed(text);
    });

    for (const [how, lengths] of Object.entries(splits)) {
      test(`feeding ${how} gives bit for bit what one call gives`, () => {
        const model = oracle();
        let at = 0;
        assert.deepEqual(
          flat(lengths.flatMap(length => model.feed(text.subarray(at, (at += length))))),
          flat(expected),
        );
        assert.equal(at, 200, 'the split covers the text');
        assert.deepEqual(
          model.heads.flat().map(head => head.slots),
          whole.heads.flat().map(head => head.slots),
        );
      });
    }
  });

  test('a model is the same for the same seed, different for another', () => {
    assert.deepEqual(tinyModel({ seed: 1 }).tensors, tiny.tensors);
    assert.notDeepEqual(tinyModel({ seed: 2 }).tensors, tiny.tensors);
    assert.equal(new Set(distinctTokens(200, 256, 1)).size, 200);
  });
});
