/**
 * Hugging Face `config.json` → `CheckpointConfig`. Anything in it that would change the arithmetic and that Longview
 * does not do is refused by name; never ignored.
 */
import { z } from 'zod';
import { LongviewError, quoted } from '../../base/index.js';
import type { DecoderConfig, RopeScaling } from './checkpoint.js';
import { validateConfig } from './config-limits.js';

const optionalNumber = z.number().nullish();
const tokenIds = z.union([z.number(), z.array(z.number()).max(64)]).nullish();

const rope = z
  .object({
    rope_type: z.string().nullish(),
    type: z.string().nullish(),
    rope_theta: optionalNumber,
    factor: optionalNumber,
    low_freq_factor: optionalNumber,
    high_freq_factor: optionalNumber,
    original_max_position_embeddings: optionalNumber,
    partial_rotary_factor: optionalNumber,
  })
  .nullish();

const schema = z.object({
  model_type: z.string(),
  num_hidden_layers: z.number(),
  hidden_size: z.number(),
  num_attention_heads: z.number(),
  num_key_value_heads: optionalNumber,
  head_dim: optionalNumber,
  intermediate_size: z.number(),
  vocab_size: z.number(),
  rms_norm_eps: optionalNumber,
  max_position_embeddings: z.number(),
  rope_theta: optionalNumber,
  rope_scaling: rope,
  rope_parameters: rope,
  partial_rotary_factor: optionalNumber,
  tie_word_embeddings: z.boolean().nullish(),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  hidden_act: z.string().nullish(),
  use_sliding_window: z.boolean().nullish(),
  layer_types: z.array(z.string()).max(1024).nullish(),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenIds,
  eos_token_id: tokenIds,
});

export interface HfConfigInputs {
  /** For messages. */
  readonly file: string;
  readonly config: Record<string, unknown>;
  /** `generation_config.json`, which may know more ids that end a turn. */
  readonly generation?: Record<string, unknown>;
  /** Whether the weights hold `lm_head.weight`; decides where the config does not say. */
  readonly hasHead: boolean;
}

/** Throws `bad-format` or `unsupported`. */
export function readHfConfig({ file, config, generation, hasHead }: HfConfigInputs): DecoderConfig {
  const refuse = (reason: string) => new LongviewError('unsupported', `${file}: ${reason} is not supported.`);
  const type = config['model_type'];
  if (type !== 'llama' && type !== 'qwen2' && type !== 'qwen3') {
    throw new LongviewError(
      'unsupported',
      `${file}: model_type ${quoted(type)} is not supported; llama, qwen2, qwen3 and rwkv7backbone are.`,
    );
  }
  const parsed = schema.safeParse(config);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new LongviewError('bad-format', `${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`);
  }
  const c = parsed.data;
  if (c.hidden_act != null && c.hidden_act !== 'silu') throw refuse(`activation ${quoted(c.hidden_act)}`);
  if (c.attention_bias) throw refuse('attention_bias');
  if (c.mlp_bias) throw refuse('mlp_bias');
  if (c.use_sliding_window) throw refuse('use_sliding_window');
  if (c.layer_types?.some(layer => layer !== 'full_attention')) throw refuse('a layer type other than full_attention');
  if (c.quantization_config != null) throw refuse('a quantised safetensors file');
  const ropes = c.rope_parameters ?? c.rope_scaling;
  const partial = c.partial_rotary_factor ?? ropes?.partial_rotary_factor ?? 1;
  if (partial !== 1) throw refuse(`partial_rotary_factor ${partial}`);
  const ropeScaling = readScaling(file, ropes);
  return validateConfig(file, {
    family: type,
    layers: c.num_hidden_layers,
    width: c.hidden_size,
    heads: c.num_attention_heads,
    keyHeads: c.num_key_value_heads ?? c.num_attention_heads,
    headSize: c.head_dim ?? c.hidden_size / c.num_attention_heads,
    ffnWidth: c.intermediate_size,
    vocabulary: c.vocab_size,
    ropeTheta: c.rope_theta ?? ropes?.rope_theta ?? 10000,
    ...(ropeScaling && { ropeScaling }),
    normEpsilon: c.rms_norm_eps ?? 1e-6,
    tiedHead: c.tie_word_embeddings ?? !hasHead,
    qkvBias: type === 'qwen2',
    qkNorm: type === 'qwen3',
    contextLength: c.max_position_embeddings,
    ...endOfText(config, generation),
  });
}

/** Ids that begin and end a text, from `config.json` and `generation_config.json`. */
export function endOfText(
  config: Record<string, unknown>,
  generation: Record<string, unknown> | undefined,
): { readonly bosId?: number; readonly eosIds: readonly number[] } {
  const [bosId] = ids(config['bos_token_id']);
  const eosIds = [...new Set([...ids(config['eos_token_id']), ...ids(generation?.['eos_token_id'])])];
  return { ...(bosId !== undefined && { bosId }), eosIds };
}

function ids(value: unknown): readonly number[] {
  const parsed = tokenIds.safeParse(value);
  if (!parsed.success || parsed.data == null) return [];
  return typeof parsed.data === 'number' ? [parsed.data] : parsed.data;
}

function readScaling(file: string, ropes: z.infer<typeof rope>): RopeScaling | undefined {
  const type = ropes?.rope_type ?? ropes?.type ?? 'default';
  if (type === 'default') return undefined;
  if (type !== 'llama3') {
    throw new LongviewError('unsupported', `${file}: rope scaling ${quoted(type)} is not supported.`);
  }
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = ropes!;
  if (factor == null || low == null || high == null || original == null) {
    throw new LongviewError('bad-format', `${file}: llama3 rope scaling needs four factors.`);
  }
  return {
    kind: 'llama3',
    factor,
    lowFrequencyFactor: low,
    highFrequencyFactor: high,
    originalContextLength: original,
  };
}
