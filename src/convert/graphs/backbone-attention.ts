/**
 * The attention layers of the authors' backbone as nodes: KVM, and the plain sliding window of their hybrids. They share the
 * way from the residual stream to q, k, v: value residual, token shift, LayerNorm on q and k heads, rotation.
 * Source: kvm.md, "The authors' backbone" and Attend.
 */
import { CARRIED } from '../../engine/graph-contract.js';
import type { BackboneFrame, StoredNorm } from './backbone-frame.js';
import { END } from './backbone-frame.js';
import type { WeightPlace } from '../../onnx/index.js';
import type { KvmAttention } from './kvm-attention.js';
import type { StoredLinear } from './linear.js';
import { timesTransposed } from './times-transposed.js';

export interface StoredProjection {
  /** Rows of q, k, v, one after another: 3·D outputs. */
  readonly qkv: StoredLinear;
  /** [3·D]. */
  readonly shift: WeightPlace;
  readonly queryNorm: StoredNorm;
  readonly keyNorm: StoredNorm;
  /** sigmoid(bias + up(down(x))) is the share of the first value. */
  readonly valueGate: { readonly bias: WeightPlace; readonly down: StoredLinear; readonly up: StoredLinear };
  readonly output: StoredLinear;
}

export interface StoredKvm extends StoredProjection {
  readonly kind: 'kvm';
  /** [H,1,1], tau_w and tau_s; absent: 1. */
  readonly temperatures?: { readonly window: WeightPlace; readonly state: WeightPlace };
  /** W_g; absent: every gate is 1. */
  readonly mergeGate?: StoredLinear;
}

export interface StoredSlidingWindow extends StoredProjection {
  readonly kind: 'swa';
}

/** What a mixer makes of `ln_attn(x)` [1,n,D]: its output before the residual scale, and its plain values. */
export interface Mixed {
  readonly output: string;
  readonly plainValue: string;
  /** Merge gates [1,H,n] of a KVM layer. */
  readonly gates?: string;
}

/** Rotates [1,H,n,d]. */
export type Rotate = (x: string) => string;

export function kvmLayer(
  frame: BackboneFrame,
  attention: KvmAttention,
  rotate: Rotate,
  stored: StoredKvm,
  at: { readonly name: string; readonly kvmLayer: number; readonly x: string; readonly firstValue?: string },
): Mixed {
  const { g } = frame;
  const { query: unscaled, key, value, plainValue } = project(frame, rotate, stored, at);
  const query = attention.scaled(unscaled);
  const warmed = (temperature: WeightPlace | undefined, name: string): string =>
    temperature ? g.node('Mul', [query, g.weight(`${at.name}.${name}`, temperature)]) : query;
  const attended = attention.attend(at.kvmLayer, {
    windowQuery: warmed(stored.temperatures?.window, 'window_temperature'),
    stateQuery: warmed(stored.temperatures?.state, 'state_temperature'),
    key: attention.byKeyHead(key),
    value: attention.byKeyHead(value),
  });
  const gates = mergeGates(frame, stored, at.x, key);
  return { output: frame.linear(attended, stored.output), plainValue, gates };
}

/** 1 + ELU(W_g x), [1,H,n]. */
function mergeGates(frame: BackboneFrame, { mergeGate }: StoredKvm, x: string, key: string): string {
  const { g } = frame;
  if (!mergeGate) return g.node('Expand', [g.float(1), g.node('Shape', [key], { start: 0, end: 3 })]);
  const perHead = g.node('Transpose', [frame.linear(x, mergeGate)], { perm: [0, 2, 1] });
  return g.node('Add', [g.node('Elu', [perHead]), g.float(1)]);
}

/** Attention over the last `tokens` tokens, the current one counted, whose keys and values are carried. */
export function slidingWindowLayer(
  frame: BackboneFrame,
  rotate: Rotate,
  bias: string,
  stored: StoredSlidingWindow,
  at: { readonly name: string; readonly tokens: number; readonly x: string; readonly firstValue?: string },
): Mixed {
  const { g } = frame;
  const { heads, headSize } = frame.sizes;
  const { query, key, value, plainValue } = project(frame, rotate, stored, at);
  const withPast = (part: string, fresh: string): string => {
    const { value: past, handOn } = frame.carry(`${at.name}.${part}`, [1, heads, 0, headSize]);
    const all = g.node('Concat', [past, fresh], { axis: 2 });
    handOn(g.node('Slice', [all, g.integers(-at.tokens), g.integers(END), g.integers(2)]));
    return all;
  };
  const keys = withPast('sliding_key', key);
  const values = withPast('sliding_value', value);
  const logits = g.node('Add', [timesTransposed(g, query, keys, 4, 1 / Math.sqrt(headSize)), bias]);
  const mixed = g.node('MatMul', [g.node('Softmax', [logits], { axis: -1 }), values]);
  return { output: frame.linear(frame.joined(mixed), stored.output), plainValue };
}

function project(
  frame: BackboneFrame,
  rotate: Rotate,
  stored: StoredProjection,
  { name, x, firstValue }: { readonly name: string; readonly x: string; readonly firstValue?: string },
): { query: string; key: string; value: string; plainValue: string } {
  const { g } = frame;
  const { width } = frame.sizes;
  const plain = frame.linear(x, stored.qkv);
  const [plainQueryKey, plainValue] = g.manyOutputs('Split', [plain, g.integers(2 * width, width)], 2, { axis: -1 });
  let residual = plain;
  if (firstValue !== undefined) {
    const { bias, down, up } = stored.valueGate;
    const raised = frame.linear(frame.linear(x, down), up);
    const gate = g.node('Sigmoid', [g.node('Add', [raised, g.weight(`${name}.value_gate`, bias)])]);
    residual = g.node('Concat', [plainQueryKey!, frame.withFirstValue(plainValue!, firstValue, gate)], { axis: -1 });
  }
  const change = frame.change(residual, `${name}.qkv`, 3 * width, 'itself');
  const shifted = frame.shifted(residual, change, `${name}.qkv_shift`, stored.shift);
  const [q, k, v] = g.manyOutputs('Split', [shifted, g.integers(width, width, width)], 3, { axis: -1 });
  const normed = (part: string, norm: string, weights: StoredNorm): string =>
    rotate(frame.byHead(frame.norm(frame.split(part), `${name}.${norm}`, weights)));
  return {
    query: normed(q!, 'query_norm', stored.queryNorm),
    key: normed(k!, 'key_norm', stored.keyNorm),
    value: frame.byHead(frame.split(v!)),
    plainValue: plainValue!,
  };
}

/** Inputs of the sliding windows of all layers. */
export function slidingInputs(frame: BackboneFrame, pairs: number): { cos: string; sin: string; bias: string } {
  return {
    cos: frame.g.input(CARRIED.cos, 'float32', ['n', pairs]),
    sin: frame.g.input(CARRIED.sin, 'float32', ['n', pairs]),
    bias: frame.g.input(CARRIED.bias, 'float32', [1, 1, 'n', 'c+n']),
  };
}
