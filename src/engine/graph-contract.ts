/**
 * Names, shapes and types of every graph input and output, and the manifest that lies beside the graphs.
 * The converter writes by it, the engine runs by it. Never imports onnxruntime or the file system.
 *
 * L layers with KVM, D width, H query heads, K key heads, g = H/K, G = L·K groups, d head size, V vocabulary; n new tokens,
 * S state slots of a layer, P tokens of full past chunks in the window, B rows of the current chunk's buffer, r rows that want logits.
 * `layer` in a name counts the layers with KVM.
 */
import type { Schedule } from './engine.js';

export const MANIFEST_FILE = 'model.json';
export const MANIFEST_FORMAT = 7;

export const FILES = {
  /** Absent where the weights are float16: they become float32 in memory, once a graph, so `decode` does both. */
  prefill: 'prefill.onnx',
  decode: 'decode.onnx',
  /** `prefill` as far as the highest layer with a recall head, without logits (`Manifest.lowerLayers`). */
  lower: 'lower.onnx',
  /**
   * `prefill` and `lower` with int8 layers, for the CPU. Absent where weights are floats, of models trained with KVM, and
   * where they were too far from the checkpoint.
   */
  prefillInt8: 'prefill-int8.onnx',
  lowerInt8: 'lower-int8.onnx',
  /** Of those layers; the rest of those graphs is in `weights`. */
  weightsInt8: 'weights-int8.bin',
  weights: 'weights.bin',
  tokens: 'tokens.onnx',
  fold: 'fold.onnx',
  place: 'place.onnx',
  foldKeys: 'fold-keys.onnx',
  placeKeys: 'place-keys.onnx',
  read: 'read.onnx',
  score: 'score.onnx',
  scoreRows: 'score-rows.onnx',
  tokenizer: 'tokenizer.json',
  tokenizerConfig: 'tokenizer_config.json',
  recall: 'recall.safetensors',
  /** float32 [n, ceil(V / stride)]: oracle logits of the check's prompt, every `stride`-th column. */
  check: 'check.bin',
} as const;

/** `prefill.onnx`, `decode.onnx`: one pass over n new tokens that lie in one chunk. */
export const FORWARD = {
  /** int64 [1,n]. */
  tokenIds: 'token_ids',
  /** int64 [1,n]: 0..n-1, rows of `cos` and `sin`. */
  rows: 'rows',
  /** float32 [n,R], one column for each of the R `frequencies`: rotation of the new tokens' positions. */
  cos: 'cos',
  sin: 'sin',
  /** float32 [n,R], equal rows: rotation of the read distance (retrofit.md, D0). Not of models trained with KVM. */
  readCos: 'read_cos',
  readSin: 'read_sin',
  /** float32 [1,1,1,B]: 0 where the current chunk's buffer holds a token, else -1e30. */
  blockBias: 'block_bias',
  /** float32 [1,1,n,n]: causal mask, 0 or -1e30. */
  causalBias: 'causal_bias',
  /** int64 [4]: S, P, B, n (decode graph only). */
  parts: (layer: number) => `parts.${layer}`,
  /** int64 [r]: rows of the new tokens whose logits are wanted. */
  logitRows: 'logit_rows',
  /** float32 [1,r,V]. */
  logits: 'logits',
  /** float32 [K,1,d,S], read-ready, columns. */
  stateKey: (layer: number) => `state_key.${layer}`,
  /** float32 [K,1,S,d]. */
  stateValue: (layer: number) => `state_value.${layer}`,
  /** float32 [K,g,1,S]: log(count) plus the model entry's bias. */
  stateBias: (layer: number) => `state_bias.${layer}`,
  /** float32 [K,1,d,P], rotated, columns. */
  pastKey: (layer: number) => `past_key.${layer}`,
  /** float32 [K,1,P,d]. */
  pastValue: (layer: number) => `past_value.${layer}`,
  /** float32 [K,1,d,B], rotated, columns. */
  blockKey: (layer: number) => `block_key.${layer}`,
  /** float32 [K,1,B,d]. */
  blockValue: (layer: number) => `block_value.${layer}`,
  /** float32 [G,1,n,d], rotated. */
  newKeys: 'new_keys',
  /** float32 [G,1,n,d]. */
  newValues: 'new_values',
  /** float32 [1,H,n,d] (decode: [H,1,n,d]), not rotated. Not of models trained with KVM. */
  query: (layer: number) => `query.${layer}`,
  /** float32 [L,K,n]: merge gates. Of models trained with KVM only. */
  newGates: 'new_gates',
} as const;

