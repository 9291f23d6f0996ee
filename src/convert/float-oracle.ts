/**
 * A checkpoint's logits for a short prompt in plain float arithmetic, straight from its own tensors: what a conversion is
 * checked against. Ordinary causal attention (a prompt shorter than the window). Independent of the graphs on purpose.
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { Checkpoint } from './checkpoint/index.js';
import { rotaryFrequencies } from './checkpoint/index.js';

interface OracleOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

/** Values of one block of rows, about. */
const BLOCK_VALUES = 1 << 21;

/** prompt [n] → logits float32 [n,V]. Reads every weight once. */
export async function oracleLogits(
  checkpoint: Checkpoint,
  prompt: readonly number[],
  options: OracleOptions = {},
): Promise<Float32Array> {
  const { config } = checkpoint;
  if (config.family === 'rwkv7backbone')
    throw new LongviewError('unsupported', 'The check of rwkv7backbone models is missing.');
  const { layers, width, heads, keyHeads, headSize, ffnWidth, vocabulary, normEpsilon } = config;
  const n = prompt.length;
  const frequencies = rotaryFrequencies(config);
  const read = (name: string): Promise<Float32Array> => checkpoint.readFloat32(name);
  const apply = async (x: Float64Array, tensor: string, inputs: number, outputs: number): Promise<Float64Array> => {
    const y = new Float64Array(n * outputs);
    const step = Math.max(1, Math.floor(BLOCK_VALUES / inputs));
    for (let start = 0; start < outputs; start += step) {
      const count = Math.min(step, outputs - start);
      const rows = await checkpoint.readFloat32(tensor, start, count);
      for (let t = 0; t < n; t++) {
        for (let o = 0; o < count; o++) {
          let sum = 0;
          for (let i = 0; i < inputs; i++) sum += x[t * inputs + i]! * rows[o * inputs + i]!;
          y[t * outputs + start + o] = sum;
        }
      }
    }
    return y;
  };
  const addBias = async (x: Float64Array, tensor: string): Promise<void> => {
    const bias = await read(tensor);
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
          const [a, b] = checkpoint.rotaryPairs === 'adjacent' ? [2 * i, 2 * i + 1] : [i, i + half];
          const [cos, sin] = [Math.cos(t * frequencies[i]!), Math.sin(t * frequencies[i]!)];
          const [xa, xb] = [x[base + a]!, x[base + b]!];
          x[base + a] = xa * cos - xb * sin;
          x[base + b] = xb * cos + xa * sin;
        }
      }
    }
  };

  const x = new Float64Array(n * width);
  for (let t = 0; t < n; t++) x.set(await checkpoint.readFloat32('model.embed_tokens.weight', prompt[t], 1), t * width);
  for (let layer = 0; layer < layers; layer++) {
    throwIfCancelled(options.signal);
    options.onProgress?.({ task: 'Checking the model', done: layer, total: layers + 1, unit: 'steps' });
    const name = (rest: string): string => `model.layers.${layer}.${rest}`;
    const normed = rms(x, await read(name('input_layernorm.weight')));
    let q = await apply(normed, name('self_attn.q_proj.weight'), width, heads * headSize);
    let k = await apply(normed, name('self_attn.k_proj.weight'), width, keyHeads * headSize);
    const v = await apply(normed, name('self_attn.v_proj.weight'), width, keyHeads * headSize);
    if (config.qkvBias) {
      await addBias(q, name('self_attn.q_proj.bias'));
      await addBias(k, name('self_attn.k_proj.bias'));
      await addBias(v, name('self_attn.v_proj.bias'));
    }
    if (config.qkNorm) {
      q = rms(q, await read(name('self_attn.q_norm.weight')));
      k = rms(k, await read(name('self_attn.k_norm.weight')));
    }
    rotate(q, heads);
    rotate(k, keyHeads);
    const mixed = causalAttention(q, k, v, { n, heads, keyHeads, headSize });
    const attended = await apply(mixed, name('self_attn.o_proj.weight'), heads * headSize, width);
    for (let i = 0; i < x.length; i++) x[i]! += attended[i]!;
    const inner = rms(x, await read(name('post_attention_layernorm.weight')));
    const gate = await apply(inner, name('mlp.gate_proj.weight'), width, ffnWidth);
    const up = await apply(inner, name('mlp.up_proj.weight'), width, ffnWidth);
    for (let i = 0; i < gate.length; i++) gate[i] = (gate[i]! / (1 + Math.exp(-gate[i]!))) * up[i]!;
    const down = await apply(gate, name('mlp.down_proj.weight'), ffnWidth, width);
    for (let i = 0; i < x.length; i++) x[i]! += down[i]!;
  }
  const last = rms(x, await read('model.norm.weight'));
  const head = config.tiedHead ? 'model.embed_tokens.weight' : 'lm_head.weight';
  return Float32Array.from(await apply(last, head, width, vocabulary));
}

/** q [n,H,d], k and v [n,K,d] → [n,H,d]. */
function causalAttention(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  shape: { n: number; heads: number; keyHeads: number; headSize: number },
): Float64Array {
  const { n, heads, keyHeads, headSize } = shape;
  const mixed = new Float64Array(n * heads * headSize);
  for (let h = 0; h < heads; h++) {
    const keyHead = Math.floor((h * keyHeads) / heads);
    for (let t = 0; t < n; t++) {
      const asked = (t * heads + h) * headSize;
      const logits = Array.from({ length: t + 1 }, (_, s) => {
        let dot = 0;
        for (let i = 0; i < headSize; i++) dot += q[asked + i]! * k[(s * keyHeads + keyHead) * headSize + i]!;
        return dot / Math.sqrt(headSize);
      });
      const largest = Math.max(...logits);
      const weights = logits.map(logit => Math.exp(logit - largest));
      const total = weights.reduce((a, b) => a + b);
      weights.forEach((weight, s) => {
        const from = (s * keyHeads + keyHead) * headSize;
        for (let i = 0; i < headSize; i++) mixed[asked + i]! += (weight / total) * v[from + i]!;
      });
    }
  }
  return mixed;
}
