/**
 * Logits of a llama, qwen2 or qwen3 checkpoint for a short prompt: ordinary causal attention (a prompt shorter than the
 * window). Part of `float-oracle.ts`; never runs a graph.
 */
import type { Checkpoint, DecoderConfig } from './checkpoint/index.js';
import { rotaryFrequencies } from './checkpoint/index.js';
import type { OracleWeights } from './oracle-arithmetic.js';
import { addInto, causalAttention } from './oracle-arithmetic.js';
import type { InputListener } from './outlier-channels.js';

/** prompt [n] → logits float32 [n,V]. */
export async function decoderLogits(
  { rotaryPairs }: Checkpoint,
  config: DecoderConfig,
  weights: OracleWeights,
  prompt: readonly number[],
  onInput?: InputListener,
): Promise<Float32Array> {
  const { layers, heads, keyHeads, headSize, normEpsilon } = config;
  const n = prompt.length;
  const frequencies = rotaryFrequencies(config);
  const addBias = async (x: Float64Array, tensor: string): Promise<void> => {
    const bias = await weights.vector(tensor);
    for (let i = 0; i < x.length; i++) x[i]! += bias[i % bias.length]!;
  };
  const rms = (x: Float64Array, gain: Float32Array): Float64Array => {
    const size = gain.length;
    const y = new Float64Array(x.length);
    for (let start = 0; start < x.length; start += size) {
      let square = 0;
      for (let i = 0; i < size; i++) square += x[start + i]! ** 2;
      const factor = 1 / Math.sqrt(square / size + normEpsilon);
      for (let i = 0; i < size; i++) y[start + i] = x[start + i]! * factor * gain[i]!;
    }
    return y;
  };
  const rotate = (x: Float64Array, count: number): void => {
    const half = headSize / 2;
    for (let t = 0; t < n; t++) {
      for (let h = 0; h < count; h++) {
        const base = (t * count + h) * headSize;
        for (let i = 0; i < half; i++) {
          const [a, b] = rotaryPairs === 'adjacent' ? [2 * i, 2 * i + 1] : [i, i + half];
          const [cos, sin] = [Math.cos(t * frequencies[i]!), Math.sin(t * frequencies[i]!)];
          const [xa, xb] = [x[base + a]!, x[base + b]!];
          x[base + a] = xa * cos - xb * sin;
          x[base + b] = xb * cos + xa * sin;
        }
      }
    }
  };

  const x = await weights.rows('model.embed_tokens.weight', prompt, config.width);
  for (let layer = 0; layer < layers; layer++) {
    const name = (rest: string): string => `model.layers.${layer}.${rest}`;
    const normed = rms(x, await weights.vector(name('input_layernorm.weight')));
    onInput?.(layer, 'qkv', normed, n);
    let q = await weights.linear(normed, name('self_attn.q_proj.weight'));
    let k = await weights.linear(normed, name('self_attn.k_proj.weight'));
    const v = await weights.linear(normed, name('self_attn.v_proj.weight'));
    if (config.qkvBias) {
      await addBias(q, name('self_attn.q_proj.bias'));
      await addBias(k, name('self_attn.k_proj.bias'));
      await addBias(v, name('self_attn.v_proj.bias'));
    }
    if (config.qkNorm) {
      q = rms(q, await weights.vector(name('self_attn.q_norm.weight')));
      k = rms(k, await weights.vector(name('self_attn.k_norm.weight')));
    }
    rotate(q, heads);
    rotate(k, keyHeads);
    const mixed = causalAttention(q, k, v, { n, heads, keyHeads, headSize });
    const attended = await weights.linear(mixed, name('self_attn.o_proj.weight'));
    addInto(x, attended);
    const inner = rms(x, await weights.vector(name('post_attention_layernorm.weight')));
    onInput?.(layer, 'gateUp', inner, n);
    const gate = await weights.linear(inner, name('mlp.gate_proj.weight'));
    const up = await weights.linear(inner, name('mlp.up_proj.weight'));
    for (let i = 0; i < gate.length; i++) gate[i] = (gate[i]! / (1 + Math.exp(-gate[i]!))) * up[i]!;
    onInput?.(layer, 'down', gate, n);
    const down = await weights.linear(gate, name('mlp.down_proj.weight'));
    addInto(x, down);
  }
  const last = rms(x, await weights.vector('model.norm.weight'));
  const head = config.tiedHead ? 'model.embed_tokens.weight' : 'lm_head.weight';
  return Float32Array.from(await weights.linear(last, head));
}