/** More of `prefill.onnx` and `decode.onnx`, for models that carry tensors from pass to pass (`Architecture.carried`). */
export const CARRIED = {
  /** float32 [1]: 1 in the first pass of a text, else 0. */
  first: 'first',
  /** What the last pass gave as `out(name)`. */
  in: (name: string) => `carry.${name}`,
  out: (name: string) => `carried.${name}`,
  /** float32 [n,R] of `Architecture.slidingWindow`'s frequencies. */
  cos: 'sliding_cos',
  sin: 'sliding_sin',
  /** float32 [1,1,n,c+n], c carried tokens: 0 where a new token sees a carried or new one, else -1e30. */
  bias: 'sliding_bias',
} as const;

/** `tokens.onnx`: keys of one chunk as they lie in the window [1,G,C,d] → what a fold takes. */
export const TOKENS = {
  /** float32 [1,G,C,d], rotated. */
  key: 'key',
  /** float32 [1,G,C,d]. */
  value: 'value',
  /** int64 [1,C]: 0..C-1. Rotation is not of models trained with KVM, here as below. */
  rows: 'rows',
  /** float32 [C,d/2]; the graph rotates back by them. */
  cos: 'cos',
  sin: 'sin',
  /** float32 [G,C,d], un-rotated; of a model trained with KVM `LN_s(zero_rope(k))`. */
  plainKey: 'plain_key',
  plainValue: 'plain_value',
  /** float32 [G,C]. */
  keyRadius: 'key_radius',
  valueRadius: 'value_radius',
} as const;

/**
 * `fold.onnx`, `place.onnx` and their keys-only forms: N incoming slots go into S slots (kvm.md, Update). Of an ordinary
 * checkpoint the first two take keys alone and give `slot` and `appended`: sums are made outside (merged-slots.ts).
 */
export const FOLD = {
  /** float32 [G,S,d] sums, [G,S] counts and read radii. */
  keySum: 'key_sum',
  valueSum: 'value_sum',
  count: 'count',
  keyRadius: 'key_radius',
  valueRadius: 'value_radius',
  /** float32 [G,N,d] sums, [G,N]. */
  inKey: 'in_key',
  inValue: 'in_value',
  inCount: 'in_count',
  inKeyRadius: 'in_key_radius',
  inValueRadius: 'in_value_radius',
  /** float32 [G,N]: merge gates, 1 for slots. Of models trained with KVM only, like `inRead`. */
  inGate: 'in_gate',
  /** float32 [G,N,d]: what novelty and winner compare with `LN_s(S_k)`. */
  inRead: 'in_read',
  /** int64 [1]: how many of the incoming become slots (fold: the most novel ones). */
  append: 'append',
  /** int64 [G,n]: which of the incoming become slots, ascending (place only). */
  appendIndex: 'append_index',
  /** int64 [G,n]: which of the incoming became slots, ascending (fold only). */
  appended: 'appended',
  /** int64 [1]: the first slots that take no merges. */
  sinks: 'sinks',
  out: (name: string) => `${name}_out`,
  /** int64 [G,N]: the slot that took each incoming one. */
  slot: 'slot',
} as const;

