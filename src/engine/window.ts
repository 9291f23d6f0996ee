/**
 * The window of one session: the last W chunk-aligned blocks of rotated keys and of values, all layers (kvm.md, Symbols).
 * Holds tensors that the forward graph reads in place; nothing is copied per token but the token's own key and value.
 */
import { copyRuns } from './copy-runs.js';
import type { Architecture } from './graph-contract.js';
import { groupsOf } from './graph-contract.js';
import type { Tensor } from './ort.js';
import { floats } from './ort.js';
import type { WindowRows } from './state.js';

/** One chunk of all layers, and the position of its first token. */
export interface WindowBlock extends WindowRows {
  readonly firstPosition: number;
}

/** Per layer: keys [K,1,d,rows], values [K,1,rows,d]. */
export interface LayerTensors {
  readonly keys: readonly Tensor[];
  readonly values: readonly Tensor[];
}

/** Logit of a row that holds no token. Not -Infinity: a softmax row must stay finite. */
const MASKED = -1e30;

/** A block's buffer grows by so many rows: each of them costs products, each growth a copy. */
const GROWTH = 64;

/** What attention reads of so many rows. */
interface Attended {
  readonly rows: number;
  /** Keys [G,d,rows]. */
  readonly columns: Float32Array;
  /** [G,rows,d]. */
  readonly values: Float32Array;
}

/** Buffers of `rows` rows: [G,rows,d], columns [G,d,rows], gates [G,rows]. */
type Buffers = WindowRows & Attended;

export class Window {
  /** Full. */
  private past: WindowBlock[] = [];
  private joined: Attended;
  private block: Buffers;
  private firstPosition = 0;
  private filled = 0;
  private pastTensors: LayerTensors;
  private blockTensors: LayerTensors;
  private readonly groups: number;

  constructor(
    private readonly architecture: Architecture,
    private readonly chunk: number,
    private readonly windowChunks: number,
    /** Whether tokens have merge gates. */
    private readonly gated = false,
  ) {
    this.groups = groupsOf(architecture);
    this.block = this.buffers(0);
    this.joined = this.block;
    this.blockTensors = this.tensorsOf(this.block);
    this.pastTensors = this.blockTensors;
  }

  /** Tokens of full past blocks (P). */
  get pastRows(): number {
    return this.past.length * this.chunk;
  }

  /** Rows of the current block's buffer (B): none while it is empty. */
  get blockRows(): number {
    return this.block.rows;
  }

  /** Tokens that still fit into the current block; 0 when the next token begins a new one. */
  get room(): number {
    return this.chunk - this.filled;
  }

  get pastLayers(): LayerTensors {
    return this.pastTensors;
  }

  get blockLayers(): LayerTensors {
    return this.blockTensors;
  }

  get blockBias(): Tensor {
    return floats(new Float32Array(this.block.rows).fill(MASKED, this.filled), [1, 1, 1, this.block.rows]);
  }

  /**
   * Puts n tokens behind the last: keys and values [G,n,d], gates [G,n] where the window has them. At most `room`. Those of
   * a whole chunk are kept as they are, not copied.
   */
  append({ keys, values, gates }: WindowRows, n: number): void {
    const { headSize } = this.architecture;
    const whole = n === this.chunk;
    if (whole) this.use({ keys, values, ...(gates && { gates }), rows: n, columns: new Float32Array(keys.length) });
    else this.reserve(this.filled + n);
    const { block, filled, groups } = this;
    const put = (target: Float32Array, from: Float32Array, size: number): void => {
      for (let group = 0; group < groups; group++) {
        const rows = from.subarray(group * n * size, (group + 1) * n * size);
        target.set(rows, (group * block.rows + filled) * size);
      }
    };
    if (!whole) {
      put(block.keys, keys, headSize);
      put(block.values, values, headSize);
      if (block.gates) put(block.gates, gates!, 1);
    }
    for (let group = 0; group < groups; group++) {
      for (let i = 0; i < headSize; i++) {
        const column = (group * headSize + i) * block.rows + filled;
        for (let row = 0; row < n; row++) block.columns[column + row] = keys[(group * n + row) * headSize + i]!;
      }
    }
    this.filled += n;
  }

  /**
   * Begins a new block when the current one is full; gives the blocks that leave the window, oldest first. `spare`: full
   * blocks that may stay beyond what the window holds.
   */
  roll(spare = 0): WindowBlock[] {
    if (this.filled < this.chunk) return [];
    const { keys, values, gates } = this.block;
    this.past.push({ keys, values, ...(gates && { gates }), firstPosition: this.firstPosition });
    const leaving = this.past.splice(0, Math.max(0, this.past.length - (this.windowChunks - 1 + spare)));
    this.joined = this.join(leaving.length * this.chunk);
    this.pastTensors = this.tensorsOf(this.joined);
    this.firstPosition += this.chunk;
    this.use(this.buffers(0));
    this.filled = 0;
    return leaving;
  }

