/**
 * The graph of one pass over new tokens for the authors' backbone: embedding, blocks whose mixers are KVM, sliding windows or
 * RWKV-7, head. Built twice over the same weights, as forward-graph.ts; inputs and outputs are the same but what
 * graph-contract.ts says of models trained with KVM. Source: kvm.md, "The authors' backbone".
 */
import type { Architecture } from '../../engine/graph-contract.js';
import { FORWARD } from '../../engine/graph-contract.js';
import type { Mixed, Rotate, StoredKvm, StoredSlidingWindow } from './backbone-attention.js';
import { kvmLayer, slidingInputs, slidingWindowLayer } from './backbone-attention.js';
import type { CarriedShapes, StoredNorm } from './backbone-frame.js';
import { BackboneFrame } from './backbone-frame.js';
import type { TrainedFold } from './fold-graph.js';
import type { WeightPlace } from '../../onnx/index.js';
import { GraphBuilder } from '../../onnx/index.js';
import { KvmAttention } from './kvm-attention.js';
import type { StoredLinear } from './linear.js';
import { embedding } from './linear.js';
import type { StoredRwkv7 } from './rwkv7.js';
import { rwkv7Layer } from './rwkv7.js';

export interface StoredBlock {
  readonly attentionNorm: StoredNorm;
  readonly mixer: StoredKvm | StoredSlidingWindow | StoredRwkv7;
  readonly mlpNorm: StoredNorm;
  /** Amounts of token shift [D]. */
  readonly mlpShift: WeightPlace;
  readonly up: StoredLinear;
  readonly down: StoredLinear;
}

export interface StoredBackbone {
  /** `carried` comes with the graph. */
  readonly architecture: Architecture;
  readonly normEpsilon: number;
  readonly residualScale: number;
  readonly embedding: StoredLinear;
  readonly embeddingNorm: StoredNorm;
  readonly blocks: readonly StoredBlock[];
  /** Layer 1's value projection, where the KVM layers take their first value from it; else all take layer 0's. */
  readonly firstValue?: StoredLinear;
  readonly finalNorm: StoredNorm;
  readonly head: StoredLinear;
  readonly fold: TrainedFold;
}

export function backboneGraph(
  model: StoredBackbone,
  use: 'prefill' | 'decode',
): { graph: Uint8Array; carried: CarriedShapes } {
  const { width, heads, keyHeads, headSize, vocabulary, frequencies, slidingWindow } = model.architecture;
  const g = new GraphBuilder(use);
  const ids = g.input(FORWARD.tokenIds, 'int64', [1, 'n']);
  const rows = g.input(FORWARD.rows, 'int64', [1, 'n']);
  const cos = g.input(FORWARD.cos, 'float32', ['n', frequencies.length]);
  const sin = g.input(FORWARD.sin, 'float32', ['n', frequencies.length]);
  const attention = new KvmAttention(g, { heads, keyHeads, headSize }, ids, use);
  const logitRows = g.input(FORWARD.logitRows, 'int64', ['r']);
  const sizes = { width, heads, headSize };
  const frame = new BackboneFrame(g, sizes, use === 'prefill' ? 'float32' : 'int8', model.normEpsilon);
  const rotateBy =
    (c: string, s: string, pairs: number): Rotate =>
    x =>
      g.node('RotaryEmbedding', [x, rows, c, s], {
        interleaved: 1,
        ...(2 * pairs < headSize && { rotary_embedding_dim: 2 * pairs, num_heads: heads }),
      });
  const rotate = rotateBy(cos, sin, frequencies.length);
  const sliding = slidingWindow && slidingInputs(frame, slidingWindow.frequencies.length);

  let x = frame.norm(embedding(g, ids, model.embedding), 'embedding_norm', model.embeddingNorm);
  const add = (delta: string): void => {
    const { residualScale: scale } = model;
    x = g.node('Add', [x, scale === 1 ? delta : g.node('Mul', [delta, g.float(scale)])]);
  };
  const attentionNorm = (of: string, layer: number): string =>
    frame.norm(of, `layer.${layer}.attention_norm`, model.blocks[layer]!.attentionNorm);
  // v0 of layers with KVM and of others: layer 0's plain values, unless those with KVM have one of their own.
  const first: { kvm?: string; other?: string } = {};
  if (model.firstValue) first.kvm = frame.linear(attentionNorm(x, 1), model.firstValue);
  const gates: string[] = [];
  model.blocks.forEach(({ mixer, mlpNorm, mlpShift, up, down }, layer) => {
    const at = { name: `layer.${layer}`, x: attentionNorm(x, layer) };
    let mixed: Mixed;
    if (mixer.kind === 'kvm') {
      const place = { ...at, kvmLayer: gates.length, firstValue: first.kvm };
      mixed = kvmLayer(frame, attention, rotate, mixer, place);
      gates.push(mixed.gates!);
    } else if (mixer.kind === 'rwkv7') {
      mixed = rwkv7Layer(frame, mixer, { ...at, firstValue: first.other });
    } else {
      if (!sliding) throw new Error('A sliding-window layer in a model without sliding windows.');
      const turn = rotateBy(sliding.cos, sliding.sin, slidingWindow.frequencies.length);
      const place = { ...at, tokens: slidingWindow.tokens, firstValue: first.other };
      mixed = slidingWindowLayer(frame, turn, sliding.bias, mixer, place);
    }
    first.other ??= mixed.plainValue;
    first.kvm ??= mixed.plainValue;
    add(mixed.output);

    const normed = frame.norm(x, `${at.name}.mlp_norm`, mlpNorm);
    const change = frame.change(normed, `${at.name}.mlp`, width, 'zero');
    const shifted = frame.shifted(normed, change, `${at.name}.mlp_shift`, mlpShift);
    const positive = g.node('Relu', [frame.linear(shifted, up)]);
    add(frame.linear(g.node('Mul', [positive, positive]), down));
  });
  attention.outputs();
  g.output(g.node('Concat', gates, { axis: 0 }), FORWARD.newGates, 'float32', [gates.length, heads, 'n']);
  const last = frame.norm(x, 'final_norm', model.finalNorm);
  const wanted = g.node('Gather', [last, logitRows], { axis: 1 });
  g.output(frame.linear(wanted, model.head), FORWARD.logits, 'float32', [1, 'r', vocabulary]);
  if (gates.length !== model.architecture.kvmLayers) throw new Error('The layers do not fit the architecture.');
  return { graph: g.finish(), carried: frame.carried };
}
