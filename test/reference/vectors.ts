/**
 * The few vector operations the oracles are made of. Vectors are float64, weights float32 [out,in] row-major.
 * Never fast on purpose: every function is the formula, so that a reader can trust what the engine is compared with.
 */

export type Vec = Float64Array;
type Numbers = Float64Array | Float32Array;

/** Inner product of two vectors of one length. */
export function dot(a: Numbers, b: Numbers): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Euclidean length |a|. */
export function norm(a: Numbers): number {
  return Math.sqrt(dot(a, a));
}

/** A new vector `factor * a`. */
export function scaled(a: Numbers, factor: number): Vec {
  const y = new Float64Array(a.length);
  addInto(y, a, factor);
  return y;
}

/** Direction of `a`: `a / |a|`; a vector of (nearly) no length stays as it is. */
export function unit(a: Numbers): Vec {
  return scaled(a, 1 / Math.max(norm(a), 1e-12));
}

/** `target += factor * a`, in place. */
export function addInto(target: Vec, a: Numbers, factor = 1): void {
  for (let i = 0; i < target.length; i++) target[i]! += factor * a[i]!;
}

/** A new vector, element by element. */
export function mapped(a: Numbers, f: (value: number, index: number) => number): Vec {
  const y = new Float64Array(a.length);
  for (let i = 0; i < y.length; i++) y[i] = f(a[i]!, i);
  return y;
}

/** Linear layer: `weight [out,in] · x [in] (+ bias [out])`. */
export function linear(weight: Float32Array, x: Vec, bias?: Float32Array): Vec {
  const inputs = x.length;
  const y = new Float64Array(weight.length / inputs);
  for (let row = 0; row < y.length; row++) {
    let sum = bias ? bias[row]! : 0;
    const base = row * inputs;
    for (let i = 0; i < inputs; i++) sum += weight[base + i]! * x[i]!;
    y[row] = sum;
  }
  return y;
}

/** LayerNorm over the whole vector: zero mean, unit variance, then `* weight + bias`. */
export function layerNorm(x: Vec, weight: Numbers, bias: Numbers, epsilon = 1e-5): Vec {
  let mean = 0;
  for (let i = 0; i < x.length; i++) mean += x[i]! / x.length;
  let variance = 0;
  for (let i = 0; i < x.length; i++) variance += (x[i]! - mean) ** 2 / x.length;
  const factor = 1 / Math.sqrt(variance + epsilon);
  return mapped(x, (value, i) => (value - mean) * factor * weight[i]! + bias[i]!);
}

/** RMSNorm: `x / sqrt(mean(x²) + epsilon) * weight`. */
export function rmsNorm(x: Vec, weight: Numbers, epsilon: number): Vec {
  const factor = 1 / Math.sqrt(dot(x, x) / x.length + epsilon);
  return mapped(x, (value, i) => value * factor * weight[i]!);
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Index of the largest value; the lowest index wins ties. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** The heads of `x` as views: `heads` pieces of equal length. */
export function splitHeads(x: Vec, heads: number): Vec[] {
  const size = x.length / heads;
  return Array.from({ length: heads }, (_, h) => x.subarray(h * size, (h + 1) * size));
}

/** Heads put side by side again. */
export function joinHeads(heads: readonly Vec[]): Vec {
  const size = heads[0]!.length;
  const y = new Float64Array(size * heads.length);
  heads.forEach((head, h) => y.set(head, h * size));
  return y;
}

/** What one entry of an attention row contributes. */
export interface AttentionEntry {
  readonly logit: number;
  readonly value: Vec;
}

/** One softmax over all entries' logits, then the mean of their values under it. */
export function softmaxMean(entries: readonly AttentionEntry[]): Vec {
  let top = -Infinity;
  for (const { logit } of entries) top = Math.max(top, logit);
  const mean = new Float64Array(entries[0]!.value.length);
  let total = 0;
  for (const { logit, value } of entries) {
    const mass = Math.exp(logit - top);
    total += mass;
    addInto(mean, value, mass);
  }
  return scaled(mean, 1 / total);
}
