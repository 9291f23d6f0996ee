/**
 * The oracle of the authors' models gives their own figures: logits, states and greedy tokens of every golden case.
 * Tolerances are those of golden/README.md; the golden data is float32, the oracle float64.
 */
import assert from 'node:assert/strict';
import type { BackboneConfig } from '../reference/backbone-config.js';
import { BackboneOracle } from '../reference/backbone.js';
import { KvmMixer } from '../reference/kvm.js';
import { Rwkv7Mixer } from '../reference/rwkv7.js';
import { SlidingWindowMixer } from '../reference/sliding-window.js';
import type { Vec } from '../reference/vectors.js';
import { argmax } from '../reference/vectors.js';
import type { GoldenCase } from './golden.js';
import { assertClose, openCase, rowsOf, tensor } from './golden.js';

const LOGITS = 1e-4;
const STATES = 5e-4;

const main = ['fixed', 'power_law', 'saturating', 'hybrid_swa', 'hybrid_rwkv7'];
const extra = ['no_append_gate', 'no_merge_gate', 'no_head_temps', 'no_sink_cap64', 'fixed16'];

type Case = GoldenCase<BackboneConfig>;
const open = (name: string): Case => openCase(name, `${name}/weights.safetensors`);
const openExtra = (name: string): Case => openCase(`extra/${name}`, 'fixed/weights.safetensors');

const flat = (vectors: readonly Vec[]): number[] => vectors.flatMap(v => [...v]);

function checkLogits(rows: readonly Vec[], golden: Case['golden'], name: string): void {
  assertClose(name, flat(rows), tensor(golden, name).data, LOGITS);
}

/** Compares the state of every KVM layer, and windows where the golden file has them. */
function checkStates(oracle: BackboneOracle, golden: Case['golden'], moment: 'prefill' | 'final'): void {
  let compared = 0;
  const compare = (name: string, actual: readonly number[]) => {
    if (!golden.has(`${moment}.${name}`)) return;
    compared++;
    assertClose(`${moment}.${name}`, actual, tensor(golden, `${moment}.${name}`).data, STATES);
  };
  oracle.mixers.forEach((mixer, layer) => {
    if (mixer instanceof KvmMixer) {
      const slots = mixer.heads.flatMap(head => head.slots);
      const window = mixer.heads.flatMap(head => head.window);
      compare(`h.${layer}.s_k`, flat(slots.map(slot => slot.key)));
      compare(`h.${layer}.s_v`, flat(slots.map(slot => slot.value)));
      const radii = slots.map(slot => slot.radius);
      compare(`h.${layer}.s_vlen`, radii);
      compare(`h.${layer}.window_k`, flat(window.map(token => token.key)));
      compare(`h.${layer}.window_v`, flat(window.map(token => token.value)));
      const gates = window.map(token => token.gate);
      compare(`h.${layer}.window_gate`, gates);
    } else if (mixer instanceof SlidingWindowMixer) {
      compare(`h.${layer}.swa_k`, flat(mixer.windows.flat().map(token => token.key)));
      compare(`h.${layer}.swa_v`, flat(mixer.windows.flat().map(token => token.value)));
    } else compare(`h.${layer}.rwkv7_state`, flat(mixer.states.flat()));
  });
  const expected = [...golden.keys()].filter(name => name.startsWith(`${moment}.`)).length;
  assert.equal(compared, expected, `${moment}: every golden tensor is compared`);
}

/** Greedy decoding from the last logits: each golden token must be the argmax of the row before it. */
function checkDecoding(oracle: BackboneOracle, last: Vec, golden: Case['golden']): void {
  const expected = tensor(golden, 'decode_tokens').data;
  const rows: Vec[] = [];
  const tokens: number[] = [];
  let next = argmax(last);
  for (let i = 0; i < expected.length; i++) {
    tokens.push(next);
    rows.push(...oracle.feed([next]));
    next = argmax(rows.at(-1)!);
  }
  assert.deepEqual(tokens, [...expected], 'greedy tokens');
  checkLogits(rows, golden, 'decode_logits');
}

