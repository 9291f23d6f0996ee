/**
 * The graph that scores all slots of a memory exactly, block by block inside onnxruntime: [rows, slots] as a whole does not
 * fit the processor's cache, a block does. It has no weights and is the same for every model, so it is made here and lies in no
 * file. Knows no slots.
 */
import { GraphBuilder } from '../onnx/index.js';

/** R = H·r question rows of H query heads, one head's after another's, against C blocks of B slots of their key head. */
export const BLOCK_SCORE = {
  /** float32 [R,d]; scale and temperature are in it. */
  query: 'query',
  /** int8 [C,B,d]. */
  key: 'key',
  /** float32 [C,B]. */
  scale: 'scale',
  /** float32 [C,B]: -Infinity for a slot that only fills its block up. */
  logCount: 'log_count',
  /** float32 [H,r]: what each row counts. */
  rowWeight: 'row_weight',
  /** float32 [H,C,B]: weighted sum over a head's rows of the softmax over all slots. */
  mass: 'mass',
  /** float32 [R]: log of the sum of exp(logit) over all slots. */
  logSum: 'log_sum',
} as const;

/**
 * Each block gives, row by row, the softmax p of q·k without the counts n, the log of the sum that p was divided by, and
 * Σ n·p. With the log Z of the sum over all blocks, the mass of a slot is n · Σ over rows of weight · exp(log sum - log Z) · p.
 */
export function blockScoreGraph(): Uint8Array {
  const g = new GraphBuilder('score-blocks');
  const query = g.input(BLOCK_SCORE.query, 'float32', ['R', 'd']);
  const key = g.input(BLOCK_SCORE.key, 'int8', ['C', 'B', 'd']);
  const scale = g.input(BLOCK_SCORE.scale, 'float32', ['C', 'B']);
  const count = g.node('Exp', [g.input(BLOCK_SCORE.logCount, 'float32', ['C', 'B'])]);
  const rowWeight = g.input(BLOCK_SCORE.rowWeight, 'float32', ['H', 'r']);
  const body = blockBody(g, query);
  const blocks = [key, scale, g.node('Unsqueeze', [count, g.integers(2)])];
  const [softmax, largestLogit, largest, counted] = g.manyOutputs('Scan', blocks, 4, {
    body: { graph: body },
    num_scan_inputs: blocks.length,
  }) as [string, string, string, string];
  const uncounted = g.node('Sub', [largestLogit, g.node('Log', [largest])]);
  const logSum = logSumOverBlocks(g, g.node('Add', [uncounted, g.node('Log', [counted])]));
  g.output(g.node('Squeeze', [logSum, g.integers(0, 2)]), BLOCK_SCORE.logSum, 'float32', ['R']);
  // One product of r rows for each head and block: of a product of all rows, all but one head's would be with zeros.
  const heads = g.node('Shape', [rowWeight], { start: 0, end: 1 });
  const byHead = (of: string, ...rest: string[]): string =>
    g.node('Reshape', [of, g.node('Concat', [g.integers(0), heads, ...rest], { axis: 0 })]);
  const factor = g.node('Exp', [g.node('Sub', [uncounted, logSum])]);
  const weight = g.node('Mul', [byHead(factor, g.integers(-1)), rowWeight]);
  const rows = g.node('Shape', [rowWeight], { start: 1, end: 2 });
  const product = g.node('MatMul', [
    g.node('Unsqueeze', [weight, g.integers(2)]),
    byHead(softmax, rows, g.integers(-1)),
  ]);
  const mass = g.node('Mul', [
    g.node('Squeeze', [product, g.integers(2)]),
    g.node('Unsqueeze', [count, g.integers(1)]),
  ]);
  g.output(g.node('Transpose', [mass], { perm: [1, 0, 2] }), BLOCK_SCORE.mass, 'float32', ['H', 'C', 'B']);
  return g.finish();
}

/** Of one block: softmax [R,B], largest logit, largest softmax and the softmaxes' sum by counts, each [R,1]. */
function blockBody(g: GraphBuilder, query: string): GraphBuilder {
  const body = g.body('block');
  const key = body.input(body.localName('key'), 'int8', ['B', 'd']);
  const scale = body.input(body.localName('scale'), 'float32', ['B']);
  const count = body.input(body.localName('count'), 'float32', ['B', 1]);
  const scaled = body.node('DequantizeLinear', [key, scale], { axis: 0 });
  const logits = body.node('MatMul', [query, body.node('Transpose', [scaled], { perm: [1, 0] })]);
  const softmax = body.node('Softmax', [logits], { axis: -1 });
  const most = (of: string): string => body.node('ReduceMax', [of, body.integers(1)], { keepdims: 1 });
  body.output(softmax, body.localName('softmax'), 'float32', ['R', 'B']);
  body.output(most(logits), body.localName('largest_logit'), 'float32', ['R', 1]);
  body.output(most(softmax), body.localName('largest'), 'float32', ['R', 1]);
  body.output(body.node('MatMul', [softmax, count]), body.localName('counted'), 'float32', ['R', 1]);
  return body;
}

/** [C,R,1] → [1,R,1]; ReduceLogSumExp over the slots themselves is eight times slower than a softmax. */
function logSumOverBlocks(g: GraphBuilder, logs: string): string {
  const most = g.node('ReduceMax', [logs, g.integers(0)], { keepdims: 1 });
  const sum = g.node('ReduceSum', [g.node('Exp', [g.node('Sub', [logs, most])]), g.integers(0)], { keepdims: 1 });
  return g.node('Add', [most, g.node('Log', [sum])]);
}
