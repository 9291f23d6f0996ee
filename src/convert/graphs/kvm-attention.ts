/**
 * Attention of one layer over state and window in one softmax, as nodes of a forward graph: the same for ordinary
 * checkpoints and for models trained with KVM. Never rotates, projects or scales. Source: kvm.md, Attend.
 *
 * The query heads of a key head are neighbours: [1,H,n,d], [K,g,n,d] and [K,1,g·n,d] are the same numbers in the same order.
 * A chunk is multiplied as [1,1,g·n,d], one key head after another (each key is packed once), a single token as [K,g,1,d]: products of one row, which
 * onnxruntime computes without packing. Keys come as columns [d,S], so that neither is transposed in a pass.
 */
import { FORWARD } from '../../engine/graph-contract.js';
import type { GraphBuilder } from '../../onnx/index.js';
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
  /** Shapes that all key heads of a layer share, or all layers, by name. */
  private readonly shapes = new Map<string, string>();
  private readonly newKeys: string[] = [];
  private readonly newValues: string[] = [];

  constructor(
    private readonly g: GraphBuilder,
    private readonly sizes: AttentionSizes,
    private readonly ids: string,
    private readonly use: 'prefill' | 'decode',
  ) {
    this.blockBias = g.input(FORWARD.blockBias, 'float32', [1, 1, 1, 'B']);
    this.causalBias = g.input(FORWARD.causalBias, 'float32', [1, 1, 'n', 'n']);
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
    // Layers differ in their slots, and what onnxruntime takes for equal sizes may share a buffer.
    const slots = `S${layer}`;
    const stateKey = keys(FORWARD.stateKey(layer), slots);
    const stateValue = values(FORWARD.stateValue(layer), slots);
    const stateBias = g.input(FORWARD.stateBias(layer), 'float32', [keyHeads, heads / keyHeads, 1, slots]);
    const pastKey = keys(FORWARD.pastKey(layer), 'P');
    const pastValue = values(FORWARD.pastValue(layer), 'P');
    const blockKey = keys(FORWARD.blockKey(layer), 'B');
    const blockValue = values(FORWARD.blockValue(layer), 'B');

    this.newKeys.push(key);
    this.newValues.push(value);
    const parts = {
      ...{ stateKey, stateValue, stateBias, pastKey, pastValue, blockKey, blockValue },
      ...{ windowQuery, stateQuery, key, value },
    };
    if (this.use === 'prefill') return this.ofChunk(layer, parts);
    return this.ofToken(parts, g.input(FORWARD.parts(layer), 'int64', [4]));
  }

  /**
   * One key head after another: what lies between two products of all of them is several times the cache, and so large that
   * memory is asked for and given back at each (docs/measurements, Folds and chunks).
   */
  private ofChunk(layer: number, parts: LayerParts): string {
    const { g } = this;
    const { heads, keyHeads, headSize } = this.sizes;
    const cut = (x: string): string[] =>
      g.manyOutputs('Split', [x, g.integers(...Array<number>(keyHeads).fill(1))], keyHeads, { axis: 0 });
    const rows = (x: string): string => g.sized(this.asRows(x, 1), [keyHeads, 1, 'gn', headSize]);
    const cutParts = mapParts(
      { ...parts, windowQuery: rows(parts.windowQuery), stateQuery: rows(parts.stateQuery) },
      cut,
    );
    const mixed = Array.from({ length: keyHeads }, (_, head) =>
      this.ofKeyHead(
        layer,
        mapParts(cutParts, all => all[head]!),
      ),
    );
    const joined = g.node('Concat', mixed, { axis: 0 });
    const byHead = g.sized(g.node('Reshape', [joined, g.integers(1, heads, -1, headSize)]), [1, heads, 'n', headSize]);
    const byToken = g.node('Transpose', [byHead], { perm: [0, 2, 1, 3] });
    const all = heads * headSize;
    return g.sized(g.node('Reshape', [byToken, g.integers(1, -1, all)]), [1, 'n', all]);
  }

  /** Queries [1,1,g·n,d], keys and values of one key head → [1,1,g·n,d]. */
  private ofKeyHead(layer: number, of: LayerParts): string {
    const { g } = this;
    const perKeyHead = this.sizes.heads / this.sizes.keyHeads;
    /** All that is attended to: layers differ, as their slots do. */
    const attended = `T${layer}`;
    const byHead = (rows: string, size: string, like: string, dimension: number): string =>
      g.sized(this.byHead(rows, size, like, dimension), [1, perKeyHead, 'n', size]);
    const product = (asked: string, columns: string, size: string): string =>
      byHead(g.node('MatMul', [asked, columns]), size, columns, 3);
    const fresh = byHead(timesTransposed(g, of.windowQuery, of.key, 4), 'n', of.key, 2);
    const joined = g.node(
      'Concat',
      [
        g.node('Add', [product(of.stateQuery, of.stateKey, `S${layer}`), of.stateBias]),
        product(of.windowQuery, of.pastKey, 'P'),
        g.node('Add', [product(of.windowQuery, of.blockKey, 'B'), this.blockBias]),
        g.node('Add', [fresh, this.causalBias]),
      ],
      { axis: -1 },
    );
    const logits = g.sized(joined, [1, perKeyHead, 'n', attended]);
    const parts = [of.stateValue, of.pastValue, of.blockValue, of.value];
    const values = g.sized(g.node('Concat', parts, { axis: 2 }), [1, 1, attended, this.sizes.headSize]);
    const shape = this.shape(`weights.${layer}`, () => {
      const { heads, keyHeads } = this.sizes;
      const rows = g.node('Mul', [this.newTokens(), g.integers(heads / keyHeads)]);
      return g.node('Concat', [g.integers(1, 1), rows, g.node('Shape', [values], { start: 2, end: 3 })], { axis: 0 });
    });
    const weights = g.node('Reshape', [g.node('Softmax', [logits], { axis: -1 }), shape]);
    return g.node('MatMul', [g.sized(weights, [1, 1, 'gn', attended]), values]);
  }

  /** The weights are small: they are cut for the four parts of the values, which stay where they are. */
  private ofToken(of: LayerParts, sizes: string): string {
    const { g } = this;
    const { heads, keyHeads, headSize } = this.sizes;
    const [ofWindow, ofState] = [of.windowQuery, of.stateQuery].map(x => this.asRows(x, heads / keyHeads));
    const logits = g.node(
      'Concat',
      [
        g.node('Add', [g.node('MatMul', [ofState!, of.stateKey]), of.stateBias]),
        g.node('MatMul', [ofWindow!, of.pastKey]),
        g.node('Add', [g.node('MatMul', [ofWindow!, of.blockKey]), this.blockBias]),
        g.node('Add', [timesTransposed(g, ofWindow!, of.key, 4), this.causalBias]),
      ],
      { axis: -1 },
    );
    const cut = g.manyOutputs('Split', [g.node('Softmax', [logits], { axis: -1 }), sizes], 4, { axis: -1 });
    const values = [of.stateValue, of.pastValue, of.blockValue, of.value];
    const mixed = g.node(
      'Sum',
      cut.map((weights, i) => g.node('MatMul', [weights, values[i]!])),
    );
    return g.node('Reshape', [
      g.node('Transpose', [mixed], { perm: [2, 0, 1, 3] }),
      g.integers(1, -1, heads * headSize),
    ]);
  }

  /** What the window keeps of the new tokens, all layers in one tensor: fewer to hand over. After the last layer. */
  outputs(): void {
    const { g } = this;
    const groups = this.newKeys.length * this.sizes.keyHeads;
    const shape = [groups, 1, 'n', this.sizes.headSize];
    g.output(g.node('Concat', this.newKeys, { axis: 0 }), FORWARD.newKeys, 'float32', shape);
    g.output(g.node('Concat', this.newValues, { axis: 0 }), FORWARD.newValues, 'float32', shape);
  }

  /** A product's rows by query head: [1,1,g·n,m] → [1,g,n,m], m as in that dimension of `like`. A part may be empty. */
  private byHead(rows: string, part: string, like: string, dimension: number): string {
    const { g } = this;
    const { heads, keyHeads } = this.sizes;
    const shape = this.shape(part, () => {
      const size = g.node('Shape', [like], { start: dimension, end: dimension + 1 });
      return g.node('Concat', [g.integers(1, heads / keyHeads), this.newTokens(), size], { axis: 0 });
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

/** What attention takes in a layer, of all key heads or of one, by name. */
type LayerParts<T = string> = Readonly<
  Record<'stateKey' | 'stateValue' | 'stateBias' | 'pastKey' | 'pastValue' | 'blockKey' | 'blockValue', T> &
    Record<keyof AttentionInputs, T>
>;

function mapParts<From, To>(parts: LayerParts<From>, of: (part: From) => To): LayerParts<To> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, of(part)])) as LayerParts<To>;
}