function checkCase({ config, weights, golden }: Case, withStates: boolean): void {
  const oracle = new BackboneOracle(config, weights);
  const rows = oracle.feed(tensor(golden, 'prompt_tokens').data);
  checkLogits(rows, golden, 'prefill_logits');
  if (withStates) checkStates(oracle, golden, 'prefill');
  checkDecoding(oracle, rows.at(-1)!, golden);
  if (withStates) checkStates(oracle, golden, 'final');
  for (const mixer of oracle.mixers) {
    if (!(mixer instanceof KvmMixer)) continue;
    // Float32 noise in these scores is some 1e-5: no golden decision may hang on it (golden/README.md chose prompts for that).
    assert(Math.min(mixer.calls.append, mixer.calls.merge) > 4e-4, 'a golden decision is too close to a tie');
  }
}

suite('oracle of the authors’ models', function () {
  this.timeout(20_000);

  for (const name of main)
    test(`${name}: prefill, states, greedy decoding as in the golden data`, () => checkCase(open(name), true));

  for (const name of extra)
    test(`extra/${name}: prefill and greedy decoding as in the golden data`, () => checkCase(openExtra(name), false));

  test('residual stream between the blocks, at the golden positions', () => {
    const { config, weights, golden } = open('fixed');
    const seen = new Map<string, Vec>();
    const oracle = new BackboneOracle(config, weights, (position, index, x) => seen.set(`${position}/${index}`, x));
    oracle.feed(tensor(golden, 'prompt_tokens').data);
    oracle.feed(tensor(golden, 'decode_tokens').data);
    const positions = [...tensor(golden, 'debug.positions').data];
    const streams = positions.flatMap(position => [0, 1, 2, 3, 4].map(index => seen.get(`${position}/${index}`)!));
    assertClose('debug.hidden', flat(streams), tensor(golden, 'debug.hidden').data, LOGITS);
  });

  // C = 16, W = 2: cuts on, just before and just after chunk boundaries, across several of them, and one token at a time.
  const splits: Record<string, number[]> = {
    'one token at a time': Array.from({ length: 203 }, () => 1),
    'whole chunks': [...Array.from({ length: 12 }, () => 16), 11],
    'one token into each chunk': [1, ...Array.from({ length: 12 }, () => 16), 10],
    'one token short of each chunk': [15, ...Array.from({ length: 11 }, () => 16), 12],
    'uneven, over several folds at once': [5, 60, 1, 33, 31, 73],
  };
  for (const [name, hows] of [
    ['power_law', Object.keys(splits)],
    ['hybrid_swa', ['one token at a time', 'one token short of each chunk']],
    ['hybrid_rwkv7', ['one token into each chunk', 'uneven, over several folds at once']],
  ] as const) {
    const { config, weights, golden } = open(name);
    const prompt = tensor(golden, 'prompt_tokens').data;
    let whole: number[] | undefined;
    for (const how of hows)
      test(`${name}: feeding ${how} gives bit for bit what one call gives`, () => {
        whole ??= flat(new BackboneOracle(config, weights).feed(prompt));
        const oracle = new BackboneOracle(config, weights);
        let at = 0;
        const rows = splits[how]!.flatMap(length => oracle.feed(prompt.subarray(at, (at += length))));
        assert.equal(at, 203, 'the split covers the prompt');
        assert.deepEqual(flat(rows), whole);
        checkStates(oracle, golden, 'prefill');
      });
  }

  test('what it cannot compute is refused by name', () => {
    const { config, weights } = open('fixed');
    const refused = (change: Partial<BackboneConfig>) => () => new BackboneOracle({ ...config, ...change }, weights);
    assert.throws(refused({ kvm_use_vlens: 0 }), /kvm_use_vlens=0/);
    assert.throws(refused({ state_budget_mode: 'linear' }), /state_budget_mode linear/);
    assert.throws(refused({ alt_layer_every: 2, alt_token_mixer: 'kda' }), /alt_token_mixer kda/);
    assert.throws(refused({ num_hidden_layers: 5 }), /no tensor transformer\.h\.4\./);
  });

  test('rows and kinds of the golden cases are what the tests take them for', () => {
    const { config, weights, golden } = open('hybrid_rwkv7');
    const kinds = new BackboneOracle(config, weights).mixers.map(mixer => mixer.constructor);
    assert.deepEqual(kinds, [Rwkv7Mixer, KvmMixer, Rwkv7Mixer, KvmMixer]);
    assert.equal(rowsOf(tensor(golden, 'decode_logits')).length, 40);
  });
});