  /** A copy that goes on by itself. Full blocks are shared: they never change. */
  fork(): Window {
    const copy = new Window(this.architecture, this.chunk, this.windowChunks, this.gated);
    const { rows, keys, values, columns, gates } = this.block;
    copy.past = [...this.past];
    copy.joined = this.joined;
    copy.pastTensors = this.pastTensors;
    copy.block = {
      ...{ rows, keys: keys.slice(), values: values.slice(), columns: columns.slice() },
      ...(gates && { gates: gates.slice() }),
    };
    copy.blockTensors = copy.tensorsOf(copy.block);
    copy.firstPosition = this.firstPosition;
    copy.filled = this.filled;
    return copy;
  }

  /** What the window holds, oldest first, each cut to its tokens: for folding it away at the end of a text. */
  blocks(): WindowBlock[] {
    if (this.filled === 0) return [...this.past];
    const { keys, values, gates } = this.resized(this.filled);
    return [...this.past, { keys, values, ...(gates && { gates }), firstPosition: this.firstPosition }];
  }

  /** Makes the block's buffer large enough for so many rows. */
  private reserve(rows: number): void {
    if (rows <= this.block.rows) return;
    this.use(this.resized(Math.min(this.chunk, Math.ceil(rows / GROWTH) * GROWTH)));
  }

  private use(block: Buffers): void {
    this.block = block;
    this.blockTensors = this.tensorsOf(block);
  }

  /** The block's tokens in buffers of so many rows. */
  private resized(rows: number): Buffers {
    const { headSize } = this.architecture;
    const resized = this.buffers(rows);
    const { block, filled } = this;
    copyRuns(block.keys, resized.keys, this.groups, block.rows * headSize, rows * headSize, filled * headSize);
    copyRuns(block.values, resized.values, this.groups, block.rows * headSize, rows * headSize, filled * headSize);
    copyRuns(block.columns, resized.columns, this.groups * headSize, block.rows, rows, filled);
    if (block.gates) copyRuns(block.gates, resized.gates!, this.groups, block.rows, rows, filled);
    return resized;
  }

  private buffers(rows: number): Buffers {
    const floatsOf = (size: number): Float32Array => new Float32Array(this.groups * rows * size);
    const { headSize } = this.architecture;
    const buffers = { rows, keys: floatsOf(headSize), values: floatsOf(headSize), columns: floatsOf(headSize) };
    return this.gated ? { ...buffers, gates: floatsOf(1) } : buffers;
  }

  /** Past rows without the first `gone`, and the block, which is full; what was joined before is left as it is. */
  private join(gone: number): Attended {
    const { joined, block, chunk, groups } = this;
    const kept = joined.rows + chunk - gone;
    if (kept === 0) return this.buffers(0);
    if (kept === chunk) return block;
    const { headSize } = this.architecture;
    const join = (before: Float32Array, last: Float32Array, runs: number, size: number): Float32Array => {
      const all = new Float32Array(runs * kept * size);
      const old = kept - chunk;
      copyRuns(before.subarray(gone * size), all, runs, joined.rows * size, kept * size, old * size);
      copyRuns(last, all.subarray(old * size), runs, chunk * size, kept * size, chunk * size);
      return all;
    };
    return {
      rows: kept,
      columns: join(joined.columns, block.columns, groups * headSize, 1),
      values: join(joined.values, block.values, groups, headSize),
    };
  }

  private tensorsOf({ columns, values, rows }: Attended): LayerTensors {
    return layerTensors(this.architecture, columns, values, rows);
  }
}

/** Views of each layer's part of keys as columns [G,d,rows] and of values [G,rows,d], as tensors. */
function layerTensors(
  architecture: Architecture,
  columns: Float32Array,
  values: Float32Array,
  rows: number,
): LayerTensors {
  const { kvmLayers, keyHeads, headSize } = architecture;
  const size = keyHeads * rows * headSize;
  const view = (all: Float32Array, layer: number, shape: readonly number[]): Tensor =>
    floats(all.subarray(layer * size, (layer + 1) * size), shape);
  const layers = Array.from({ length: kvmLayers }, (_, layer) => layer);
  return {
    keys: layers.map(layer => view(columns, layer, [keyHeads, 1, headSize, rows])),
    values: layers.map(layer => view(values, layer, [keyHeads, 1, rows, headSize])),
  };
}
