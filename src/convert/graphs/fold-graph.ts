/**
 * The small graphs around the state: window keys to tokens, fold, read-ready state, recall scores.
 * They hold no weights but LN_s of models trained with KVM. Source: kvm.md, Update and Attend; retrofit.md, table of replacements.
 */
import { FOLD, READ, SCORE, TOKENS } from '../../engine/graph-contract.js';
import { GraphBuilder } from '../../onnx/index.js';
import { timesTransposed } from './times-transposed.js';

const TINY = 1e-20;

/** What a model that was trained with KVM does in place of the retrofit's rules. */
export interface TrainedFold {
  /** LN_s of each group: gains and biases float32 [G,d]. */
  readonly gain: Float32Array;
  readonly bias: Float32Array;
  readonly epsilon: number;
  /** The first dimensions of a key, which are rotated and leave it when it enters the state. */
  readonly rotaryDimensions: number;
  readonly gatesAppends: boolean;
  readonly gatesKeys: boolean;
  readonly gatesValues: boolean;
}

/** LN_s of x [G,..,d]: normalised alike, then each group's own gain and bias. */
function stateNorm(g: GraphBuilder, x: string, headSize: number, { gain, bias, epsilon }: TrainedFold): string {
  const ones = g.floats(new Float32Array(headSize).fill(1), [headSize]);
  const normed = g.node('LayerNormalization', [x, ones], { axis: -1, epsilon: { float: epsilon } });
  const ofGroup = (values: Float32Array): string => g.floats(values, [values.length / headSize, 1, headSize]);
  return g.node('Add', [g.node('Mul', [normed, ofGroup(gain)]), ofGroup(bias)]);
}

function column(g: GraphBuilder, x: string): string {
  return g.node('Unsqueeze', [x, g.integers(-1)]);
}

/** x [..,d] → x / |x|; a zero row stays zero. */
function direction(g: GraphBuilder, x: string): string {
  return g.node('Div', [x, g.node('Max', [length(g, x, 1), g.float(TINY)])]);
}

/** [..,d] → |x| [..,1] or [..]. */
function length(g: GraphBuilder, x: string, keepdims: 0 | 1): string {
  return g.node('Sqrt', [g.node('ReduceSum', [g.node('Mul', [x, x]), g.integers(-1)], { keepdims })]);
}

/** Window keys of one chunk → keys without position, values, and their lengths. */
export function tokensGraph(headSize: number, trained?: TrainedFold): Uint8Array {
  const g = new GraphBuilder('tokens');
  const key = g.input(TOKENS.key, 'float32', [1, 'G', 'C', headSize]);
  const value = g.input(TOKENS.value, 'float32', [1, 'G', 'C', headSize]);
  let plainKey: string;
  if (trained) {
    const kept = Float32Array.from({ length: headSize }, (_, i) => (i < trained.rotaryDimensions ? 0 : 1));
    const withoutPosition = g.node('Mul', [g.node('Squeeze', [key, g.integers(0)]), g.floats(kept, [headSize])]);
    plainKey = stateNorm(g, withoutPosition, headSize, trained);
  } else {
    const rows = g.input(TOKENS.rows, 'int64', [1, 'C']);
    const cos = g.input(TOKENS.cos, 'float32', ['C', headSize / 2]);
    const sin = g.input(TOKENS.sin, 'float32', ['C', headSize / 2]);
    const back = g.node('RotaryEmbedding', [key, rows, cos, g.node('Neg', [sin])], { interleaved: 1 });
    plainKey = g.node('Squeeze', [back, g.integers(0)]);
  }
  const plainValue = g.node('Squeeze', [value, g.integers(0)]);
  g.output(plainKey, TOKENS.plainKey, 'float32', ['G', 'C', headSize]);
  g.output(plainValue, TOKENS.plainValue, 'float32', ['G', 'C', headSize]);
  g.output(length(g, plainKey, 0), TOKENS.keyRadius, 'float32', ['G', 'C']);
  g.output(length(g, plainValue, 0), TOKENS.valueRadius, 'float32', ['G', 'C']);
  return g.finish();
}

export interface FoldKind {
  /** Which incoming ones become slots: the most novel (needs S > 0), or those given. */
  readonly choose: 'novelty' | 'given';
  /** What is folded in the graph: keys and counts (recall), values and radii too, or nothing (what goes where, no more). */
  readonly sums: 'keys' | 'all' | 'none';
  /** With all sums only. */
  readonly trained?: TrainedFold;
}

