/**
 * The RWKV-7 layer of the authors' linear-RNN hybrid as nodes: a matrix state per head with decay, removal along one key and a
 * write, stepped token by token by Scan. Source: golden/README.md (names, value residual) and the recurrence of RWKV-7:
 * `S = diag(w) S - (kk·a) (kkᵀ S) + k vᵀ`, read by `Sᵀ r`.
 */
import type { Mixed } from './backbone-attention.js';
import type { BackboneFrame } from './backbone-frame.js';
import type { GraphBuilder, WeightPlace } from '../../onnx/index.js';
import type { StoredLinear } from './linear.js';

/** bias + up(f(down(x))). */
export interface StoredLowRank {
  readonly down: StoredLinear;
  readonly up: StoredLinear;
  readonly bias: WeightPlace;
}

export interface StoredRwkv7 {
  readonly kind: 'rwkv7';
  /** Amounts of token shift [D]. */
  readonly shifts: Readonly<Record<'r' | 'w' | 'k' | 'v' | 'a' | 'g', WeightPlace>>;
  readonly receptance: StoredLinear;
  readonly key: StoredLinear;
  readonly value: StoredLinear;
  readonly output: StoredLinear;
  readonly decay: StoredLowRank;
  readonly rate: StoredLowRank;
  readonly valueGate: StoredLowRank;
  /** up(sigmoid(down(x))), no bias. */
  readonly outputGate: { readonly down: StoredLinear; readonly up: StoredLinear };
  /** [D]. */
  readonly removalKey: WeightPlace;
  readonly keyRate: WeightPlace;
  /** [H,d]. */
  readonly bonus: WeightPlace;
  readonly outputGain: WeightPlace;
  readonly outputBias: WeightPlace;
}

/** Of the norm over each head's output; not the LayerNorms' (golden/README.md's models). */
const OUTPUT_EPSILON = 64e-5;

export function rwkv7Layer(
  frame: BackboneFrame,
  stored: StoredRwkv7,
  { name, x, firstValue }: { readonly name: string; readonly x: string; readonly firstValue?: string },
): Mixed {
  const { g } = frame;
  const { heads, headSize, width } = frame.sizes;
  const weight = (part: keyof StoredRwkv7, place: WeightPlace): string => g.weight(`${name}.${part}`, place);
  const change = frame.change(x, `${name}.input`, width, 'zero');
  const stream = (of: keyof StoredRwkv7['shifts']): string =>
    frame.shifted(x, change, `${name}.shift_${of}`, stored.shifts[of]);
  const lowRank = (part: 'decay' | 'rate' | 'valueGate', input: string, inner?: 'Tanh'): string => {
    const { down, up, bias } = stored[part];
    const lowered = frame.linear(input, down);
    const raised = frame.linear(inner ? g.node(inner, [lowered]) : lowered, up);
    return g.node('Sigmoid', [g.node('Add', [raised, weight(part, bias)])]);
  };
  /** [1,n,D] → [n,H,d]. */
  const perToken = (y: string): string => g.node('Reshape', [y, g.integers(-1, heads, headSize)]);

  const receptance = perToken(frame.linear(stream('r'), stored.receptance));
  const plainKey = frame.linear(stream('k'), stored.key);
  const valueInput = stream('v');
  const plainValue = frame.linear(valueInput, stored.value);
  const value = perToken(
    firstValue === undefined
      ? plainValue
      : frame.withFirstValue(plainValue, firstValue, lowRank('valueGate', valueInput)),
  );
  const slowness = g.node('Mul', [lowRank('decay', stream('w'), 'Tanh'), g.float(-Math.exp(-0.5))]);
  const decay = perToken(g.node('Exp', [slowness]));
  const rate = lowRank('rate', stream('a'));
  const { down, up } = stored.outputGate;
  const gate = frame.linear(g.node('Sigmoid', [frame.linear(stream('g'), down)]), up);

  const removal = unit(g, perToken(g.node('Mul', [plainKey, weight('removalKey', stored.removalKey)])));
  const lessRate = g.node('Mul', [g.node('Sub', [rate, g.float(1)]), weight('keyRate', stored.keyRate)]);
  const key = perToken(g.node('Mul', [plainKey, g.node('Add', [lessRate, g.float(1)])]));
  const removalRate = g.node('Mul', [removal, perToken(rate)]);

  const { value: state, handOn } = frame.carry(`${name}.state`, [heads, headSize, headSize]);
  const streams = [decay, removal, removalRate, key, value, receptance];
  const [last, read] = g.manyOutputs('Scan', [state, ...streams], 2, {
    body: { graph: stepGraph(g, heads, headSize) },
    num_scan_inputs: streams.length,
  });
  handOn(last!);

  const ones = g.floats(new Float32Array(headSize).fill(1), [headSize]);
  const normed = g.node('LayerNormalization', [read!, ones], { axis: -1, epsilon: { float: OUTPUT_EPSILON } });
  const gained = g.node('Add', [
    g.node('Mul', [normed, weight('outputGain', stored.outputGain)]),
    weight('outputBias', stored.outputBias),
  ]);
  const product = g.node('Mul', [g.node('Mul', [receptance, key]), weight('bonus', stored.bonus)]);
  const bonus = g.node('Mul', [g.node('ReduceSum', [product, g.integers(-1)], { keepdims: 1 }), value]);
  const mixed = g.node('Reshape', [g.node('Add', [gained, bonus]), g.integers(1, -1, width)]);
  return { output: frame.linear(g.node('Mul', [mixed, gate]), stored.output), plainValue };
}

/** Rows [..,d] → rows of length 1. */
function unit(g: GraphBuilder, x: string): string {
  const square = g.node('ReduceSum', [g.node('Mul', [x, x]), g.integers(-1)], { keepdims: 1 });
  return g.node('Div', [x, g.node('Max', [g.node('Sqrt', [square]), g.float(1e-12)])]);
}

/** One token: state [H,d,d] (key by value) and six streams [H,d] → state, what is read [H,d]. */
function stepGraph(outer: GraphBuilder, heads: number, headSize: number): GraphBuilder {
  const g = outer.body('rwkv7');
  const names = ['decay', 'removal', 'removal_rate', 'key', 'value', 'receptance'];
  const inputName = (name: string): string => g.localName(name);
  const state = g.input(inputName('state'), 'float32', [heads, headSize, headSize]);
  const [decay, removal, removalRate, key, value, receptance] = names.map(name =>
    g.input(inputName(name), 'float32', [heads, headSize]),
  );
  const column = (x: string): string => g.node('Unsqueeze', [x, g.integers(2)]);
  const row = (x: string): string => g.node('Unsqueeze', [x, g.integers(1)]);
  const removed = g.node('MatMul', [row(removal!), state]);
  const decayed = g.node('Mul', [column(decay!), state]);
  const kept = g.node('Sub', [decayed, g.node('Mul', [column(removalRate!), removed])]);
  const next = g.node('Add', [kept, g.node('Mul', [column(key!), row(value!)])]);
  const read = g.node('Squeeze', [g.node('MatMul', [row(receptance!), next]), g.integers(1)]);
  g.output(next, inputName('next_state'), 'float32', [heads, headSize, headSize]);
  g.output(read, inputName('read'), 'float32', [heads, headSize]);
  return g;
}
