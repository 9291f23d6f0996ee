/**
 * Attention of one layer over state and window in one softmax, as nodes of a forward graph: the same for ordinary
 * checkpoints and for models trained with KVM. Never rotates or projects. Source: kvm.md, Attend.
 */
import { FORWARD } from '../../engine/graph-contract.js';
import type { GraphBuilder } from './graph-builder.js';
import { timesTransposed } from './times-transposed.js';

export interface AttentionSizes {
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
}

/** Of the new tokens: queries [1,H,n,d], what the window keeps [1,K,n,d]. */
export interface AttentionInputs {
  readonly windowQuery: string;
  readonly stateQuery: string;
  readonly key: string;
  readonly value: string;
}

export class KvmAttention {
  private readonly shapes: AttentionShapes;
  private readonly blockBias: string;
  private readonly causalBias: string;
  private readonly parts: string | undefined;

  constructor(
    private readonly g: GraphBuilder,
    private readonly sizes: AttentionSizes,
    ids: string,
    use: 'prefill' | 'decode',
  ) {
    this.blockBias = g.input(FORWARD.blockBias, 'float32', [1, 1, 1, 'B']);
    this.causalBias = g.input(FORWARD.causalBias, 'float32', [1, 1, 'n', 'n']);
    this.parts = use === 'decode' ? g.input(FORWARD.parts, 'int64', [4]) : undefined;
    this.shapes = new AttentionShapes(g, sizes.heads, sizes.keyHeads, ids);
  }

  /** → [1,n,H·d]. Declares state and window of the layer as inputs, its new keys and values as outputs. */
  attend(layer: number, { windowQuery, stateQuery, key, value }: AttentionInputs): string {
    const { g, shapes } = this;
    const { heads, keyHeads, headSize } = this.sizes;
    const kv = (n: string, size: string): string => g.input(n, 'float32', [1, keyHeads, size, headSize]);
    const stateKey = kv(FORWARD.stateKey(layer), 'S');
    const stateValue = kv(FORWARD.stateValue(layer), 'S');
    const stateBias = g.input(FORWARD.stateBias(layer), 'float32', [1, heads, 1, 'S']);
    const pastKey = kv(FORWARD.pastKey(layer), 'P');
    const pastValue = kv(FORWARD.pastValue(layer), 'P');
    const blockKey = kv(FORWARD.blockKey(layer), 'B');
    const blockValue = kv(FORWARD.blockValue(layer), 'B');

    const byKeyHead = (x: string): string => g.node('Reshape', [x, g.integers(0, keyHeads, -1, headSize)]);
    const [ofWindow, ofState] = [byKeyHead(windowQuery), byKeyHead(stateQuery)];
    const logits = (asked: string, keys: string, part: Part): string => {
      const product = timesTransposed(g, asked, keys, 4, 1 / Math.sqrt(headSize));
      return g.node('Reshape', [product, shapes.byHead(keys, part)], { allowzero: 1 });
    };
    const all = g.node(
      'Concat',
      [
        g.node('Add', [logits(ofState, stateKey, 'state'), stateBias]),
        logits(ofWindow, pastKey, 'past'),
        g.node('Add', [logits(ofWindow, blockKey, 'block'), this.blockBias]),
        g.node('Add', [logits(ofWindow, key, 'new'), this.causalBias]),
      ],
      { axis: -1 },
    );
    const weights = g.node('Softmax', [all], { axis: -1 });
    const mixed = mix(g, weights, [stateValue, pastValue, blockValue, value], shapes, this.parts);
    g.output(key, FORWARD.newKey(layer), 'float32', [1, keyHeads, 'n', headSize]);
    g.output(value, FORWARD.newValue(layer), 'float32', [1, keyHeads, 'n', headSize]);
    const perToken = g.node('Transpose', [g.node('Reshape', [mixed, g.integers(0, heads, -1, headSize)])], {
      perm: [0, 2, 1, 3],
    });
    return g.node('Reshape', [perToken, g.integers(0, 0, heads * headSize)]);
  }
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
