/**
 * The RWKV-7 layer of the authors' hybrids over a whole prompt: token shift, low-rank maps, a matrix state a head with
 * decay, removal along one key, and a write. Part of `backbone-oracle.ts`; never keeps a state between calls.
 * Source: the RWKV-7 recurrence as golden/README.md names its parts.
 */
import type { MixerInputs, MixerOutputs } from './backbone-oracle.js';
import { layerNorm, sigmoid, tokenShift } from './oracle-arithmetic.js';

/** Of `ln_x`, the norm of each head's output. */
const OUTPUT_EPSILON = 64e-5;

export async function rwkv7Mixer({ config, weights, name, normed, firstValue }: MixerInputs): Promise<MixerOutputs> {
  const { heads, headSize, width } = config;
  const vector = (tensor: string): Promise<Float32Array> => weights.vector(name(tensor));
  const linear = (x: Float64Array, tensor: string): Promise<Float64Array> =>
    weights.linear(x, name(`${tensor}.weight`));
  const shifted = async (stream: string): Promise<Float64Array> =>
    tokenShift(normed, await vector(`x_${stream}`), 'zero');
  /** `bias + up(f(down(x)))`. */
  const lowRank = async (
    map: 'w' | 'a' | 'v',
    x: Float64Array,
    f = (inner: number): number => inner,
  ): Promise<Float64Array> => {
    const bias = await vector(`${map}0`);
    return (await linear((await linear(x, `${map}1`)).map(f), `${map}2`)).map((y, i) => y + bias[i % width]!);
  };

  const receptance = await linear(await shifted('r'), 'receptance');
  const decay = (await lowRank('w', await shifted('w'), Math.tanh)).map(w => Math.exp(-Math.exp(-0.5) * sigmoid(w)));
  const plainKey = await linear(await shifted('k'), 'key');
  const xv = await shifted('v');
  const plainValue = await linear(xv, 'value');
  const residual = (await lowRank('v', xv)).map(sigmoid);
  const value = plainValue.map((v, i) => v + ((firstValue ?? plainValue)[i]! - v) * residual[i]!);
  const rate = (await lowRank('a', await shifted('a'))).map(sigmoid);
  const gate = await linear((await linear(await shifted('g'), 'g1')).map(sigmoid), 'g2');
  const [removalGain, rateGain] = [await vector('k_k'), await vector('k_a')];
  const removal = unitHeads(
    plainKey.map((k, i) => k * removalGain[i % width]!),
    headSize,
  );
  const key = plainKey.map((k, i) => k * (1 + (rate[i]! - 1) * rateGain[i % width]!));

  const read = new Float64Array(normed.length);
  for (let head = 0; head < heads; head++) {
    const state = new Float64Array(headSize * headSize);
    for (let at = head * headSize; at < normed.length; at += width) {
      const part = (x: Float64Array): Float64Array => x.subarray(at, at + headSize);
      write(state, part(decay), part(removal), part(rate), part(key), part(value));
      for (let i = 0; i < headSize; i++) {
        for (let j = 0; j < headSize; j++) read[at + j]! += receptance[at + i]! * state[i * headSize + j]!;
      }
    }
  }
  const mixed = layerNorm(read, await vector('ln_x.weight'), await vector('ln_x.bias'), OUTPUT_EPSILON, headSize);
  // The bonus of the current token: <r·k, r_k> v.
  const bonusGain = await vector('r_k');
  for (let at = 0; at < mixed.length; at += headSize) {
    let bonus = 0;
    for (let i = at; i < at + headSize; i++) bonus += bonusGain[i % width]! * receptance[i]! * key[i]!;
    for (let i = at; i < at + headSize; i++) mixed[i]! += bonus * value[i]!;
  }
  return {
    mixed: await linear(
      mixed.map((y, i) => y * gate[i]!),
      'output',
    ),
    plainValue,
  };
}

/** `S = diag(decay) S - (removal·rate) (removalᵀ S) + key valueᵀ` in place, S [key,value]. */
function write(
  state: Float64Array,
  decay: Float64Array,
  removal: Float64Array,
  rate: Float64Array,
  key: Float64Array,
  value: Float64Array,
): void {
  const size = value.length;
  const removed = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) removed[j]! += removal[i]! * state[i * size + j]!;
  }
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const kept = decay[i]! * state[i * size + j]!;
      state[i * size + j] = kept - removal[i]! * rate[i]! * removed[j]! + key[i]! * value[j]!;
    }
  }
}

/** Each head's direction; one of (nearly) no length stays as it is. */
function unitHeads(x: Float64Array, headSize: number): Float64Array {
  const y = x.slice();
  for (let at = 0; at < x.length; at += headSize) {
    let square = 0;
    for (let i = at; i < at + headSize; i++) square += x[i]! ** 2;
    const length = Math.max(Math.sqrt(square), 1e-12);
    for (let i = at; i < at + headSize; i++) y[i]! /= length;
  }
  return y;
}