/** Incoming slots as they are appended and as they are merged. */
interface Incoming {
  readonly appended: Readonly<Record<string, string>>;
  readonly merged: Readonly<Record<string, string>>;
}

/** A trained model's merge gates multiply what is merged, and what is appended where it says so (kvm.md, Update: 2). */
function gatedIncoming(g: GraphBuilder, trained: TrainedFold): Incoming {
  const gate = g.input(FOLD.inGate, 'float32', ['G', 'N']);
  const gated = {
    [FOLD.inKey]: trained.gatesKeys ? g.node('Mul', [FOLD.inKey, column(g, gate)]) : FOLD.inKey,
    [FOLD.inValue]: trained.gatesValues ? g.node('Mul', [FOLD.inValue, column(g, gate)]) : FOLD.inValue,
    [FOLD.inValueRadius]: trained.gatesValues ? g.node('Mul', [FOLD.inValueRadius, gate]) : FOLD.inValueRadius,
  };
  return { appended: trained.gatesAppends ? gated : {}, merged: gated };
}

/**
 * One fold. Appends n of the N incoming slots, in their order; each other one is added to its most similar slot
 * (cosine of key sums, trained: `<k', LN_s(S_k)>`, for a positive gate changes no winner; never one of the sinks; the
 * appended count; lowest index wins). All merges are simultaneous.
 */
