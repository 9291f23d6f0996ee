/**
 * Attention of one layer over state and window in one softmax, as nodes of a forward graph: the same for ordinary
 * checkpoints and for models trained with KVM. Never rotates, projects or scales. Source: kvm.md, Attend.
 *
 * The query heads of a key head are neighbours: [1,H,n,d], [K,g,n,d] and [K,1,g·n,d] are the same numbers in the same order.
 * A chunk is multiplied as [K,1,g·n,d] (each key is packed once), a single token as [K,g,1,d]: products of one row, which
 * onnxruntime computes without packing. Keys come as columns [d,S], so that neither is transposed in a pass.
 */
import { FORWARD } from '../../engine/graph-contract.js';
import type { GraphBuilder } from './graph-builder.js';
import { timesTransposed } from './times-transposed.js';

export interface AttentionSizes {
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
}

/** Of the new tokens: queries over sqrt(d) [1,H,n,d] or [H,1,n,d], what the window keeps [K,1,n,d]. */
export interface AttentionInputs {
  readonly windowQuery: string;
  readonly stateQuery: string;
  readonly key: string;
  readonly value: string;
}

export class KvmAttention {
  private readonly blockBias: string;
  private readonly causalBias: string;
  private readonly parts: string | undefined;
  /** Shapes that all layers share, by name. */
  private readonly shapes = new Map<string, string>();
  private readonly newKeys: string[] = [];
  private readonly newValues: string[] = [];

  constructor(
    private readonly g: GraphBuilder,
    private readonly sizes: AttentionSizes,
    private readonly ids: string,
    use: 'prefill' | 'decode',
  ) {
    this.blockBias = g.input(FORWARD.blockBias, 'float32', [1, 1, 1, 'B']);
    this.causalBias = g.input(FORWARD.causalBias, 'float32', [1, 1, 'n', 'n']);
    this.parts = use === 'decode' ? g.input(FORWARD.parts, 'int64', [4]) : undefined;
  }

  /** x over sqrt(d). */
  scaled(x: string): string {
    return this.g.node('Mul', [x, this.g.float(1 / Math.sqrt(this.sizes.headSize))]);
  }

  /** Keys or values [1,K,n,d] → [K,1,n,d]. */
  byKeyHead(x: string): string {
    return this.asRows(x, 1);
  }

  /** → [1,n,H·d]. Declares state and window of the layer as inputs. */
  attend(layer: number, { windowQuery, stateQuery, key, value }: AttentionInputs): string {
    const { g } = this;
    const { heads, keyHeads, headSize } = this.sizes;
    const keys = (name: string, size: string): string => g.input(name, 'float32', [keyHeads, 1, headSize, size]);
    const values = (name: string, size: string): string => g.input(name, 'float32', [keyHeads, 1, size, headSize]);
    const stateKey = keys(FORWARD.stateKey(layer), 'S');
    const stateValue = values(FORWARD.stateValue(layer), 'S');
    const stateBias = g.input(FORWARD.stateBias(layer), 'float32', [keyHeads, heads / keyHeads, 1, 'S']);
    const pastKey = keys(FORWARD.pastKey(layer), 'P');
    const pastValue = values(FORWARD.pastValue(layer), 'P');
    const blockKey = keys(FORWARD.blockKey(layer), 'B');
    const blockValue = values(FORWARD.blockValue(layer), 'B');

    const rows = this.parts === undefined ? 1 : heads / keyHeads;
    const [ofWindow, ofState] = [this.asRows(windowQuery, rows), this.asRows(stateQuery, rows)];
    this.newKeys.push(key);
    this.newValues.push(value);

    const product = (asked: string, columns: string, part: Part): string =>
      this.byHead(g.node('MatMul', [asked, columns]), part, columns, 3);
    const all = g.node(
      'Concat',
      [
        g.node('Add', [product(ofState, stateKey, 'state'), stateBias]),
        product(ofWindow, pastKey, 'past'),
        g.node('Add', [product(ofWindow, blockKey, 'block'), this.blockBias]),
        g.node('Add', [this.byHead(timesTransposed(g, ofWindow, key, 4), 'new', key, 2), this.causalBias]),
      ],
      { axis: -1 },
    );
    const mixed = this.mix(g.node('Softmax', [all], { axis: -1 }), [stateValue, pastValue, blockValue, value]);
    const joined = g.integers(1, -1, heads * headSize);
    if (this.parts !== undefined)
      return g.node('Reshape', [g.node('Transpose', [mixed], { perm: [2, 0, 1, 3] }), joined]);
    const byHead = g.node('Reshape', [mixed, g.integers(1, heads, -1, headSize)]);
    return g.node('Reshape', [g.node('Transpose', [byHead], { perm: [0, 2, 1, 3] }), joined]);
  }

  /** What the window keeps of the new tokens, all layers in one tensor: fewer to hand over. After the last layer. */
  outputs(): void {
    const { g } = this;
    const groups = this.newKeys.length * this.sizes.keyHeads;
    const shape = [groups, 1, 'n', this.sizes.headSize];
    g.output(g.node('Concat', this.newKeys, { axis: 0 }), FORWARD.newKeys, 'float32', shape);
    g.output(g.node('Concat', this.newValues, { axis: 0 }), FORWARD.newValues, 'float32', shape);
  }

  /**
   * weights [K,g,n,S+P+B+n] over values in four parts. For one token the weights are cut in parts (small), for a chunk the
   * values are joined (smaller than the weights).
   */
  private mix(weights: string, values: readonly string[]): string {
    const { g } = this;
    if (this.parts !== undefined) {
      const cut = g.manyOutputs('Split', [weights, this.parts], 4, { axis: -1 });
      return g.node(
        'Sum',
        cut.map((part, i) => g.node('MatMul', [part, values[i]!])),
      );
    }
    const all = g.node('Concat', values, { axis: 2 });
    const shape = this.shape('weights', () => {
      const { heads, keyHeads } = this.sizes;
      const rows = g.node('Mul', [this.newTokens(), g.integers(heads / keyHeads)]);
      const size = g.node('Shape', [all], { start: 2, end: 3 });
      return g.node('Concat', [g.integers(keyHeads, 1), rows, size], { axis: 0 });
    });
    return g.node('MatMul', [g.node('Reshape', [weights, shape]), all]);
  }

  /** A product's rows by query head: [K,1,g·n,m] → [K,g,n,m], m as in that dimension of `like`. A part may be empty. */
  private byHead(rows: string, part: Part, like: string, dimension: number): string {
    if (this.parts !== undefined) return rows;
    const { g } = this;
    const { heads, keyHeads } = this.sizes;
    const shape = this.shape(part, () => {
      const size = g.node('Shape', [like], { start: dimension, end: dimension + 1 });
      return g.node('Concat', [g.integers(keyHeads, heads / keyHeads), this.newTokens(), size], { axis: 0 });
    });
    return g.node('Reshape', [rows, shape], { allowzero: 1 });
  }

  /** → [K,rows,·,d]. */
  private asRows(x: string, rows: number): string {
    return this.g.node('Reshape', [x, this.g.integers(this.sizes.keyHeads, rows, -1, this.sizes.headSize)]);
  }

  private newTokens(): string {
    return this.g.node('Shape', [this.ids], { start: 1, end: 2 });
  }

  private shape(key: string, make: () => string): string {
    let shape = this.shapes.get(key);
    if (shape === undefined) {
      shape = make();
      this.shapes.set(key, shape);
    }
    return shape;
  }
}

type Part = 'state' | 'past' | 'block' | 'new';
