/**
 * `alpha · a · bᵀ` in standard operators. onnxruntime's CPU makes of them the one FusedMatMul that they stand for (same bits);
 * WebGPU has no FusedMatMul and would leave it to the CPU.
 */
import type { GraphBuilder } from '../../onnx/index.js';

/** `axes`: the rank of `b`. */
export function timesTransposed(g: GraphBuilder, a: string, b: string, axes: 2 | 3 | 4, alpha?: number): string {
  const kept = Array.from({ length: axes - 2 }, (_, axis) => axis);
  const product = g.node('MatMul', [a, g.node('Transpose', [b], { perm: [...kept, axes - 1, axes - 2] })]);
  return alpha === undefined ? product : g.node('Mul', [product, g.float(alpha)]);
}
