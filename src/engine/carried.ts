/**
 * What a model's layers hand from pass to pass beside window and state: the last token's vectors, matrix states, the keys
 * and values of sliding windows. Output tensors become the next inputs as they are. Knows names and shapes, not meanings.
 */
import { CARRIED } from './graph-contract.js';
import type { Architecture } from './graph-contract.js';
import type { Tensor } from './ort.js';
import { floats } from './ort.js';
import { rotationOf } from './rotary.js';

const MASKED = -1e30;

export class Carried {
  /** Outputs to ask of each pass. */
  readonly outputs: readonly string[];
  private readonly names: readonly string[];
  private tensors: Tensor[];

  constructor(private readonly architecture: Architecture) {
    const carried = architecture.carried ?? [];
    this.names = carried.map(({ name }) => name);
    this.outputs = this.names.map(CARRIED.out);
    this.tensors = carried.map(({ shape }) => {
      const size = shape.reduce((a, b) => a * b, 1);
      return floats(new Float32Array(size), shape);
    });
  }

  /** Inputs of a pass over n new tokens that come after `seen`. */
  feeds(seen: number, n: number): Record<string, Tensor> {
    const feeds: Record<string, Tensor> = { [CARRIED.first]: floats(Float32Array.of(seen === 0 ? 1 : 0), [1]) };
    this.names.forEach((name, i) => (feeds[CARRIED.in(name)] = this.tensors[i]!));
    const { slidingWindow } = this.architecture;
    if (slidingWindow) {
      const { cos, sin } = rotationOf(slidingWindow.frequencies, seen, n);
      const shape = [n, slidingWindow.frequencies.length];
      feeds[CARRIED.cos] = floats(cos, shape);
      feeds[CARRIED.sin] = floats(sin, shape);
      feeds[CARRIED.bias] = slidingBias(Math.min(seen, slidingWindow.tokens), n, slidingWindow.tokens);
    }
    return feeds;
  }

  /** Keeps what a pass gave for the next one. */
  take(result: Record<string, Tensor>): void {
    this.tensors = this.outputs.map(name => result[name]!);
  }

  fork(): Carried {
    const copy = new Carried(this.architecture);
    copy.tensors = this.tensors;
    return copy;
  }

  /** The tensor of that name, as the next pass gets it. */
  tensor(name: string): Tensor | undefined {
    return this.tensors[this.names.indexOf(name)];
  }
}

/** float32 [1,1,n,past+n]: each new token sees the last `tokens` up to itself. */
function slidingBias(past: number, n: number, tokens: number): Tensor {
  const width = past + n;
  const bias = new Float32Array(n * width).fill(MASKED);
  for (let row = 0; row < n; row++) {
    const own = past + row;
    bias.fill(0, row * width + Math.max(0, own + 1 - tokens), row * width + own + 1);
  }
  return floats(bias, [1, 1, n, width]);
}
