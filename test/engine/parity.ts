/**
 * How far the ONNX engine is from figures of other people's code, measured case by case: the authors' golden data for their
 * models, Hugging Face's for ordinary checkpoints. The tests hold the differences against golden/README.md's tolerances,
 * `npm run bench -- parity` prints them. Never asserts by itself.
 */
import type { Model } from '../../src/engine/model.js';
import { floatData } from '../../src/engine/ort.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { goldenPath, largestDifference, tensor } from '../oracle/golden.js';
import type { Tensors } from '../reference/safetensors.js';
import { readSafetensors } from '../reference/safetensors.js';
import { argmax } from '../reference/vectors.js';

export const LOGITS = 1e-4;
export const STATES = 5e-4;

/** With golden states and windows. */
export const mainCases = ['fixed', 'power_law', 'saturating', 'hybrid_swa', 'hybrid_rwkv7'];
export const extraCases = ['no_append_gate', 'no_merge_gate', 'no_head_temps', 'no_sink_cap64', 'fixed16'].map(
  name => `extra/${name}`,
);
export const huggingFaceCases = ['llama', 'llama3_rope', 'qwen2', 'qwen3'].map(name => `hf/${name}`);

export interface Parity {
  readonly case: string;
  /** Largest difference of a logit, prefill and decode. */
  readonly logits: number;
  /** Largest difference of a state or window; absent where the golden data has none. */
  readonly state?: number;
  /** Whether every greedy token is the golden one. */
  readonly greedy: boolean;
  /** Golden tensors compared, and all there are. */
  readonly compared: number;
  readonly expected: number;
}

export function goldenOf(name: string): Tensors {
  return readSafetensors(goldenPath(`${name}/golden.safetensors`));
}

/** A case of the authors: the prompt fed in calls of these lengths (default: at once), then greedy decoding. */
export async function measureBackbone(name: string, model: Model, lengths?: readonly number[]): Promise<Parity> {
  const golden = goldenOf(name);
  const prompt = [...tensor(golden, 'prompt_tokens').data];
  const session = await KvmSession.start(model, { schedule: model.manifest.kvm.trained!.schedule });
  const logits = await fed(session, prompt, lengths ?? [prompt.length]);
  const states = new StateDifferences(session, model, golden);
  states.measure('prefill');
  const expected = tensor(golden, 'decode_tokens').data;
  const vocabulary = model.manifest.architecture.vocabulary;
  const decoded = await greedily(session, logits.slice(-vocabulary), expected.length);
  states.measure('final');
  return {
    case: name,
    logits: Math.max(
      largestDifference(logits, tensor(golden, 'prefill_logits').data),
      largestDifference(decoded.logits, tensor(golden, 'decode_logits').data),
    ),
    ...(states.expected > 0 && { state: states.largest }),
    greedy: decoded.tokens.every((token, i) => token === expected[i]),
    compared: states.compared,
    expected: states.expected,
  };
}

/** An ordinary checkpoint: 96 tokens through the window alone, then greedy tokens. */
export async function measureHuggingFace(name: string, model: Model): Promise<Parity> {
  const golden = goldenOf(name);
  const prompt = [...tensor(golden, 'prompt_tokens').data];
  const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
  const logits = await fed(session, prompt, [prompt.length]);
  const expected = tensor(golden, 'greedy_tokens').data;
  const { tokens } = await greedily(session, logits.slice(-model.manifest.architecture.vocabulary), expected.length);
  return {
    case: name,
    logits: largestDifference(logits, tensor(golden, 'logits').data),
    greedy: tokens.every((token, i) => token === expected[i]),
    compared: 0,
    expected: 0,
  };
}

/** Logits [n·V] after each token. */
async function fed(session: KvmSession, ids: readonly number[], lengths: readonly number[]): Promise<number[]> {
  const logits: number[] = [];
  let at = 0;
  for (const length of lengths) {
    await prefill(
      session,
      ids.slice(at, (at += length)),
      (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
      pass => void logits.push(...pass.logits),
    );
  }
  return logits;
}

async function greedily(
  session: KvmSession,
  last: readonly number[],
  count: number,
): Promise<{ tokens: number[]; logits: number[] }> {
  const tokens: number[] = [];
  const logits: number[] = [];
  let row = last;
  for (let i = 0; i < count; i++) {
    tokens.push(argmax(Float64Array.from(row)));
    row = await fed(session, tokens.slice(-1), [1]);
    logits.push(...row);
  }
  return { tokens, logits };
}

/** Differences of every golden tensor of a moment: slots and windows of layers with KVM, what other layers carry. */
class StateDifferences {
  largest = 0;
  compared = 0;
  readonly expected: number;

  constructor(
    private readonly session: KvmSession,
    private readonly model: Model,
    private readonly golden: Tensors,
  ) {
    this.expected = [...golden.keys()].filter(name => /^(prefill|final)\./.test(name)).length;
  }

  measure(moment: 'prefill' | 'final'): void {
    const { heads, kvmLayers, layers } = this.model.manifest.architecture;
    const withKvm = Array.from({ length: layers }, (_, layer) => layer).filter(layer =>
      this.golden.has(`${moment}.h.${layer}.s_k`),
    );
    const compare = (name: string, actual: () => ArrayLike<number>): void => {
      const expected = this.golden.get(`${moment}.${name}`);
      if (!expected) return;
      this.compared++;
      this.largest = Math.max(this.largest, largestDifference(actual(), expected.data));
    };
    const { keySum, valueSum, valueRadius } = this.session.slots;
    const blocks = this.session.windowBlocks();
    withKvm.forEach((layer, index) => {
      const ofLayer = (values: ArrayLike<number>): ArrayLike<number> => {
        const run = values.length / kvmLayers;
        return Array.from({ length: run }, (_, i) => values[index * run + i]!);
      };
      const window = (pick: (block: (typeof blocks)[number]) => Float32Array) => () =>
        ofLayer(joined(blocks.map(pick), heads * kvmLayers));
      const of = `h.${layer}`;
      compare(`${of}.s_k`, () => ofLayer(keySum));
      compare(`${of}.s_v`, () => ofLayer(valueSum));
      compare(`${of}.s_vlen`, () => ofLayer(valueRadius));
      compare(
        `${of}.window_k`,
        window(block => block.keys),
      );
      compare(
        `${of}.window_v`,
        window(block => block.values),
      );
      compare(
        `${of}.window_gate`,
        window(block => block.gates!),
      );
    });
    for (let layer = 0; layer < layers; layer++) {
      const carried = (name: string) => () => floatData(this.session.carriedTensor(`layer.${layer}.${name}`)!);
      compare(`h.${layer}.swa_k`, carried('sliding_key'));
      compare(`h.${layer}.swa_v`, carried('sliding_value'));
      compare(`h.${layer}.rwkv7_state`, carried('state'));
    }
  }
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