/** `read.onnx`: sums → what attention reads (just-in-time renormalisation). */
export const READ = {
  keySum: 'key_sum',
  valueSum: 'value_sum',
  keyRadius: 'key_radius',
  valueRadius: 'value_radius',
  /** float32 [G,S]: multiplies read keys (kvm.md, tau_s). */
  temperature: 'temperature',
  /** float32 [G,S,d]. */
  readKey: 'read_key',
  /** float32 [G,d,S]: the same as columns. */
  readKeyColumns: 'read_key_columns',
  /** float32 [G,S,d]. */
  readValue: 'read_value',
} as const;

/** `score.onnx` and `score-rows.onnx`: R question rows against N recall slots of one head. */
export const SCORE = {
  /** float32 [R,d]; scale and temperature are in it. */
  query: 'query',
  /** int8 [N,d]. */
  key: 'key',
  /** float32 [N]. */
  scale: 'scale',
  /** float32 [N]. */
  logCount: 'log_count',
  /** float32 [R]: log of the sum of exp(logit) over N; out of `score`, into `score-rows`, whose N are some of those slots. */
  logSum: 'log_sum',
  /** float32 [R,N]: the softmax row by row. */
  rowMass: 'row_mass',
} as const;

/** The graphs by which recall values are fitted: R question rows against N recall slots of one key head. */
export const FIT = {
  /** float32 [R,d]: rotated to the query position, over sqrt(d). */
  row: 'row',
  /** float32 [d,d]. */
  map: 'map',
  /** float32 [1]: exp(t). */
  temperature: 'temperature',
  /** int8 [N,d]; float32 [N], [N]. */
  key: 'key',
  scale: 'scale',
  logCount: 'log_count',
  /** float32 [R,N]: softmax over N. Forward out, backward in. */
  attention: 'attention',
  /** float32 [R,N]: gradient of the loss by `attention`; backward in. */
  attentionGradient: 'attention_gradient',
  /** float32 [d,d], [] (by t): backward out. */
  mapGradient: 'map_gradient',
  temperatureGradient: 'temperature_gradient',
} as const;

export type Quantisation = 'f32' | 'f16' | 'q8' | 'q4';

export interface Architecture {
  readonly family: string;
  readonly layers: number;
  /** Layers that have KVM's window and state; all of a decoder's. */
  readonly kvmLayers: number;
  readonly width: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  readonly vocabulary: number;
  /**
   * float64 [R], R <= d/2: angular frequencies of the rotary pairs, scaling applied; dimensions from 2·R on are not rotated.
   * Negative ones turn clockwise.
   */
  readonly frequencies: readonly number[];
  /** Tensors that each pass hands to the next, and their shapes before the first, where they are all zero. Absent: none. */
  readonly carried?: readonly { readonly name: string; readonly shape: readonly number[] }[];
  /** Layers without KVM that see the last `tokens` tokens, the current one counted, with a rotation of their own. */
  readonly slidingWindow?: { readonly tokens: number; readonly frequencies: readonly number[] };
}

/** G: groups of a state, a key head of a layer with KVM each, layer-major. */
export function groupsOf({ kvmLayers, keyHeads }: Architecture): number {
  return kvmLayers * keyHeads;
}

/** What a checkpoint that was trained with KVM fixes (kvm.md). Its slots all weigh 1; its queries read the state as they read the window. */
export interface TrainedKvm {
  readonly schedule: Schedule;
  /** Whether the merge gate multiplies the first chunk's keys and values when its tokens become the first slots. */
  readonly gatesInitialState: boolean;
}

/** Fitted values for slots behind the sinks, of an ordinary checkpoint. */
export interface GrowingState {
  /** Times the schedule's figure, per layer: slots of its key heads; 0: the sinks alone. */
  readonly shareOfLayer: readonly number[];
  /** Added to logits, per layer and query head. */
  readonly biasOfHead: readonly (readonly number[])[];
  /** Multiplies keys, per layer and key head. */
  readonly temperatureOfKeyHead: readonly (readonly number[])[];
  /** Multiplies the length of values, per layer and key head. */
  readonly valueScaleOfKeyHead: readonly (readonly number[])[];
  /** In tokens, in place of `readDistance`, per layer and key head. */
  readonly readDistanceOfKeyHead: readonly (readonly number[])[];
}

