/**
 * The graph of one pass over new tokens: embedding, layers with KVM attention (state + window), head.
 * Built twice over the same weights: for chunks (prefill) and for single tokens (decode); both take any number of tokens.
 * Source: kvm.md, Attend; retrofit.md (un-rotated state keys read at a constant distance, log(count) as a bias).
 */
import type { Architecture } from '../../engine/graph-contract.js';
import { FORWARD } from '../../engine/graph-contract.js';
import type { WeightPlace } from './graph-builder.js';
import { GraphBuilder } from './graph-builder.js';
import type { Activations, StoredLinear } from './linear.js';
import { embedding, linear } from './linear.js';

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

export interface StoredModel {
  readonly architecture: Architecture;
  readonly normEpsilon: number;
  readonly embedding: StoredLinear;
  readonly layers: readonly StoredLayer[];
  readonly finalNorm: WeightPlace;
  readonly head: StoredLinear;
}

export function forwardGraph(model: StoredModel, weightsFile: string, use: 'prefill' | 'decode'): Uint8Array {
  const { layers, width, heads, keyHeads, headSize, vocabulary } = model.architecture;
  const activations: Activations = use === 'prefill' ? 'float32' : 'int8';
  const epsilon = { epsilon: { float: model.normEpsilon } };
  const g = new GraphBuilder(use, weightsFile);

  const ids = g.input(FORWARD.tokenIds, 'int64', [1, 'n']);
  const rows = g.input(FORWARD.rows, 'int64', [1, 'n']);
  const half = headSize / 2;
  const cos = g.input(FORWARD.cos, 'float32', ['n', half]);
  const sin = g.input(FORWARD.sin, 'float32', ['n', half]);
  const readCos = g.input(FORWARD.readCos, 'float32', ['n', half]);
  const readSin = g.input(FORWARD.readSin, 'float32', ['n', half]);
  const blockBias = g.input(FORWARD.blockBias, 'float32', [1, 1, 1, 'B']);
  const causalBias = g.input(FORWARD.causalBias, 'float32', [1, 1, 'n', 'n']);
  const parts = use === 'decode' ? g.input(FORWARD.parts, 'int64', [4]) : undefined;
  const logitRows = g.input(FORWARD.logitRows, 'int64', ['r']);

  const rotate = (x: string, c: string, s: string): string =>
    g.node('RotaryEmbedding', [x, rows, c, s], { interleaved: 1 });
  /** [1,n,count·d] → [1,count,n,d]. */
  const toHeads = (x: string, count: number, norm: WeightPlace | undefined, name: string): string => {
    let split = g.node('Reshape', [x, g.integers(0, 0, count, headSize)]);
    if (norm) {
      const gain = g.weight(name, norm);
      split = g.node('SimplifiedLayerNormalization', [split, gain], { axis: -1, ...epsilon });
    }
    return g.node('Transpose', [split], { perm: [0, 2, 1, 3] });
  };
  const byKeyHead = (x: string, last: number): string => g.node('Reshape', [x, g.integers(0, keyHeads, -1, last)]);

  const shapes = new AttentionShapes(g, heads, keyHeads, ids);
  let x = embedding(g, ids, model.embedding);
  let normed = '';
  let delta = '';
  model.layers.forEach((layer, i) => {
    const name = (part: string): string => `layer.${i}.${part}`;
    const norm = g.weight(name('attention_norm'), layer.attentionNorm);
    if (i === 0) normed = g.node('SimplifiedLayerNormalization', [x, norm], { axis: -1, ...epsilon });
    else [x, normed] = residualNorm(g, x, delta, norm, epsilon);

    let qkv = linear(g, normed, layer.qkv, activations);
    if (layer.qkvBias) qkv = g.node('Add', [qkv, g.weight(name('qkv_bias'), layer.qkvBias)]);
    const sizes = g.integers(heads * headSize, keyHeads * headSize, keyHeads * headSize);
    const [q, k, v] = g.manyOutputs('Split', [qkv, sizes], 3, { axis: -1 });
    const query = toHeads(q!, heads, layer.queryNorm, name('query_norm'));
    const plainKey = toHeads(k!, keyHeads, layer.keyNorm, name('key_norm'));
    const value = toHeads(v!, keyHeads, undefined, '');
    const key = rotate(plainKey, cos, sin);

    const kv = (n: string, size: string): string => g.input(n, 'float32', [1, keyHeads, size, headSize]);
    const stateKey = kv(FORWARD.stateKey(i), 'S');
    const stateValue = kv(FORWARD.stateValue(i), 'S');
    const stateBias = g.input(FORWARD.stateBias(i), 'float32', [1, heads, 1, 'S']);
    const pastKey = kv(FORWARD.pastKey(i), 'P');
    const pastValue = kv(FORWARD.pastValue(i), 'P');
    const blockKey = kv(FORWARD.blockKey(i), 'B');
    const blockValue = kv(FORWARD.blockValue(i), 'B');

    const windowQuery = byKeyHead(rotate(query, cos, sin), headSize);
    const stateQuery = byKeyHead(rotate(query, readCos, readSin), headSize);
    const logits = (asked: string, keys: string, part: Part): string => {
      const alpha = { float: 1 / Math.sqrt(headSize) };
      const product = g.node('FusedMatMul', [asked, keys], { transB: 1, alpha });
      return g.node('Reshape', [product, shapes.byHead(keys, part)], { allowzero: 1 });
    };
    const all = g.node(
      'Concat',
      [
        g.node('Add', [logits(stateQuery, stateKey, 'state'), stateBias]),
        logits(windowQuery, pastKey, 'past'),
        g.node('Add', [logits(windowQuery, blockKey, 'block'), blockBias]),
        g.node('Add', [logits(windowQuery, key, 'new'), causalBias]),
      ],
      { axis: -1 },
    );
    const weights = g.node('Softmax', [all], { axis: -1 });
    const mixed = mix(g, weights, [stateValue, pastValue, blockValue, value], shapes, parts);
    const perToken = g.node('Transpose', [g.node('Reshape', [mixed, g.integers(0, heads, -1, headSize)])], {
      perm: [0, 2, 1, 3],
    });
    const attended = g.node('Reshape', [perToken, g.integers(0, 0, heads * headSize)]);

    const mlpNorm = g.weight(name('mlp_norm'), layer.mlpNorm);
    [x, normed] = residualNorm(g, x, linear(g, attended, layer.output, activations), mlpNorm, epsilon);
    const [gate, up] = g.manyOutputs('Split', [linear(g, normed, layer.gateUp, activations)], 2, {
      axis: -1,
      num_outputs: 2,
    });
    const hidden = g.node('Mul', [g.node('QuickGelu', [gate!], { alpha: { float: 1 } }), up!]);
    delta = linear(g, hidden, layer.down, activations);

    g.output(key, FORWARD.newKey(i), 'float32', [1, keyHeads, 'n', headSize]);
    g.output(value, FORWARD.newValue(i), 'float32', [1, keyHeads, 'n', headSize]);
    g.output(query, FORWARD.query(i), 'float32', [1, heads, 'n', headSize]);
  });

  const [, last] = residualNorm(g, x, delta, g.weight('final_norm', model.finalNorm), epsilon);
  const wanted = g.node('Gather', [last, logitRows], { axis: 1 });
  g.output(linear(g, wanted, model.head, activations), FORWARD.logits, 'float32', [1, 'r', vocabulary]);
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

type Part = 'state' | 'past' | 'block' | 'new' | 'all';

/** Shapes that all layers share, computed once from the first layer's tensors. Explicit, for a part may be empty. */
class AttentionShapes {
  private readonly known = new Map<string, string>();
  private readonly groupedQueries: string;

  constructor(
    private readonly g: GraphBuilder,
    private readonly heads: number,
    private readonly keyHeads: number,
    private readonly ids: string,
  ) {
    this.groupedQueries = g.node('Mul', [this.newTokens(), g.integers(heads / keyHeads)]);
  }

  /** [1,H,n,rows of x]: the query heads of a key head are neighbours, so [1,K,g·n,m] has the same order. */
  byHead(x: string, part: Part): string {
    return this.once(`${part}.heads`, x, size => [this.g.integers(1, this.heads), this.newTokens(), size]);
  }

  /** [1,K,g·n,rows of x]. */
  byKeyHead(x: string, part: Part): string {
    return this.once(`${part}.key_heads`, x, size => [this.g.integers(1, this.keyHeads), this.groupedQueries, size]);
  }

  private newTokens(): string {
    return this.g.node('Shape', [this.ids], { start: 1, end: 2 });
  }

  private once(key: string, x: string, parts: (size: string) => string[]): string {
    let shape = this.known.get(key);
    if (shape === undefined) {
      shape = this.g.node('Concat', parts(this.g.node('Shape', [x], { start: 2, end: 3 })), { axis: 0 });
      this.known.set(key, shape);
    }
    return shape;
  }
}

/**
 * weights [1,H,n,S+P+B+n] over values in four parts → [1,K,g·n,d]. For one token the weights are cut in parts (small), for
 * a chunk the values are joined (smaller than the weights).
 */
function mix(
  g: GraphBuilder,
  weights: string,
  values: readonly string[],
  shapes: AttentionShapes,
  parts: string | undefined,
): string {
  const weigh = (part: string, value: string, name: Part): string =>
    g.node('MatMul', [g.node('Reshape', [part, shapes.byKeyHead(value, name)], { allowzero: 1 }), value]);
  if (parts === undefined) return weigh(weights, g.node('Concat', values, { axis: 2 }), 'all');
  const names: readonly Part[] = ['state', 'past', 'block', 'new'];
  const cut = g.manyOutputs('Split', [weights, parts], 4, { axis: -1 });
  return g.node(
    'Sum',
    cut.map((part, i) => weigh(part, values[i]!, names[i]!)),
  );
}
