/**
 * The graph of one pass over new tokens: embedding, layers with KVM attention (state + window), head.
 * Built over the same weights for chunks (prefill) and for single tokens (decode), and for chunks over int8 layers; all take
 * any number of tokens.
 * Source: kvm.md, Attend; retrofit.md (un-rotated state keys read at a constant distance, log(count) as a bias).
 */
import type { Architecture } from '../../engine/graph-contract.js';
import { FORWARD } from '../../engine/graph-contract.js';
import type { WeightPlace } from '../../onnx/index.js';
import { GraphBuilder } from '../../onnx/index.js';
import { KvmAttention } from './kvm-attention.js';
import type { Activations, Int8Linear, StoredLinear } from './linear.js';
import { embedding, int8Linear, linear } from './linear.js';

export interface StoredLayer {
  readonly attentionNorm: WeightPlace;
  /** Rows of q, k, v, one after another: H·d + 2·K·d outputs. */
  readonly qkv: StoredLinear;
  readonly qkvBias?: WeightPlace;
  readonly queryNorm?: WeightPlace;
  readonly keyNorm?: WeightPlace;
  readonly output: StoredLinear;
  readonly mlpNorm: WeightPlace;
  /** Rows of gate and up. */
  readonly gateUp: StoredLinear;
  readonly down: StoredLinear;
}

/** What a layer has else for int8 rows: the norms' gains of outlier channels are smaller. */
export interface Int8Layer {
  readonly attentionNorm: WeightPlace;
  readonly qkv: Int8Linear;
  readonly output: Int8Linear;
  readonly mlpNorm: WeightPlace;
  readonly gateUp: Int8Linear;
  readonly down: Int8Linear;
}

export interface StoredModel {
  readonly architecture: Architecture;
  readonly normEpsilon: number;
  readonly embedding: StoredLinear;
  readonly layers: readonly StoredLayer[];
  readonly finalNorm: WeightPlace;
  readonly head: StoredLinear;
}

/** A model's first layers, enough for their keys and values. */
export function lowerPart(model: StoredModel, layers: number): StoredModel {
  return {
    ...model,
    architecture: { ...model.architecture, layers, kvmLayers: layers },
    layers: model.layers.slice(0, layers),
  };
}

export interface GraphOptions {
  readonly use: 'prefill' | 'decode';
  /** Layers as int8 rows, which the CPU multiplies fastest, instead of the model's own. */
  readonly int8?: readonly Int8Layer[];
  /** Default true. False leaves out all that only logits need, which is most of the last layer. */
  readonly withLogits?: boolean;
}

export function forwardGraph(model: StoredModel, options: GraphOptions): Uint8Array {
  const { use, int8, withLogits = true } = options;
  const { layers, width, heads, keyHeads, headSize, vocabulary } = model.architecture;
  const activations: Activations = use === 'prefill' ? 'float32' : 'int8';
  const epsilon = { epsilon: { float: model.normEpsilon } };
  const g = new GraphBuilder(use);

  const ids = g.input(FORWARD.tokenIds, 'int64', [1, 'n']);
  const rows = g.input(FORWARD.rows, 'int64', [1, 'n']);
  const half = headSize / 2;
  const cos = g.input(FORWARD.cos, 'float32', ['n', half]);
  const sin = g.input(FORWARD.sin, 'float32', ['n', half]);
  const readCos = g.input(FORWARD.readCos, 'float32', ['n', half]);
  const readSin = g.input(FORWARD.readSin, 'float32', ['n', half]);
  const attention = new KvmAttention(g, { heads, keyHeads, headSize }, ids, use);
  const logitRows = g.input(FORWARD.logitRows, 'int64', ['r']);

  // For one token heads come first of all: nothing moves, and keys and values lie as attention takes them. The batch is theirs
  // then, for which RotaryEmbedding counts rows from a first one.
  const headsFirst = use === 'decode';
  const rotate = (x: string, c: string, s: string): string =>
    g.node('RotaryEmbedding', [x, headsFirst ? g.integers(0) : rows, c, s], { interleaved: 1 });
  const headNorm = (x: string, norm: WeightPlace | undefined, name: string): string =>
    norm ? g.node('SimplifiedLayerNormalization', [x, g.weight(name, norm)], { axis: -1, ...epsilon }) : x;

  const apply = (x: string, layer: StoredLinear | Int8Linear): string =>
    'kind' in layer ? linear(g, x, layer, activations) : int8Linear(g, x, layer);

  let x = embedding(g, ids, model.embedding);
  let normed = '';
  let delta = '';
  model.layers.forEach((layer, i) => {
    const name = (part: string): string => `layer.${i}.${part}`;
    const own = int8?.[i] ?? layer;
    const norm = g.weight(name('attention_norm'), own.attentionNorm);
    if (i === 0) normed = g.node('SimplifiedLayerNormalization', [x, norm], { axis: -1, ...epsilon });
    else [x, normed] = residualNorm(g, x, delta, norm, epsilon);

    let qkv = apply(normed, own.qkv);
    if (layer.qkvBias) qkv = g.node('Add', [qkv, g.weight(name('qkv_bias'), layer.qkvBias)]);
    const split = g.node('Reshape', [qkv, g.integers(0, 0, heads + 2 * keyHeads, headSize)]);
    const byHead = g.node('Transpose', [split], { perm: headsFirst ? [2, 0, 1, 3] : [0, 2, 1, 3] });
    const axis = headsFirst ? 0 : 1;
    const [q, k, v] = g.manyOutputs('Split', [byHead, g.integers(heads, keyHeads, keyHeads)], 3, { axis });
    const query = headNorm(q!, layer.queryNorm, name('query_norm'));
    g.output(query, FORWARD.query(i), 'float32', headsFirst ? [heads, 1, 'n', headSize] : [1, heads, 'n', headSize]);
    const kept = (x: string): string => (headsFirst ? x : attention.byKeyHead(x));
    const scaled = attention.scaled(query);
    const attended = attention.attend(i, {
      windowQuery: rotate(scaled, cos, sin),
      stateQuery: rotate(scaled, readCos, readSin),
      key: kept(rotate(headNorm(k!, layer.keyNorm, name('key_norm')), cos, sin)),
      value: kept(v!),
    });

    const mlpNorm = g.weight(name('mlp_norm'), own.mlpNorm);
    [x, normed] = residualNorm(g, x, apply(attended, own.output), mlpNorm, epsilon);
    const [gate, up] = g.manyOutputs('Split', [apply(normed, own.gateUp)], 2, { axis: -1, num_outputs: 2 });
    const hidden = g.node('Mul', [g.node('QuickGelu', [gate!], { alpha: { float: 1 } }), up!]);
    delta = apply(hidden, own.down);
  });
  attention.outputs();

  if (withLogits) {
    const [, last] = residualNorm(g, x, delta, g.weight('final_norm', model.finalNorm), epsilon);
    const wanted = g.node('Gather', [last, logitRows], { axis: 1 });
    g.output(linear(g, wanted, model.head, activations), FORWARD.logits, 'float32', [1, 'r', vocabulary]);
  }
  if (layers !== model.layers.length || width <= 0) throw new Error('The layers do not fit the architecture.');
  return g.finish();
}

/** (x, y) → [x + y, norm(x + y)]. */
function residualNorm(
  g: GraphBuilder,
  x: string,
  y: string,
  norm: string,
  epsilon: { epsilon: { float: number } },
): [string, string] {
  const out = g.manyOutputs('SkipSimplifiedLayerNormalization', [x, y, norm], 4, epsilon);
  return [out[3]!, out[0]!];
}
