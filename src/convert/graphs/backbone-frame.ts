/**
 * What all layers of the authors' backbone use: LayerNorm, token shift, heads, tensors carried to the next pass.
 * Knows no layer. Source: kvm.md, "The authors' backbone".
 */
import type { Architecture } from '../../engine/graph-contract.js';
import { CARRIED } from '../../engine/graph-contract.js';
import type { Dimension, GraphBuilder, WeightPlace } from '../../onnx/index.js';
import type { Activations, StoredLinear } from './linear.js';
import { linear } from './linear.js';

export interface StoredNorm {
  readonly gain: WeightPlace;
  readonly bias: WeightPlace;
}

export type CarriedShapes = NonNullable<Architecture['carried']>;

/** A tensor of the last pass and the way to hand on this pass's. */
interface Carry {
  readonly value: string;
  readonly handOn: (next: string) => void;
}

/** An end beyond every dimension, for Slice. */
export const END = 2 ** 31 - 1;

export class BackboneFrame {
  /** In the order of the graph's inputs. */
  readonly carried: CarriedShapes[number][] = [];
  private readonly first: string;

  constructor(
    readonly g: GraphBuilder,
    readonly sizes: { readonly width: number; readonly heads: number; readonly headSize: number },
    private readonly activations: Activations,
    private readonly epsilon: number,
  ) {
    this.first = g.input(CARRIED.first, 'float32', [1]);
  }

  linear(x: string, stored: StoredLinear): string {
    return linear(this.g, x, stored, this.activations);
  }

  /** LayerNorm over the last dimension. */
  norm(x: string, name: string, { gain, bias }: StoredNorm): string {
    const { g } = this;
    const inputs = [x, g.weight(`${name}.gain`, gain), g.weight(`${name}.bias`, bias)];
    return g.node('LayerNormalization', inputs, { axis: -1, epsilon: { float: this.epsilon } });
  }

  /** A size of 0 at the start is a dimension that varies. */
  carry(name: string, shape: readonly number[]): Carry {
    this.carried.push({ name, shape });
    const dimensions = (varying: string): Dimension[] => shape.map(size => (size === 0 ? varying : size));
    return {
      value: this.g.input(CARRIED.in(name), 'float32', dimensions('c')),
      handOn: next => this.g.output(next, CARRIED.out(name), 'float32', dimensions('c_next')),
    };
  }

  /** x [1,n,w] → what came before each token minus the token. Before a text's first token is nothing, or the token itself. */
  change(x: string, name: string, size: number, beforeFirst: 'zero' | 'itself'): string {
    const { g } = this;
    const { value, handOn } = this.carry(name, [1, 1, size]);
    handOn(g.node('Gather', [x, g.integers(-1)], { axis: 1 }));
    let last = value;
    if (beforeFirst === 'itself') {
      const own = g.node('Gather', [x, g.integers(0)], { axis: 1 });
      last = g.node('Add', [last, g.node('Mul', [own, this.first])]);
    }
    const all = g.node('Concat', [last, x], { axis: 1 });
    return g.node('Sub', [g.node('Slice', [all, g.integers(0), g.integers(-1), g.integers(1)]), x]);
  }

  /** Token shift: x + amount · change, amounts [w]. */
  shifted(x: string, change: string, name: string, amount: WeightPlace): string {
    const { g } = this;
    return g.node('Add', [x, g.node('Mul', [change, g.weight(name, amount)])]);
  }

  /** y + (first value - y) · gate. */
  withFirstValue(y: string, firstValue: string, gate: string): string {
    const { g } = this;
    return g.node('Add', [y, g.node('Mul', [g.node('Sub', [firstValue, y]), gate])]);
  }

  /** [1,n,H·d] → [1,n,H,d]. */
  split(x: string): string {
    return this.g.node('Reshape', [x, this.g.integers(0, 0, this.sizes.heads, this.sizes.headSize)]);
  }

  /** [1,n,H,d] → [1,H,n,d]. */
  byHead(x: string): string {
    return this.g.node('Transpose', [x], { perm: [0, 2, 1, 3] });
  }

  /** [1,H,n,d] → [1,n,H·d]. */
  joined(x: string): string {
    return this.g.node('Reshape', [this.byHead(x), this.g.integers(0, 0, this.sizes.width)]);
  }
}
