/**
 * What the retrofit oracle needs of an ordinary decoder's config.json: Llama, Qwen2, Qwen3 shapes, old and new key names.
 * Never guesses: another family or another rotary scaling is refused by name. Source: retrofit.md, "Shapes to support".
 */
import type { Llama3Scaling } from './rotary.js';

/** Keys of config.json as Hugging Face writes them; transformers 5 moved the rotary keys into `rope_parameters`. */
export interface LlamaConfig {
  readonly model_type: string;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads?: number;
  readonly head_dim?: number | null;
  readonly vocab_size: number;
  readonly rms_norm_eps: number;
  readonly tie_word_embeddings?: boolean;
  readonly rope_theta?: number;
  readonly rope_scaling?: RopeScaling | null;
  readonly rope_parameters?: RopeScaling;
  readonly [other: string]: unknown;
}

interface RopeScaling extends Partial<Llama3Scaling> {
  readonly rope_type?: string;
  readonly rope_theta?: number;
}

/** The same, resolved. */
export interface LlamaShape {
  readonly width: number;
  readonly layers: number;
  readonly queryHeads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  readonly epsilon: number;
  readonly tied: boolean;
  readonly theta: number;
  readonly scaling: Llama3Scaling | undefined;
}

/** Throws on a family or rotary scaling that the oracle would compute wrongly. */
export function llamaShape(config: LlamaConfig): LlamaShape {
  if (!['llama', 'qwen2', 'qwen3'].includes(config.model_type))
    throw new Error(`retrofit oracle: model_type ${config.model_type} is not supported`);
  const rope = config.rope_parameters ?? config.rope_scaling ?? {};
  const theta = rope.rope_theta ?? config.rope_theta ?? 10000;
  return {
    width: config.hidden_size,
    layers: config.num_hidden_layers,
    queryHeads: config.num_attention_heads,
    keyHeads: config.num_key_value_heads ?? config.num_attention_heads,
    headSize: config.head_dim ?? config.hidden_size / config.num_attention_heads,
    epsilon: config.rms_norm_eps,
    tied: config.tie_word_embeddings ?? false,
    theta,
    scaling: llama3Scaling(rope),
  };
}

function llama3Scaling(rope: RopeScaling): Llama3Scaling | undefined {
  const type = rope.rope_type ?? 'default';
  if (type === 'default') return undefined;
  const { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } = rope;
  if (type !== 'llama3' || !factor || !low_freq_factor || !high_freq_factor || !original_max_position_embeddings)
    throw new Error(`retrofit oracle: rotary scaling ${type} is not supported`);
  return { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings };
}
