/**
 * Tensor names: what a checkpoint of a config must hold, with shapes, and how GGUF calls them. Pure.
 */
import type { BackboneConfig, CheckpointConfig, DecoderConfig } from './checkpoint.js';

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
  return config.family === 'rwkv7backbone' ? backboneTensors(config) : decoderTensors(config);
}

function decoderTensors(config: DecoderConfig): Map<string, readonly number[]> {
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

/** As published; golden/README.md. Tensors of what a switch turns off are not among them. */
function backboneTensors(config: BackboneConfig): Map<string, readonly number[]> {
  const { width, headSize, heads, ffnWidth, vocabulary, valueGateRank: rank, kvm, rwkv7Ranks: ranks } = config;
  const tensors = new Map<string, readonly number[]>([['transformer.wte.weight', [vocabulary, width]]]);
  const norm = (name: string, size: number) => {
    tensors.set(`${name}.weight`, [size]);
    tensors.set(`${name}.bias`, [size]);
  };
  norm('transformer.ln_emb', width);
  config.mixers.forEach((mixer, layer) => {
    const of = `transformer.h.${layer}.`;
    const add = (name: string, ...shape: number[]) => tensors.set(of + name, shape);
    norm(`${of}ln_attn`, width);
    if (mixer === 'rwkv7') {
      for (const stream of ['r', 'w', 'k', 'v', 'a', 'g']) add(`attn.x_${stream}`, 1, 1, width);
      for (const bias of ['w0', 'a0', 'v0', 'k_k', 'k_a']) add(`attn.${bias}`, 1, 1, width);
      add('attn.r_k', heads, headSize);
      const lowRank = { w: ranks!.decay, a: ranks!.rate, v: ranks!.value, g: ranks!.gate };
      for (const [name, inner] of Object.entries(lowRank)) {
        add(`attn.${name}1.weight`, inner, width);
        add(`attn.${name}2.weight`, width, inner);
      }
      for (const name of ['receptance', 'key', 'value', 'output']) add(`attn.${name}.weight`, width, width);
      norm(`${of}attn.ln_x`, width);
    } else {
      for (const stream of ['q', 'k', 'v']) add(`attn.x_${stream}`, width);
      for (const name of ['c_q', 'c_k', 'c_v', 'c_proj']) add(`attn.${name}.weight`, width, width);
      norm(`${of}attn.ln_q`, headSize);
      norm(`${of}attn.ln_k`, headSize);
      add('attn.v_gate0', 1, 1, width);
      add('attn.v_gate1.weight', rank, width);
      add('attn.v_gate2.weight', width, rank);
    }
    if (mixer === 'kvm') {
      norm(`${of}attn.ln_s_k`, headSize);
      if (kvm.gatesKeys || kvm.gatesValues) add('attn.key_weighting.weight', heads, width);
      if (kvm.headTemperatures) for (const part of ['front', 'state']) add(`attn.${part}_head_temp`, heads);
    }
    norm(`${of}ln_mlp`, width);
    add('mlp.x_k', 1, 1, width);
    add('mlp.c_fc.weight', ffnWidth, width);
    add('mlp.c_proj.weight', width, ffnWidth);
  });
  norm('transformer.ln_head', width);
  tensors.set('lm_head.weight', [vocabulary, width]);
  return tensors;
}

/** Tensors that a backbone's switches leave without use, though a file may still hold them; the authors' code drops them too. */
export function unusedBackboneTensors({ mixers, kvm }: BackboneConfig): Set<string> {
  const names = [
    ...(kvm.gatesKeys || kvm.gatesValues ? [] : ['key_weighting.weight']),
    ...(kvm.headTemperatures ? [] : ['front_head_temp', 'state_head_temp']),
  ];
  return new Set(
    mixers.flatMap((mixer, layer) => (mixer === 'kvm' ? names.map(name => `transformer.h.${layer}.attn.${name}`) : [])),
  );
}
