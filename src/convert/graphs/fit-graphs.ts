/**
 * The two graphs by which recall values are fitted: attention of question rows on recall slots, and its gradients, by the
 * chain rule. They hold no weights and are never stored with a model.
 */
import { FIT } from '../../engine/graph-contract.js';
import { GraphBuilder } from '../../onnx/index.js';

export interface FitGraphs {
  readonly forward: Uint8Array;
  readonly backward: Uint8Array;
}

export function fitGraphs(headSize: number): FitGraphs {
  return { forward: forward(headSize), backward: backward(headSize) };
}

/** Rows [R,d] → (q + q A)·exp(t) [R,d]. */
function mappedRows(g: GraphBuilder, headSize: number): string {
  const row = g.input(FIT.row, 'float32', ['R', headSize]);
  const map = g.input(FIT.map, 'float32', [headSize, headSize]);
  const temperature = g.input(FIT.temperature, 'float32', [1]);
  return g.node('Mul', [g.node('Add', [row, g.node('MatMul', [row, map])]), temperature]);
}

function keys(g: GraphBuilder, headSize: number): { key: string; scale: string } {
  const key = g.cast(g.input(FIT.key, 'int8', ['N', headSize]), 'float32');
  return { key, scale: g.input(FIT.scale, 'float32', ['N']) };
}

function transposed(g: GraphBuilder, matrix: string): string {
  return g.node('Transpose', [matrix], { perm: [1, 0] });
}

function forward(headSize: number): Uint8Array {
  const g = new GraphBuilder('fit-forward');
  const mapped = mappedRows(g, headSize);
  const { key, scale } = keys(g, headSize);
  const logCount = g.input(FIT.logCount, 'float32', ['N']);
  const dot = g.node('MatMul', [mapped, transposed(g, key)]);
  const attention = g.node('Softmax', [g.node('Add', [g.node('Mul', [dot, scale]), logCount])], { axis: -1 });
  g.output(attention, FIT.attention, 'float32', ['R', 'N']);
  return g.finish();
}

/**
 * A row P of the softmax with the gradient D gives P·(D - <P,D>) to its logits; these go through key and scale into the
 * mapped row, and from it into map and temperature.
 */
function backward(headSize: number): Uint8Array {
  const g = new GraphBuilder('fit-backward');
  const mapped = mappedRows(g, headSize);
  const { key, scale } = keys(g, headSize);
  const attention = g.input(FIT.attention, 'float32', ['R', 'N']);
  const gradient = g.input(FIT.attentionGradient, 'float32', ['R', 'N']);
  const mean = g.node('ReduceSum', [g.node('Mul', [attention, gradient]), g.integers(-1)], { keepdims: 1 });
  const logits = g.node('Mul', [attention, g.node('Sub', [gradient, mean])]);
  const rows = g.node('MatMul', [g.node('Mul', [logits, scale]), key]);
  const ofMap = g.node('MatMul', [transposed(g, FIT.row), g.node('Mul', [rows, FIT.temperature])]);
  g.output(ofMap, FIT.mapGradient, 'float32', [headSize, headSize]);
  const ofTemperature = g.node('ReduceSum', [g.node('Mul', [rows, mapped])], { keepdims: 0 });
  g.output(ofTemperature, FIT.temperatureGradient, 'float32', []);
  return g.finish();
}