/** How KVM reads this model: fixed when it is converted (chunk) or taken from the model's entry. */
export interface KvmSettings {
  readonly chunk: number;
  readonly windowChunks: number;
  /** Chunks of the window while a text is read into a memory. */
  readonly readingWindowChunks: number;
  readonly sinks: number;
  /** Constant distance from which the state is read, in tokens (retrofit.md, D0). */
  readonly readDistance: number;
  /** How a text's own state grows and is read where it is merged. Absent: all layers alike, slots weigh as their tokens. */
  readonly growing?: GrowingState;
  /** Bias of composed slots against tokens per slot, ascending; linear in log(tokens per slot) between, flat outside. */
  readonly stateBias: readonly { readonly tokensPerSlot: number; readonly bias: number }[];
  /** Added to `stateBias`, per layer and query head; absent: 0. */
  readonly stateBiasOfHead?: readonly (readonly number[])[];
  /** Multiplies composed keys, per layer and key head; absent: 1. */
  readonly stateTemperatureOfKeyHead?: readonly (readonly number[])[];
  /** Multiplies the length of composed values, per layer and key head; absent: 1. */
  readonly stateValueScaleOfKeyHead?: readonly (readonly number[])[];
  /** Tokens in all composed states beside which the three were fitted: n times as many weigh log(n) less. Absent: as they are. */
  readonly stateTokens?: number;
  /** Start of every text that is read; its first `sinks` tokens are the shared sinks. `{label}` is the text's place. */
  readonly prefix: string;
  /** Absent: an ordinary checkpoint (retrofit.md). */
  readonly trained?: TrainedKvm;
}

export interface RecallSettings {
  /** [layer, query head] of each recall head. */
  readonly heads: readonly (readonly [number, number])[];
  /** Position to which question rows are rotated. */
  readonly queryPosition: number;
  /** Text before and after the question; its rows are the question's own tokens. */
  readonly before: string;
  readonly after: string;
  /** A question without content. */
  readonly contentless: string;
  /** How the values were fitted on this machine; absent where they came with the model. */
  readonly calibration?: RecallCalibration;
}

/** Mean reciprocal rank of the function asked for, and how often it is among the first 5. */
export interface RecallFigures {
  readonly mrr: number;
  readonly recallAt5: number;
}

export interface RecallCalibration {
  /** Questions it was trained on, and those that only measured it. */
  readonly questions: number;
  readonly heldOut: number;
  /** Of the held-out questions: the same heads unfitted, and fitted. */
  readonly unfitted: RecallFigures;
  readonly fitted: RecallFigures;
}

/** Layers that a text has to go through for the keys of all recall heads. */
export function layersForRecall({ heads }: RecallSettings): number {
  return 1 + Math.max(-1, ...heads.map(([layer]) => layer));
}

export interface Manifest {
  readonly format: typeof MANIFEST_FORMAT;
  readonly name: string;
  readonly origin: string;
  readonly licence: string;
  readonly quantisation: Quantisation;
  readonly architecture: Architecture;
  readonly kvm: KvmSettings;
  readonly recall?: RecallSettings;
  /** Layers of `lower.onnx`; absent where there is none. */
  readonly lowerLayers?: number;
  /** Token ids that end an answer. */
  readonly endTokens: readonly number[];
  /** What was checked after writing: a prompt's logits against the float oracle. */
  readonly verification: {
    readonly prompt: readonly number[];
    /** Median over the prompt of: root mean square difference of logits over the oracle's own spread. */
    readonly difference: number;
    readonly tolerance: number;
    /** Columns of the logits between those kept in `check.bin`. */
    readonly stride: number;
  };
  readonly fingerprint: string;
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
}
