/**
 * Tensor names: what a checkpoint of a config must hold, with shapes, and how GGUF calls them. Pure.
 */
import type { CheckpointConfig } from './checkpoint.js';

/** GGUF's name inside a block → Hugging Face's inside a layer. */
const IN_LAYER = new Map([
  ['attn_norm.weight', 'input_layernorm.weight'],
  ['attn_q.weight', 'self_attn.q_proj.weight'],
  ['attn_k.weight', 'self_attn.k_proj.weight'],
  ['attn_v.weight', 'self_attn.v_proj.weight'],
  ['attn_q.bias', 'self_attn.q_proj.bias'],
  ['attn_k.bias', 'self_attn.k_proj.bias'],
  ['attn_v.bias', 'self_attn.v_proj.bias'],
  ['attn_q_norm.weight', 'self_attn.q_norm.weight'],
  ['attn_k_norm.weight', 'self_attn.k_norm.weight'],
  ['attn_output.weight', 'self_attn.o_proj.weight'],
  ['ffn_norm.weight', 'post_attention_layernorm.weight'],
  ['ffn_gate.weight', 'mlp.gate_proj.weight'],
  ['ffn_up.weight', 'mlp.up_proj.weight'],
  ['ffn_down.weight', 'mlp.down_proj.weight'],
]);

const OUTSIDE = new Map([
  ['token_embd.weight', 'model.embed_tokens.weight'],
  ['output_norm.weight', 'model.norm.weight'],
  ['output.weight', 'lm_head.weight'],
]);

/** The Hugging Face name of a GGUF tensor, or undefined where it has none (e.g. `rope_freqs.weight`). */
export function canonicalName(ggufName: string): string | undefined {
  const outside = OUTSIDE.get(ggufName);
  if (outside !== undefined) return outside;
  const match = /^blk\.(\d{1,4})\.(.+)$/.exec(ggufName);
  const inside = match && IN_LAYER.get(match[2]!);
  return inside === undefined || inside === null ? undefined : `model.layers.${match![1]!}.${inside}`;
}

/** Every tensor a checkpoint of this config must hold: name → shape, outermost first. */
export function expectedTensors(config: CheckpointConfig): Map<string, readonly number[]> {
  const { width, headSize, ffnWidth, vocabulary } = config;
  const queries = config.heads * headSize;
  const keys = config.keyHeads * headSize;
  const tensors = new Map<string, readonly number[]>([['model.embed_tokens.weight', [vocabulary, width]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const add = (name: string, ...shape: number[]) => tensors.set(`model.layers.${layer}.${name}`, shape);
    add('input_layernorm.weight', width);
    add('self_attn.q_proj.weight', queries, width);
    add('self_attn.k_proj.weight', keys, width);
    add('self_attn.v_proj.weight', keys, width);
    if (config.qkvBias) {
      add('self_attn.q_proj.bias', queries);
      add('self_attn.k_proj.bias', keys);
      add('self_attn.v_proj.bias', keys);
    }
    if (config.qkNorm) {
      add('self_attn.q_norm.weight', headSize);
      add('self_attn.k_norm.weight', headSize);
    }
    add('self_attn.o_proj.weight', width, queries);
    add('post_attention_layernorm.weight', width);
    add('mlp.gate_proj.weight', ffnWidth, width);
    add('mlp.up_proj.weight', ffnWidth, width);
    add('mlp.down_proj.weight', width, ffnWidth);
  }
  tensors.set('model.norm.weight', [width]);
  if (!config.tiedHead) tensors.set('lm_head.weight', [vocabulary, width]);
  return tensors;
}
