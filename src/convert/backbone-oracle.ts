/**
 * Logits of an authors' checkpoint for a prompt that fits the window, so that KVM is plain causal attention with
 * temperatures on the keys. Part of `float-oracle.ts`; never folds and never runs a graph.
 * Source: kvm.md, "The authors' backbone". Read next: rwkv7-oracle.ts.
 */
import { LongviewError } from '../base/index.js';
import type { BackboneConfig, BackboneRotary } from './checkpoint/index.js';
import { backboneFrequencies } from './checkpoint/index.js';
import type { OracleWeights } from './oracle-arithmetic.js';
import { addInto, causalAttention, layerNorm, sigmoid, tokenShift } from './oracle-arithmetic.js';
import { rwkv7Mixer } from './rwkv7-oracle.js';

/** One layer's mixer on its way: tensors by `name`, and the first values that all layers share. */
export interface MixerInputs {
  readonly config: BackboneConfig;
  readonly weights: OracleWeights;
  readonly name: (tensor: string) => string;
  /** Output of `ln_attn` [n,D]. */
  readonly normed: Float64Array;
  /** v0 [n,D] of this kind of layer; absent in the layer whose own plain value it is. */
  readonly firstValue: Float64Array | undefined;
}

/** What a mixer adds to the residual stream [n,D], and its value before the residual [n,D]. */
export interface MixerOutputs {
  readonly mixed: Float64Array;
  readonly plainValue: Float64Array;
}

/** prompt [n] → logits float32 [n,V]. Throws `usage` where the prompt is longer than the window. */
export async function backboneLogits(
  config: BackboneConfig,
  weights: OracleWeights,
  prompt: readonly number[],
): Promise<Float32Array> {
  const { width, normEpsilon, residualScale, kvm } = config;
  const window = kvm.chunk * kvm.windowChunks;
  if (prompt.length > window) throw new LongviewError('usage', `The prompt of a check has at most ${window} tokens.`);
  const norm = async (x: Float64Array, name: string): Promise<Float64Array> =>
    layerNorm(x, await weights.vector(`${name}.weight`), await weights.vector(`${name}.bias`), normEpsilon);

  const x = await norm(await weights.rows('transformer.wte.weight', prompt, width), 'transformer.ln_emb');
  const embedded = x.slice();
  const first: { kvm?: Float64Array; alternate?: Float64Array } = {};
  for (const [layer, mixer] of config.mixers.entries()) {
    const name = (rest: string): string => `transformer.h.${layer}.${rest}`;
    const kind = mixer === 'kvm' && !config.sharesFirstValue ? 'kvm' : 'alternate';
    let firstValue = first[kind];
    if (layer > 0 && !firstValue) {
      // Layer 1 of a hybrid: its value matrix is read a second time, for v0 comes from another input than its own.
      firstValue = await weights.linear(await norm(embedded, name('ln_attn')), name('attn.c_v.weight'));
    }
    const normed = await norm(x, name('ln_attn'));
    const inputs = { config, weights, name: (tensor: string) => name(`attn.${tensor}`), normed, firstValue };
    const { mixed, plainValue } = await (mixer === 'rwkv7' ? rwkv7Mixer(inputs) : attentionMixer(inputs, mixer));
    first[kind] ??= firstValue ?? plainValue;
    addInto(x, mixed, residualScale);

    const shifted = tokenShift(await norm(x, name('ln_mlp')), await weights.vector(name('mlp.x_k')), 'zero');
    const hidden = (await weights.linear(shifted, name('mlp.c_fc.weight'))).map(h => (h > 0 ? h * h : 0));
    addInto(x, await weights.linear(hidden, name('mlp.c_proj.weight')), residualScale);
  }
  return Float32Array.from(await weights.linear(await norm(x, 'transformer.ln_head'), 'lm_head.weight'));
}

/** KVM while everything is in the window, and the plain sliding window of hybrids. */
async function attentionMixer(inputs: MixerInputs, mixer: 'kvm' | 'swa'): Promise<MixerOutputs> {
  const { config, weights, name, normed, firstValue } = inputs;
  const { heads, headSize, normEpsilon } = config;
  const rotary = mixer === 'kvm' ? config.rotary : config.alternateRotary;
  const shift = async (y: Float64Array, amount: string): Promise<Float64Array> =>
    tokenShift(y, await weights.vector(name(amount)), 'itself');
  const perHead = async (stream: 'q' | 'k'): Promise<Float64Array> => {
    const shifted = await shift(await weights.linear(normed, name(`c_${stream}.weight`)), `x_${stream}`);
    const [gain, bias] = [
      await weights.vector(name(`ln_${stream}.weight`)),
      await weights.vector(name(`ln_${stream}.bias`)),
    ];
    return rotateClockwise(layerNorm(shifted, gain, bias, normEpsilon), config, rotary);
  };
  const plainValue = await weights.linear(normed, name('c_v.weight'));
  const lowRank = await weights.linear(await weights.linear(normed, name('v_gate1.weight')), name('v_gate2.weight'));
  const bias = await weights.vector(name('v_gate0'));
  const residual = plainValue.map(
    (v, i) => v + ((firstValue ?? plainValue)[i]! - v) * sigmoid(bias[i % bias.length]! + lowRank[i]!),
  );
  const value = await shift(residual, 'x_v');
  const query = await perHead('q');
  let key = await perHead('k');
  if (mixer === 'kvm' && config.kvm.headTemperatures) {
    const temperature = await weights.vector(name('front_head_temp'));
    key = key.map((k, i) => k * temperature[Math.floor(i / headSize) % heads]!);
  }
  const shape = { n: normed.length / config.width, heads, keyHeads: heads, headSize };
  const attended = causalAttention(
    query,
    key,
    value,
    mixer === 'swa' ? { ...shape, window: config.slidingWindow } : shape,
  );
  return { mixed: await weights.linear(attended, name('c_proj.weight')), plainValue };
}

/** x [n,H,d], position = row: `even' = cos·even + sin·odd`, `odd' = cos·odd - sin·even` in the first dimensions. */
function rotateClockwise(x: Float64Array, { width, headSize }: BackboneConfig, rotary: BackboneRotary): Float64Array {
  const frequencies = backboneFrequencies(rotary);
  const y = x.slice();
  for (let base = 0; base < x.length; base += headSize) {
    const position = Math.floor(base / width);
    frequencies.forEach((frequency, pair) => {
      const [cos, sin] = [Math.cos(position * frequency), Math.sin(position * frequency)];
      const [even, odd] = [x[base + 2 * pair]!, x[base + 2 * pair + 1]!];
      y[base + 2 * pair] = cos * even + sin * odd;
      y[base + 2 * pair + 1] = cos * odd - sin * even;
    });
  }
  return y;
}
