/**
 * What both float oracles are made of: weights streamed from a checkpoint, and a few functions over rows of float64.
 * Never shares code with the graphs, so that one can check the other.
 */
import { LongviewError } from '../base/index.js';
import type { Checkpoint } from './checkpoint/index.js';
import { Steps, weightCount } from './steps.js';
import type { StepOptions } from './steps.js';

/** The square of a larger value is infinite in float32, in which the graphs compute. */
const LARGEST = 1e19;

/** Values of one block of rows, about. */
const BLOCK_VALUES = 1 << 21;

/** A checkpoint's tensors as an oracle takes them: vectors whole, matrices a block of rows at a time. Throws `bad-format` where a value overflows. */
export class OracleWeights {
  private readonly steps: Steps;

  constructor(
    private readonly checkpoint: Checkpoint,
    options: StepOptions,
  ) {
    const { vocabulary, width } = checkpoint.config;
    // Of an embedding that is not the head too, only the prompt's rows are read.
    const unread = checkpoint.has('lm_head.weight') ? vocabulary * width : 0;
    this.steps = new Steps('Checking the model', weightCount(checkpoint) - unread, options);
  }

  vector(tensor: string): Promise<Float32Array> {
    return this.checkpoint.readFloat32(tensor);
  }

  /** Rows of an embedding table, one a token: [n,width]. */
  async rows(tensor: string, tokens: readonly number[], width: number): Promise<Float64Array> {
    const x = new Float64Array(tokens.length * width);
    for (const [t, token] of tokens.entries()) x.set(await this.checkpoint.readFloat32(tensor, token, 1), t * width);
    if (x.some(value => Math.abs(value) > LARGEST)) throw this.tooLarge(tensor);
    return x;
  }

  private tooLarge(tensor: string): LongviewError {
    return new LongviewError(
      'bad-format',
      `Tensor ${tensor} makes values that 32-bit arithmetic can't hold: the checkpoint is damaged. Get it again.`,
    );
  }

  /** x [n,inputs] → [n,outputs] by the matrix `tensor` [outputs,inputs]. */
  async linear(x: Float64Array, tensor: string): Promise<Float64Array> {
    const [outputs, inputs] = this.checkpoint.tensor(tensor).shape as [number, number];
    const n = x.length / inputs;
    const y = new Float64Array(n * outputs);
    const step = Math.max(1, Math.floor(BLOCK_VALUES / inputs));
    for (let start = 0; start < outputs; start += step) {
      const count = Math.min(step, outputs - start);
      const rows = await this.checkpoint.readFloat32(tensor, start, count);
      for (let t = 0; t < n; t++) {
        for (let o = 0; o < count; o++) {
          let sum = 0;
          for (let i = 0; i < inputs; i++) sum += x[t * inputs + i]! * rows[o * inputs + i]!;
          y[t * outputs + start + o] = sum;
          if (!(Math.abs(sum) <= LARGEST)) throw this.tooLarge(tensor);
        }
      }
      this.steps.worked(count * inputs);
    }
    return y;
  }
}

export interface AttentionShape {
  /** Tokens. */
  readonly n: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  /** Tokens that a token sees, itself counted; absent: all before it. */
  readonly window?: number;
}

/** q [n,H,d], k and v [n,K,d] → softmax attention, causal, scale 1/sqrt(d), [n,H,d]. */
export function causalAttention(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  shape: AttentionShape,
): Float64Array {
  const { n, heads, keyHeads, headSize, window = n } = shape;
  const mixed = new Float64Array(n * heads * headSize);
  for (let h = 0; h < heads; h++) {
    const keyHead = Math.floor((h * keyHeads) / heads);
    for (let t = 0; t < n; t++) {
      const asked = (t * heads + h) * headSize;
      const first = Math.max(0, t + 1 - window);
      const logits = Array.from({ length: t + 1 - first }, (_, s) => {
        let dot = 0;
        const from = ((first + s) * keyHeads + keyHead) * headSize;
        for (let i = 0; i < headSize; i++) dot += q[asked + i]! * k[from + i]!;
        return dot / Math.sqrt(headSize);
      });
      const largest = Math.max(...logits);
      const weights = logits.map(logit => Math.exp(logit - largest));
      const total = weights.reduce((a, b) => a + b);
      weights.forEach((weight, s) => {
        const from = ((first + s) * keyHeads + keyHead) * headSize;
        for (let i = 0; i < headSize; i++) mixed[asked + i]! += (weight / total) * v[from + i]!;
      });
    }
  }
  return mixed;
}

/** x += factor·y, in place. */
export function addInto(x: Float64Array, y: Float64Array, factor = 1): void {
  for (let i = 0; i < x.length; i++) x[i]! += factor * y[i]!;
}

/** x in groups of as many values as `size` (default: `gain`'s) → LayerNorm of each; gain and bias repeat over x. */
export function layerNorm(
  x: Float64Array,
  gain: Float32Array,
  bias: Float32Array,
  epsilon: number,
  size = gain.length,
): Float64Array {
  const y = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += size) {
    let [mean, variance] = [0, 0];
    for (let i = start; i < start + size; i++) mean += x[i]! / size;
    for (let i = start; i < start + size; i++) variance += (x[i]! - mean) ** 2 / size;
    const factor = 1 / Math.sqrt(variance + epsilon);
    for (let i = start; i < start + size; i++) {
      y[i] = (x[i]! - mean) * factor * gain[i % gain.length]! + bias[i % bias.length]!;
    }
  }
  return y;
}

/** x [n,w], amount [w]: `x_t + amount·(x_{t-1} - x_t)`; the first token shifts against itself or against zero. */
export function tokenShift(x: Float64Array, amount: Float32Array, first: 'itself' | 'zero'): Float64Array {
  const width = amount.length;
  return x.map((value, i) => {
    const before = i >= width ? x[i - width]! : first === 'itself' ? value : 0;
    return value + amount[i % width]! * (before - value);
  });
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}
