/**
 * Tiny random decoder checkpoints with the tensors and keys of a Hugging Face folder, the same for the same options on every machine.
 * Never trained: for comparing the engine with the oracle, number by number. Values come from a seeded generator and are exact float32.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LlamaConfig } from './llama-config.js';
import type { Tensor } from './safetensors.js';
import { floatValues, writeSafetensors } from './safetensors.js';

export interface TinyModelOptions {
  readonly seed?: number;
  /** `qwen2` has biases on q, k, v; `qwen3` norms on q and k. */
  readonly family?: 'llama' | 'qwen2' | 'qwen3';
  readonly layers?: number;
  readonly width?: number;
  readonly heads?: number;
  readonly keyHeads?: number;
  readonly headSize?: number;
  readonly mlpWidth?: number;
  readonly vocabulary?: number;
  /** Whether the head is the embedding. */
  readonly tied?: boolean;
  /** Llama 3.1's scaled rotary. */
  readonly scaledRotary?: boolean;
}

/** One tiny model of each kind, with a text whose fold decisions are all far from ties (see `tinyReading`). */
export const tinyVariants = {
  llama: { model: {}, textSeed: 112 },
  llama3: { model: { scaledRotary: true, tied: false }, textSeed: 59 },
  qwen2: { model: { family: 'qwen2' }, textSeed: 3 },
  qwen3: { model: { family: 'qwen3', tied: false, headSize: 12 }, textSeed: 46 },
} as const satisfies Record<string, { model: TinyModelOptions; textSeed: number }>;

/**
 * How the variants are read. With the schedules fixed(24), powerLaw(4, 0.5), saturating(64) and even(60, 200) no append and no merge
 * is decided by less than 1e-4 in cosine; float32 is off by some 1e-6.
 */
export const tinyReading = { chunk: 16, windowChunks: 2, sinks: 4, readDistance: 64 } as const;

/** The text of a variant: 200 different tokens. */
export function tinyText(variant: keyof typeof tinyVariants): Int32Array {
  return distinctTokens(200, 256, tinyVariants[variant].textSeed);
}

export interface TinyModel {
  readonly config: LlamaConfig;
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The tensors' values by name, what `RetrofitOracle` takes. */
  readonly weights: ReadonlyMap<string, Float32Array>;
}

/** Uniform numbers in [0, 1): mulberry32, 32 bits of state. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A text of `count` different tokens, shuffled: layer 0's keys depend on the token alone, so a token that comes twice makes exact
 * ties between slots there, which float32 noise would break either way.
 */
export function distinctTokens(count: number, vocabulary: number, seed: number): Int32Array {
  const random = seededRandom(seed);
  const tokens = Int32Array.from({ length: vocabulary }, (_, i) => i);
  for (let i = 0; i < count; i++) {
    const j = i + Math.floor(random() * (vocabulary - i));
    [tokens[i], tokens[j]] = [tokens[j]!, tokens[i]!];
  }
  return tokens.slice(0, count);
}

/**
 * 3 layers, width 48, 6 query heads on 2 key heads of 8, 256 tokens, unless told otherwise. Weights are uniform with variance
 * 1/inputs (q and k a little more, so that attention is not flat); norms and biases are random too, so that leaving one out shows.
 */
export function tinyModel(options: TinyModelOptions = {}): TinyModel {
  const o = { seed: 1, family: 'llama', layers: 3, width: 48, heads: 6, keyHeads: 2, headSize: 8, ...options };
  const { mlpWidth = 80, vocabulary = 256, tied = true, scaledRotary = false } = options;
  const random = seededRandom(o.seed);
  const tensors = new Map<string, Tensor>();
  const add = (name: string, shape: number[], spread: number, middle = 0) => {
    const length = shape.reduce((a, b) => a * b, 1);
    tensors.set(name, { shape, data: Float32Array.from({ length }, () => middle + (random() * 2 - 1) * spread) });
  };
  const linear = (name: string, outputs: number, inputs: number, gain = 1) =>
    add(`${name}.weight`, [outputs, inputs], gain * Math.sqrt(3 / inputs));
  const norm = (name: string, size: number) => add(`${name}.weight`, [size], 0.4, 1);

  add('model.embed_tokens.weight', [vocabulary, o.width], 1);
  for (let layer = 0; layer < o.layers; layer++) {
    const at = `model.layers.${layer}.`;
    const outputs = { q: o.heads * o.headSize, k: o.keyHeads * o.headSize, v: o.keyHeads * o.headSize };
    norm(`${at}input_layernorm`, o.width);
    for (const [name, size] of Object.entries(outputs)) {
      linear(`${at}self_attn.${name}_proj`, size, o.width, name === 'v' ? 1 : 1.3);
      if (o.family === 'qwen2') add(`${at}self_attn.${name}_proj.bias`, [size], 0.5);
    }
    if (o.family === 'qwen3') for (const name of ['q_norm', 'k_norm']) norm(`${at}self_attn.${name}`, o.headSize);
    linear(`${at}self_attn.o_proj`, o.width, outputs.q);
    norm(`${at}post_attention_layernorm`, o.width);
    linear(`${at}mlp.gate_proj`, mlpWidth, o.width);
    linear(`${at}mlp.up_proj`, mlpWidth, o.width);
    linear(`${at}mlp.down_proj`, o.width, mlpWidth);
  }
  norm('model.norm', o.width);
  if (!tied) linear('lm_head', vocabulary, o.width);
  const config = tinyConfig({ ...o, mlpWidth, vocabulary, tied, scaledRotary });
  return { config, tensors, weights: floatValues(tensors) };
}

function tinyConfig(o: Required<Omit<TinyModelOptions, 'family'>> & { family: string }): LlamaConfig {
  const architectures: Record<string, string> = { llama: 'Llama', qwen2: 'Qwen2', qwen3: 'Qwen3' };
  const scaling = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
  return {
    architectures: [`${architectures[o.family]!}ForCausalLM`],
    model_type: o.family,
    hidden_size: o.width,
    intermediate_size: o.mlpWidth,
    num_hidden_layers: o.layers,
    num_attention_heads: o.heads,
    num_key_value_heads: o.keyHeads,
    head_dim: o.headSize,
    vocab_size: o.vocabulary,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    rope_scaling: o.scaledRotary ? { rope_type: 'llama3', ...scaling } : null,
    tie_word_embeddings: o.tied,
    hidden_act: 'silu',
    max_position_embeddings: 4096,
    bos_token_id: 1,
    eos_token_id: 2,
    torch_dtype: 'float32',
  };
}

/** Writes `config.json` and `model.safetensors` into `folder`, which is made if need be. */
export function writeTinyModel(model: TinyModel, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), `${JSON.stringify(model.config, null, 2)}\n`);
  writeSafetensors(join(folder, 'model.safetensors'), model.tensors);
}
