/**
 * The window of one session: the last W chunk-aligned blocks of rotated keys and of values, all layers (kvm.md, Symbols).
 * Holds tensors that the forward graph reads in place; nothing is copied per token but the token's own key and value.
 */
import type { Tensor } from './ort.js';
import { floatData, floats } from './ort.js';
import type { Architecture } from './graph-contract.js';
import type { WindowRows } from './state.js';

/** One chunk of all layers, and the position of its first token. */
export interface WindowBlock extends WindowRows {
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
    /** Whether tokens have merge gates. */
    private readonly gated = false,
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

  /**
   * Puts n tokens behind the last; keys and values per layer, float32 [1,K,n,d], and gates [1,K,n] where the window has
   * them. n must not exceed `room`.
   */
  append(keys: readonly Tensor[], values: readonly Tensor[], n: number, gates: readonly Tensor[] = []): void {
    const { keyHeads, headSize } = this.architecture;
    const put = (target: Float32Array, layers: readonly Tensor[], size: number): void => {
      layers.forEach((tensor, layer) => {
        const data = floatData(tensor);
        for (let head = 0; head < keyHeads; head++) {
          const row = (layer * keyHeads + head) * this.chunk + this.filled;
          target.set(data.subarray(head * n * size, (head + 1) * n * size), row * size);
        }
      });
    };
    put(this.block.keys, keys, headSize);
    put(this.block.values, values, headSize);
    if (this.block.gates) put(this.block.gates, gates, 1);
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

  /** A copy that goes on by itself. Full blocks are shared: they never change. */
  fork(): Window {
    const copy = new Window(this.architecture, this.chunk, this.windowChunks, this.gated);
    const { keys, values, gates, firstPosition } = this.block;
    copy.past = [...this.past];
    copy.pastTensors = this.pastTensors;
    copy.block = { keys: keys.slice(), values: values.slice(), firstPosition, ...(gates && { gates: gates.slice() }) };
    copy.blockTensors = copy.tensorsOf(copy.block.keys, copy.block.values, this.chunk);
    copy.bias = this.bias.slice();
    copy.filled = this.filled;
    return copy;
  }

  /** What the window holds, oldest first, each cut to its tokens: for folding it away at the end of a text. */
  blocks(): WindowBlock[] {
    const { headSize } = this.architecture;
    const cut = (values: Float32Array, size: number): Float32Array => {
      const groups = values.length / (this.chunk * size);
      const part = new Float32Array(groups * this.filled * size);
      for (let group = 0; group < groups; group++) {
        const start = group * this.chunk * size;
        part.set(values.subarray(start, start + this.filled * size), group * this.filled * size);
      }
      return part;
    };
    if (this.filled === 0) return [...this.past];
    const { keys, values, gates, firstPosition } = this.block;
    const newest = { keys: cut(keys, headSize), values: cut(values, headSize), firstPosition };
    return [...this.past, gates ? { ...newest, gates: cut(gates, 1) } : newest];
  }

  private freshBlock(firstPosition: number): WindowBlock {
    const { kvmLayers, keyHeads, headSize } = this.architecture;
    const rows = kvmLayers * keyHeads * this.chunk;
    const size = rows * headSize;
    const block = { keys: new Float32Array(size), values: new Float32Array(size), firstPosition };
    return this.gated ? { ...block, gates: new Float32Array(rows) } : block;
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
  const { kvmLayers, keyHeads, headSize } = architecture;
  const size = keyHeads * rows * headSize;
  const view = (all: Float32Array, layer: number): Tensor =>
    floats(all.subarray(layer * size, (layer + 1) * size), [1, keyHeads, rows, headSize]);
  return {
    keys: Array.from({ length: kvmLayers }, (_, layer) => view(keys, layer)),
    values: Array.from({ length: kvmLayers }, (_, layer) => view(values, layer)),
  };
}
