/**
 * A linear layer in its four stored forms, and the nodes that apply it.
 * f32: [out,in]. f16: the same in half the bytes; it is cast to float32, which onnxruntime does once, when it loads. q8: symmetric blocks of 32. q4: blocks of 32 with a minimum: weight = scale·(q - 8) + offset, exactly what
 * GGUF's Q4_1 stores (offset = minimum + 8·scale); the offsets, stored times 32, act through the means of the input's blocks.
 */
import type { GraphBuilder, WeightPlace } from '../../onnx/index.js';

export const BLOCK = 32;

export type StoredLinear = { readonly name: string; readonly inputs: number; readonly outputs: number } & (
  | { readonly kind: 'f32'; readonly weight: WeightPlace }
  | { readonly kind: 'f16'; readonly weight: WeightPlace }
  | { readonly kind: 'q8'; readonly blocks: WeightPlace; readonly scales: WeightPlace }
  | { readonly kind: 'q4'; readonly blocks: WeightPlace; readonly scales: WeightPlace; readonly offsets: WeightPlace }
);

/**
 * A linear layer for many rows at once: int8 by output; the input's outlier channels and what a row's zero point adds in
 * float32. What comes in has those channels divided by `OUTLIER_SCALE` already (their gain or the layer before sees to it),
 * so that they seldom are the ends between which a row is rounded to 8 bits.
 */
export interface Int8Linear {
  readonly name: string;
  /** int8 [inputs,outputs], 0 in the rows of outlier channels. */
  readonly weight: WeightPlace;
  /** float32 [outputs]. */
  readonly scales: WeightPlace;
  /** Numbers of the outlier channels, m of them. */
  readonly outliers: readonly number[];
  /** float32 [m+1,outputs]: weights of the outlier channels times `OUTLIER_SCALE`; sums of the int8 weights over the inputs. */
  readonly inFloat: WeightPlace;
}

/** Outlier channels were 10 to 20 times a row's root mean square (SmolLM2-135M). */
export const OUTLIER_SCALE = 16;

/** Under the largest value of any row: one of zeros stays one. */
const SMALLEST_END = 1e-9;

/** How MatMulNBits computes: with float32 activations (right for many rows) or int8 ones (right for one row). */
export type Activations = 'float32' | 'int8';

/** x [1,n,inputs] → [1,n,outputs]. */
export function linear(g: GraphBuilder, x: string, stored: StoredLinear, activations: Activations): string {
  if (stored.kind === 'f32' || stored.kind === 'f16') {
    const stands = g.weight(stored.name, stored.weight);
    const weight = stored.kind === 'f32' ? stands : g.cast(stands, 'float32');
    return g.node('FusedMatMul', [x, weight], { transB: 1, alpha: { float: 1 } });
  }
  const blocks = g.weight(`${stored.name}.blocks`, stored.blocks);
  const scales = g.weight(`${stored.name}.scales`, stored.scales);
  const bits = stored.kind === 'q8' ? 8 : 4;
  // 8-bit layers have no fast float32 kernel in onnxruntime 1.30 (measured: 4 tokens/s against 152).
  const accuracy = activations === 'int8' || bits === 8 ? 4 : 0;
  const product = g.node('MatMulNBits', [x, blocks, scales], {
    K: stored.inputs,
    N: stored.outputs,
    bits,
    block_size: BLOCK,
    accuracy_level: accuracy,
  });
  if (stored.kind === 'q8') return product;
  const offsets = g.weight(`${stored.name}.offsets`, stored.offsets);
  return g.node('Add', [product, g.node('MatMul', [blockMeans(g, x, stored.inputs, activations), offsets])]);
}

/**
 * x [1,n,inputs] → [1,n,outputs]: y = s·(q·W - z·(sums of W)) + x_o·W_o, with q = round(x/s) + z in 0..255, s the step and z
 * the zero point of a row, which spans its smallest and largest value and 0, and o the outlier channels.
 */
export function int8Linear(g: GraphBuilder, x: string, stored: Int8Linear): string {
  const { name, outliers } = stored;
  const end = (of: 'Max' | 'Min', beyond: number): string =>
    g.node(of, [g.node(`Reduce${of}`, [x, g.integers(0, 2)], { keepdims: 0 }), g.float(beyond)]);
  const low = end('Min', 0);
  const step = g.node('Mul', [g.node('Sub', [end('Max', SMALLEST_END), low]), g.float(1 / 255)]);
  const lowSteps = g.node('Round', [g.node('Div', [low, step])]);
  const zero = g.cast(g.node('Neg', [lowSteps]), 'uint8');
  const rounded = g.node('QuantizeLinear', [x, step, zero], { axis: 1 });
  const product = g.node('MatMulIntegerToFloat', [
    rounded,
    g.weight(`${name}.int8`, stored.weight),
    g.float(1),
    g.weight(`${name}.int8_scales`, stored.scales),
  ]);
  // Not `sized`: chunks took a fifth longer where onnxruntime knew this shape (measured, 1.30).
  const ofRow = (values: string): string => g.node('Reshape', [values, g.integers(1, -1, 1)]);
  const shift = ofRow(g.node('Mul', [lowSteps, step]));
  const channels = outliers.length > 0 ? [g.node('Gather', [x, g.integers(...outliers)], { axis: -1 })] : [];
  const inFloat = g.node('MatMul', [
    g.node('Concat', [...channels, shift], { axis: -1 }),
    g.weight(`${name}.in_float`, stored.inFloat),
  ]);
  return g.node('Add', [g.node('Mul', [product, ofRow(step)]), inFloat]);
}

/** x [1,n,inputs] → means of its blocks of 32 [1,n,inputs/32]. As a pool it is one node, but not every provider's. */
function blockMeans(g: GraphBuilder, x: string, inputs: number, activations: Activations): string {
  if (activations === 'int8') return g.node('AveragePool', [x], { kernel_shape: [BLOCK], strides: [BLOCK] });
  const blocks = g.node('Reshape', [x, g.integers(0, 0, inputs / BLOCK, BLOCK)]);
  return g.node('ReduceMean', [blocks, g.integers(-1)], { keepdims: 0 });
}

/** ids int64 [1,n] → rows of an embedding table [1,n,width]. The table may be the head's (tied). */
export function embedding(g: GraphBuilder, ids: string, table: StoredLinear): string {
  if (table.kind === 'f32' || table.kind === 'f16') {
    const rows = g.node('Gather', [g.weight(table.name, table.weight), ids], { axis: 0 });
    return table.kind === 'f32' ? rows : g.cast(rows, 'float32');
  }
  if (table.kind === 'q4') throw new Error('Embedding tables are stored as f32, f16 or q8.');
  const blocks = g.weight(`${table.name}.blocks`, table.blocks);
  const scales = g.node('Reshape', [
    g.weight(`${table.name}.scales`, table.scales),
    g.integers(table.outputs, table.inputs / BLOCK, 1),
  ]);
  const rows = g.cast(g.node('Gather', [blocks, ids], { axis: 0 }), 'float32');
  const centred = g.node('Sub', [rows, g.float(128)]);
  const scaled = g.node('Mul', [centred, g.node('Gather', [scales, ids], { axis: 0 })]);
  return g.node('Reshape', [scaled, g.integers(0, 0, table.inputs)]);
}
