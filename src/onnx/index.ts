/** Door of `onnx`. */
export { GraphBuilder } from './graph-builder.js';
export type { Attribute, Dimension, ElementType, WeightPlace } from './graph-builder.js';
