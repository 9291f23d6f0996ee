/**
 * The ONNX engine gives the figures of KVM's authors: logits, states, windows and greedy tokens of every golden case, converted
 * like any checkpoint. Tolerances are those of golden/README.md.
 */
import assert from 'node:assert/strict';
import type { Model } from '../../src/engine/model.js';
import { floatData } from '../../src/engine/ort.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { assertClose, goldenPath, tensor } from '../oracle/golden.js';
import type { Tensors } from '../reference/safetensors.js';
import { readSafetensors } from '../reference/safetensors.js';
import { argmax } from '../reference/vectors.js';
import { BackboneFolder } from './backbone-folder.js';

const LOGITS = 1e-4;
const STATES = 5e-4;

const main = ['fixed', 'power_law', 'saturating', 'hybrid_swa', 'hybrid_rwkv7'];
const extra = ['no_append_gate', 'no_merge_gate', 'no_head_temps', 'no_sink_cap64', 'fixed16'];

/** C = 16, W = 2: cuts on, just before and just after chunk boundaries, across several of them, one token at a time. */
const splits: Readonly<Record<string, readonly number[]>> = {
  'one token at a time': Array.from({ length: 203 }, () => 1),
  'two tokens at a time': [...Array.from({ length: 101 }, () => 2), 1],
  'five tokens at a time': [...Array.from({ length: 40 }, () => 5), 3],
  'whole chunks': [...Array.from({ length: 12 }, () => 16), 11],
  'one token into each chunk': [1, ...Array.from({ length: 12 }, () => 16), 10],
  'one token short of each chunk': [15, ...Array.from({ length: 11 }, () => 16), 12],
  'uneven, over several folds at once': [5, 60, 1, 33, 31, 73],
  'a prompt, then token by token': [130, ...Array.from({ length: 73 }, () => 1)],
  'token by token, then the rest': [...Array.from({ length: 37 }, () => 1), 166],
};

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

const goldenOf = (name: string): Tensors => readSafetensors(goldenPath(`${name}/golden.safetensors`));

function start(model: Model): Promise<KvmSession> {
  return KvmSession.start(model, { schedule: model.manifest.kvm.trained!.schedule });
}

/** Logits [n·V] after each token. */
async function logitsOf(session: KvmSession, ids: readonly number[]): Promise<number[]> {
  const logits: number[] = [];
  await prefill(
    session,
    ids,
    (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
    pass => void logits.push(...pass.logits),
  );
  return logits;
}

/** The rows of all blocks, group by group: what the authors keep in one tensor a layer. */
function joined(blocks: readonly Float32Array[], groups: number): number[] {
  return Array.from({ length: groups }, (_, group) =>
    blocks.flatMap(block => {
      const run = block.length / groups;
      return [...block.subarray(group * run, (group + 1) * run)];
    }),
  ).flat();
}

/** Compares every golden tensor of that moment: slots and windows of layers with KVM, what other layers carry. */
function assertStates(session: KvmSession, model: Model, golden: Tensors, moment: 'prefill' | 'final'): void {
  const { heads, kvmLayers } = model.manifest.architecture;
  const layers = [...golden.keys()].flatMap(name => {
    const layer = new RegExp(`^${moment}\\.h\\.(\\d+)\\.s_k$`).exec(name);
    return layer ? [Number(layer[1])] : [];
  });
  layers.sort((a, b) => a - b);
  assert.equal(layers.length, kvmLayers);
  let compared = 0;
  const compare = (name: string, actual: () => ArrayLike<number>): void => {
    if (!golden.has(`${moment}.${name}`)) return;
    compared++;
    assertClose(`${moment}.${name}`, actual(), tensor(golden, `${moment}.${name}`).data, STATES);
  };
  const { keySum, valueSum, valueRadius } = session.slots;
  const blocks = session.windowBlocks();
  layers.forEach((layer, index) => {
    const ofLayer = (values: ArrayLike<number>): ArrayLike<number> => {
      const run = values.length / kvmLayers;
      return Array.from({ length: run }, (_, i) => values[index * run + i]!);
    };
    const window = (pick: (block: (typeof blocks)[number]) => Float32Array) => () =>
      ofLayer(joined(blocks.map(pick), heads * kvmLayers));
    compare(`h.${layer}.s_k`, () => ofLayer(keySum));
    compare(`h.${layer}.s_v`, () => ofLayer(valueSum));
    compare(`h.${layer}.s_vlen`, () => ofLayer(valueRadius));
    compare(
      `h.${layer}.window_k`,
      window(block => block.keys),
    );
    compare(
      `h.${layer}.window_v`,
      window(block => block.values),
    );
    compare(
      `h.${layer}.window_gate`,
      window(block => block.gates!),
    );
  });
  for (let layer = 0; layer < model.manifest.architecture.layers; layer++) {
    const carried = (name: string) => () => floatData(session.carriedTensor(`layer.${layer}.${name}`)!);
    compare(`h.${layer}.swa_k`, carried('sliding_key'));
    compare(`h.${layer}.swa_v`, carried('sliding_value'));
    compare(`h.${layer}.rwkv7_state`, carried('state'));
  }
  const expected = [...golden.keys()].filter(name => name.startsWith(`${moment}.`)).length;
  assert.equal(compared, expected, `${moment}: every golden tensor is compared`);
}

/** Greedy decoding from the last logits: each golden token must be the argmax of the row before it. */
async function assertDecoding(session: KvmSession, last: readonly number[], golden: Tensors): Promise<void> {
  const expected = tensor(golden, 'decode_tokens').data;
  const logits: number[] = [];
  const tokens: number[] = [];
  let row = last;
  for (let i = 0; i < expected.length; i++) {
    tokens.push(argmax(Float64Array.from(row)));
    row = await logitsOf(session, tokens.slice(-1));
    logits.push(...row);
  }
  assert.deepEqual(tokens, [...expected], 'greedy tokens');
  assertClose('decode_logits', logits, tensor(golden, 'decode_logits').data, LOGITS);
}

suite('engine against the authors’ models', function () {
  this.timeout(120_000);

  for (const name of [...main, ...extra.map(rest => `extra/${rest}`)])
    suite(name, () => {
      const golden = goldenOf(name);
      const prompt = [...tensor(golden, 'prompt_tokens').data];
      const withStates = main.includes(name);
      let model: Model;
      suiteSetup(async () => {
        model = await folder.model(name);
      });

      test('prefill, states, windows, greedy decoding', async () => {
        const session = await start(model);
        const logits = await logitsOf(session, prompt);
        assertClose('prefill_logits', logits, tensor(golden, 'prefill_logits').data, LOGITS);
        if (withStates) assertStates(session, model, golden, 'prefill');
        await assertDecoding(session, logits.slice(-128), golden);
        if (withStates) assertStates(session, model, golden, 'final');
      });

      for (const [how, lengths] of Object.entries(splits))
        test(`fed ${how}: the same logits and states`, async () => {
          const session = await start(model);
          const logits: number[] = [];
          let at = 0;
          for (const length of lengths) logits.push(...(await logitsOf(session, prompt.slice(at, (at += length)))));
          assert.equal(at, prompt.length, 'the split covers the prompt');
          assertClose('prefill_logits', logits, tensor(golden, 'prefill_logits').data, LOGITS);
          if (withStates) assertStates(session, model, golden, 'prefill');
        });
    });
});