export function foldGraph(headSize: number, kind: FoldKind): Uint8Array {
  const g = new GraphBuilder('fold');
  const all = kind.sums === 'all';
  const vectors = all ? [FOLD.keySum, FOLD.valueSum] : [FOLD.keySum];
  const inVectors = all ? [FOLD.inKey, FOLD.inValue] : [FOLD.inKey];
  const counts = kind.sums === 'none' ? [] : [FOLD.count];
  const radii = all ? [FOLD.keyRadius, FOLD.valueRadius] : [];
  const inRadii = all ? [FOLD.inKeyRadius, FOLD.inValueRadius] : [];
  for (const name of vectors) g.input(name, 'float32', ['G', 'S', headSize]);
  for (const name of inVectors) g.input(name, 'float32', ['G', 'N', headSize]);
  for (const name of [...counts, ...radii]) g.input(name, 'float32', ['G', 'S']);
  for (const name of [...counts.map(() => FOLD.inCount), ...inRadii]) g.input(name, 'float32', ['G', 'N']);
  const sinks = g.input(FOLD.sinks, 'int64', [1]);

  const { trained } = kind;
  const { appended: toAppend, merged: toMerge } = trained ? gatedIncoming(g, trained) : { appended: {}, merged: {} };
  const incoming = trained ? g.input(FOLD.inRead, 'float32', ['G', 'N', headSize]) : direction(g, FOLD.inKey);
  const compared = (keySum: string): string =>
    trained ? stateNorm(g, keySum, headSize, trained) : direction(g, keySum);
  const bar = trained ? -1e30 : -4;
  let chosen: string;
  let before: Closest | undefined;
  if (kind.choose === 'novelty') {
    const append = g.input(FOLD.append, 'int64', [1]);
    const likeness = similarity(g, incoming, compared(FOLD.keySum));
    before = closestOpen(g, likeness, bar);
    // The sinks count here; where there is none, the first slot is looked at twice.
    const toSinks = g.node('Slice', [likeness, g.integers(0), g.node('Max', [sinks, g.integers(1)]), g.integers(2)]);
    const toClosest = g.node('Max', [before.likeness, g.node('ReduceMax', [toSinks, g.integers(-1)], { keepdims: 0 })]);
    const [, novel] = g.manyOutputs('TopK', [toClosest, append], 2, { axis: -1, largest: 0, sorted: 1 });
    // In order of position: the indices themselves, ascending.
    const asFloat = g.cast(novel!, 'float32');
    const [ascending] = g.manyOutputs('TopK', [asFloat, append], 2, { axis: -1, largest: 0, sorted: 1 });
    chosen = g.node('Cast', [ascending!], { to: 7 });
  } else {
    chosen = g.input(FOLD.appendIndex, 'int64', ['G', 'n']);
  }

  // [G,n,1]: picks rows within each group.
  const rowIndex = g.node('Unsqueeze', [chosen, g.integers(-1)]);
  const pick = (name: string): string => g.node('GatherND', [name, rowIndex], { batch_dims: 1 });
  const grown = new Map<string, string>();
  const grow = (state: string, coming: string): void => {
    grown.set(state, g.node('Concat', [state, pick(toAppend[coming] ?? coming)], { axis: 1 }));
  };
  vectors.forEach((name, i) => grow(name, inVectors[i]!));
  for (const name of counts) grow(name, FOLD.inCount);
  radii.forEach((name, i) => grow(name, inRadii[i]!));

  // Winner of each incoming one, the sinks left out. Products with the slots that were there are made once.
  const slots = g.node('Shape', [FOLD.keySum], { start: 1, end: 2 });
  const winner = before
    ? laterOpen(g, before, similarity(g, incoming, compared(pick(toAppend[FOLD.inKey] ?? FOLD.inKey))), slots, bar)
    : closestOpen(g, similarity(g, incoming, compared(grown.get(FOLD.keySum)!)), bar).slot;

  // Those that became slots merge nowhere: weight 0, and their own slot is their place.
  const appended = g.node('Shape', [chosen], { start: 1, end: 2 });
  const ownRow = g.node('Add', [upTo(g, appended), slots]);
  const own = g.node('Expand', [ownRow, g.node('Shape', [chosen])]);
  const slot = g.node('ScatterElements', [winner, chosen, own], { axis: 1 });
  g.output(slot, FOLD.slot, 'int64', ['G', 'N']);
  if (kind.sums === 'none') {
    if (kind.choose === 'novelty') g.output(chosen, FOLD.appended, 'int64', ['G', 'n']);
    return g.finish();
  }

  const ones = g.node('Where', [g.node('Greater', [FOLD.inCount, g.float(-1)]), g.float(1), g.float(0)]);
  const zeros = g.node('Mul', [g.cast(chosen, 'float32'), g.float(0)]);
  const merges = g.node('ScatterElements', [ones, chosen, zeros], { axis: 1 });
  const mergeColumn = g.node('Unsqueeze', [merges, g.integers(-1)]);
  const target = g.node('Expand', [g.node('Unsqueeze', [slot, g.integers(-1)]), g.node('Shape', [FOLD.inKey])]);
  vectors.forEach((name, i) => {
    const update = g.node('Mul', [toMerge[inVectors[i]!] ?? inVectors[i]!, mergeColumn]);
    const sum = g.node('ScatterElements', [grown.get(name)!, target, update], { axis: 1, reduction: 'add' });
    g.output(sum, FOLD.out(name), 'float32', ['G', 'T', headSize]);
  });
  const countUpdate = g.node('Mul', [FOLD.inCount, merges]);
  const count = g.node('ScatterElements', [grown.get(FOLD.count)!, slot, countUpdate], { axis: 1, reduction: 'add' });
  g.output(count, FOLD.out(FOLD.count), 'float32', ['G', 'T']);
  for (const name of radii) g.output(grown.get(name)!, FOLD.out(name), 'float32', ['G', 'T']);
  return g.finish();
}

/** Products of a [G,N,d] and b [G,S,d] rows → [G,N,S]. */
function similarity(g: GraphBuilder, a: string, b: string): string {
  return timesTransposed(g, a, b, 3);
}

/** Of each incoming one its most similar slot that takes merges, int64 [G,N], and how similar that is [G,N]. */
interface Closest {
  readonly slot: string;
  readonly likeness: string;
}

/** likeness [G,N,S] with the slots from the first on; sinks are barred. */
function closestOpen(g: GraphBuilder, likeness: string, bar: number): Closest {
  return greatest(g, g.node('Add', [likeness, barred(g, upTo(g, columnsOf(g, likeness)), bar)]));
}

/** The same slots, unless one of those appended, likeness [G,N,n], is more similar. n may be 0. */
function laterOpen(g: GraphBuilder, before: Closest, likeness: string, slots: string, bar: number): string {
  const index = g.node('Add', [upTo(g, columnsOf(g, likeness)), slots]);
  const open = g.node('Add', [likeness, barred(g, index, bar)]);
  // So that there is something to look at; less similar than any.
  const least = g.node('Expand', [g.float(2 * bar), g.node('Shape', [column(g, before.likeness)])]);
  const appended = greatest(g, g.node('Concat', [open, least], { axis: 2 }));
  const later = g.node('Greater', [appended.likeness, before.likeness]);
  return g.node('Where', [later, g.node('Add', [appended.slot, slots]), before.slot]);
}

