/**
 * Whether this processor sums products of 8-bit numbers exactly in onnxruntime's kernels. Those for AVX2 without VNNI add
 * pairs in 16 bits, where two large products overflow (onnxruntime's documentation of quantisation); int8 layers would
 * compute something else there. Found by trying: no list of processors.
 */
import { GraphBuilder } from '../onnx/index.js';
import { Graph, bytes, floatData } from './ort.js';

/** A whole tile of any kernel. */
const [ROWS, INNER, COLUMNS] = [4, 64, 16];

let exact: Promise<boolean> | undefined;

/** Tried once a process; false where the product can't be had at all. */
export function int8ProductsAreExact(): Promise<boolean> {
  return (exact ??= largestProducts().then(
    sums => sums.every(sum => sum === INNER * 255 * 127),
    () => false,
  ));
}

/** The largest unsigned times the largest signed numbers. */
async function largestProducts(): Promise<Float32Array> {
  const g = new GraphBuilder('int8-products');
  const left = g.input('left', 'uint8', [ROWS, INNER]);
  const right = g.input('right', 'int8', [INNER, COLUMNS]);
  const sums = g.cast(g.node('MatMulInteger', [left, right]), 'float32');
  g.output(sums, 'sums', 'float32', [ROWS, COLUMNS]);
  const graph = await Graph.ofBytes(g.finish(), 'int8-products', { threads: 1 });
  try {
    const feeds = {
      left: bytes(new Uint8Array(ROWS * INNER).fill(255), [ROWS, INNER]),
      right: bytes(new Int8Array(INNER * COLUMNS).fill(127), [INNER, COLUMNS]),
    };
    return floatData((await graph.run(feeds, ['sums']))['sums']!);
  } finally {
    await graph.release();
  }
}
