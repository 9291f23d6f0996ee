/**
 * The window of one session: the last W chunk-aligned blocks of rotated keys and of values, all layers (kvm.md, Symbols).
 * Holds tensors that the forward graph reads in place; nothing is copied per token but the token's own key and value.
 */
import type { Tensor } from './ort.js';
import { floatData, floats } from './ort.js';
import type { Architecture } from './graph-contract.js';

/** Keys and values of one chunk of all layers, float32 [G,C,d], and the position of its first token. */
export interface WindowBlock {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly firstPosition: number;
}

export interface LayerTensors {
  readonly keys: readonly Tensor[];
  readonly values: readonly Tensor[];
}

/** Logit of a row that holds no token. Not -Infinity: a softmax row must stay finite. */
const MASKED = -1e30;

export class Window {
  private past: WindowBlock[] = [];
  private block: WindowBlock;
  private filled = 0;
  private pastTensors: LayerTensors;
  private blockTensors: LayerTensors;
  private readonly noTensors: LayerTensors;
  private bias: Float32Array;

  constructor(
    private readonly architecture: Architecture,
    private readonly chunk: number,
    private readonly windowChunks: number,
  ) {
    this.block = this.freshBlock(0);
    this.bias = new Float32Array(chunk).fill(MASKED);
    this.noTensors = this.tensorsOf(new Float32Array(0), new Float32Array(0), 0);
    this.pastTensors = this.noTensors;
    this.blockTensors = this.tensorsOf(this.block.keys, this.block.values, chunk);
  }

  /** Tokens of full past blocks (P). */
  get pastRows(): number {
    return this.past.length * this.chunk;
  }

  /** Rows of the current block's buffer as the graph sees it (B): none while it is empty. */
  get blockRows(): number {
    return this.filled === 0 ? 0 : this.chunk;
  }

  /** Tokens that still fit into the current block; 0 when the next token begins a new one. */
  get room(): number {
    return this.chunk - this.filled;
  }

  get pastLayers(): LayerTensors {
    return this.pastTensors;
  }

  get blockLayers(): LayerTensors {
    return this.filled === 0 ? this.noTensors : this.blockTensors;
  }

  get blockBias(): Tensor {
    return floats(this.bias.subarray(0, this.blockRows), [1, 1, 1, this.blockRows]);
  }

  /** Puts n tokens behind the last; keys and values per layer, float32 [1,K,n,d]. n must not exceed `room`. */
  append(keys: readonly Tensor[], values: readonly Tensor[], n: number): void {
    const { keyHeads, headSize } = this.architecture;
    const put = (target: Float32Array, layers: readonly Tensor[]): void => {
      layers.forEach((tensor, layer) => {
        const data = floatData(tensor);
        for (let head = 0; head < keyHeads; head++) {
          const row = (layer * keyHeads + head) * this.chunk + this.filled;
          target.set(data.subarray(head * n * headSize, (head + 1) * n * headSize), row * headSize);
        }
      });
    };
    put(this.block.keys, keys);
    put(this.block.values, values);
    this.bias.fill(0, this.filled, this.filled + n);
    this.filled += n;
  }

  /** Begins a new block when the current one is full; gives the block that leaves the window, if one does. */
  roll(): WindowBlock | undefined {
    if (this.filled < this.chunk) return undefined;
    this.past.push(this.block);
    const leaving = this.past.length > this.windowChunks - 1 ? this.past.shift() : undefined;
    this.block = this.freshBlock(this.block.firstPosition + this.chunk);
    this.filled = 0;
    this.bias = new Float32Array(this.chunk).fill(MASKED);
    this.blockTensors = this.tensorsOf(this.block.keys, this.block.values, this.chunk);
    this.pastTensors = this.joinPast();
    return leaving;
  }

  /** What the window holds, oldest first, each cut to its tokens: for folding it away at the end of a text. */
  blocks(): WindowBlock[] {
    const { headSize } = this.architecture;
    const cut = (values: Float32Array): Float32Array => {
      const groups = values.length / (this.chunk * headSize);
      const part = new Float32Array(groups * this.filled * headSize);
      for (let group = 0; group < groups; group++) {
        const start = group * this.chunk * headSize;
        part.set(values.subarray(start, start + this.filled * headSize), group * this.filled * headSize);
      }
      return part;
    };
    if (this.filled === 0) return [...this.past];
    return [...this.past, { ...this.block, keys: cut(this.block.keys), values: cut(this.block.values) }];
  }

  private freshBlock(firstPosition: number): WindowBlock {
    const { layers, keyHeads, headSize } = this.architecture;
    const size = layers * keyHeads * this.chunk * headSize;
    return { keys: new Float32Array(size), values: new Float32Array(size), firstPosition };
  }

  private joinPast(): LayerTensors {
    const [first] = this.past;
    if (!first) return this.noTensors;
    if (this.past.length === 1) return this.tensorsOf(first.keys, first.values, this.chunk);
    const join = (pick: (block: WindowBlock) => Float32Array): Float32Array => {
      const run = this.chunk * this.architecture.headSize;
      const joined = new Float32Array(first.keys.length * this.past.length);
      const groups = first.keys.length / run;
      for (let group = 0; group < groups; group++) {
        this.past.forEach((block, i) => {
          joined.set(pick(block).subarray(group * run, (group + 1) * run), (group * this.past.length + i) * run);
        });
      }
      return joined;
    };
    return this.tensorsOf(
      join(block => block.keys),
      join(block => block.values),
      this.pastRows,
    );
  }

  private tensorsOf(keys: Float32Array, values: Float32Array, rows: number): LayerTensors {
    return layerTensors(this.architecture, keys, values, rows);
  }
}

/** Views of each layer's part of [G,rows,d] arrays, as tensors [1,K,rows,d]. */
export function layerTensors(
  architecture: Architecture,
  keys: Float32Array,
  values: Float32Array,
  rows: number,
): LayerTensors {
  const { layers, keyHeads, headSize } = architecture;
  const size = keyHeads * rows * headSize;
  const view = (all: Float32Array, layer: number): Tensor =>
    floats(all.subarray(layer * size, (layer + 1) * size), [1, keyHeads, rows, headSize]);
  return {
    keys: Array.from({ length: layers }, (_, layer) => view(keys, layer)),
    values: Array.from({ length: layers }, (_, layer) => view(values, layer)),
  };
}