/** The lowest index wins. */
function greatest(g: GraphBuilder, likeness: string): Closest {
  const at = g.node('ArgMax', [likeness], { axis: -1, keepdims: 1, select_last_index: 0 });
  const squeezed = (x: string): string => g.node('Squeeze', [x, g.integers(-1)]);
  return { slot: squeezed(at), likeness: squeezed(g.node('GatherElements', [likeness, at], { axis: -1 })) };
}

/** Slot numbers → what is added to their similarities. */
function barred(g: GraphBuilder, slotIndex: string, bar: number): string {
  return g.node('Where', [g.node('Less', [slotIndex, FOLD.sinks]), g.float(bar), g.float(0)]);
}

function columnsOf(g: GraphBuilder, x: string): string {
  return g.node('Shape', [x], { start: 2, end: 3 });
}

/** 0, 1, ... below `end` int64 [1]. */
function upTo(g: GraphBuilder, end: string): string {
  const scalar = (x: string): string => g.node('Squeeze', [x]);
  return g.node('Range', [scalar(g.integers(0)), scalar(end), scalar(g.integers(1))]);
}

/**
 * Sums → read keys (direction of the sum x the creating key's length, trained: `LN_s(S_k)`; x temperature) and read values.
 */
export function readGraph(headSize: number, trained?: TrainedFold): Uint8Array {
  const g = new GraphBuilder('read');
  const keySum = g.input(READ.keySum, 'float32', ['G', 'S', headSize]);
  const valueSum = g.input(READ.valueSum, 'float32', ['G', 'S', headSize]);
  const valueRadius = g.input(READ.valueRadius, 'float32', ['G', 'S']);
  const temperature = g.input(READ.temperature, 'float32', ['G', 'S']);
  let key: string;
  if (trained) {
    key = g.node('Mul', [stateNorm(g, keySum, headSize, trained), column(g, temperature)]);
  } else {
    const keyRadius = g.input(READ.keyRadius, 'float32', ['G', 'S']);
    key = g.node('Mul', [direction(g, keySum), column(g, g.node('Mul', [keyRadius, temperature]))]);
  }
  g.output(key, READ.readKey, 'float32', ['G', 'S', headSize]);
  const columns = g.node('Transpose', [key], { perm: [0, 2, 1] });
  g.output(columns, READ.readKeyColumns, 'float32', ['G', headSize, 'S']);
  g.output(g.node('Mul', [direction(g, valueSum), column(g, valueRadius)]), READ.readValue, 'float32', [
    'G',
    'S',
    headSize,
  ]);
  return g.finish();
}

/** Question rows against recall slots: of each row's softmax the log of the sum that it is divided by (recall.md). */
export function scoreGraph(headSize: number): Uint8Array {
  const g = new GraphBuilder('score');
  const logits = slotLogits(g, headSize);
  const softmax = g.node('Softmax', [logits], { axis: -1 });
  // The largest softmax is 1 over the sum of exp(logit - largest logit).
  const most = (of: string): string => g.node('ReduceMax', [of, g.integers(1)], { keepdims: 0 });
  g.output(g.node('Sub', [most(logits), g.node('Log', [most(softmax)])]), SCORE.logSum, 'float32', ['R']);
  return g.finish();
}

/** The same softmax, row by row, at some of the slots. */
export function scoreRowsGraph(headSize: number): Uint8Array {
  const g = new GraphBuilder('score-rows');
  const logits = slotLogits(g, headSize);
  const logSum = g.node('Unsqueeze', [g.input(SCORE.logSum, 'float32', ['R']), g.integers(1)]);
  g.output(g.node('Exp', [g.node('Sub', [logits, logSum])]), SCORE.rowMass, 'float32', ['R', 'N']);
  return g.finish();
}

function slotLogits(g: GraphBuilder, headSize: number): string {
  const query = g.input(SCORE.query, 'float32', ['R', headSize]);
  const key = g.input(SCORE.key, 'int8', ['N', headSize]);
  const scale = g.input(SCORE.scale, 'float32', ['N']);
  const logCount = g.input(SCORE.logCount, 'float32', ['N']);
  const dot = timesTransposed(g, query, g.cast(key, 'float32'), 2);
  return g.node('Add', [g.node('Mul', [dot, scale]), logCount]);
}
