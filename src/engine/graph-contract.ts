/**
 * Names, shapes and types of every graph input and output, and the manifest that lies beside the graphs.
 * The converter writes by it, the engine runs by it. Never imports onnxruntime or the file system.
 *
 * L layers, D width, H query heads, K key heads, g = H/K, d head size, V vocabulary; n new tokens, S state slots,
 * P tokens of full past chunks in the window, B rows of the current chunk's buffer, r rows that want logits.
 */

export const MANIFEST_FILE = 'model.json';
export const MANIFEST_FORMAT = 1;

export const FILES = {
  prefill: 'prefill.onnx',
  decode: 'decode.onnx',
  weights: 'weights.bin',
  tokens: 'tokens.onnx',
  fold: 'fold.onnx',
  place: 'place.onnx',
  foldKeys: 'fold-keys.onnx',
  placeKeys: 'place-keys.onnx',
  read: 'read.onnx',
  score: 'score.onnx',
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
  /** float32 [n,d/2]: rotation of the new tokens' positions. */
  cos: 'cos',
  sin: 'sin',
  /** float32 [n,d/2], equal rows: rotation of the read distance (retrofit.md, D0). */
  readCos: 'read_cos',
  readSin: 'read_sin',
  /** float32 [1,1,1,B]: 0 where the current chunk's buffer holds a token, else -1e30. */
  blockBias: 'block_bias',
  /** float32 [1,1,n,n]: causal mask, 0 or -1e30. */
  causalBias: 'causal_bias',
  /** int64 [4]: S, P, B, n (decode graph only). */
  parts: 'parts',
  /** int64 [r]: rows of the new tokens whose logits are wanted. */
  logitRows: 'logit_rows',
  /** float32 [1,r,V]. */
  logits: 'logits',
  /** float32 [1,K,S,d], read-ready. */
  stateKey: (layer: number) => `state_key.${layer}`,
  stateValue: (layer: number) => `state_value.${layer}`,
  /** float32 [1,H,1,S]: log(count) plus the model entry's bias. */
  stateBias: (layer: number) => `state_bias.${layer}`,
  /** float32 [1,K,P,d], rotated. */
  pastKey: (layer: number) => `past_key.${layer}`,
  pastValue: (layer: number) => `past_value.${layer}`,
  /** float32 [1,K,B,d], rotated. */
  blockKey: (layer: number) => `block_key.${layer}`,
  blockValue: (layer: number) => `block_value.${layer}`,
  /** float32 [1,K,n,d], rotated. */
  newKey: (layer: number) => `new_key.${layer}`,
  newValue: (layer: number) => `new_value.${layer}`,
  /** float32 [1,H,n,d], not rotated. */
  query: (layer: number) => `query.${layer}`,
} as const;

/** `tokens.onnx`: keys of one chunk as they lie in the window [1,G,C,d] → what a fold takes. */
export const TOKENS = {
  /** float32 [1,G,C,d], rotated. */
  key: 'key',
  /** float32 [1,G,C,d]. */
  value: 'value',
  /** int64 [1,C]: 0..C-1. */
  rows: 'rows',
  /** float32 [C,d/2]; the graph rotates back by them. */
  cos: 'cos',
  sin: 'sin',
  /** float32 [G,C,d], un-rotated. */
  plainKey: 'plain_key',
  plainValue: 'plain_value',
  /** float32 [G,C]. */
  keyRadius: 'key_radius',
  valueRadius: 'value_radius',
} as const;

/** `fold.onnx`, `place.onnx` and their keys-only forms: N incoming slots go into S slots (kvm.md, Update). */
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
  /** int64 [1]: how many of the incoming become slots (fold: the most novel ones). */
  append: 'append',
  /** int64 [G,n]: which of the incoming become slots, ascending (place only). */
  appendIndex: 'append_index',
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
  readValue: 'read_value',
} as const;

/** `score.onnx`: R question rows against N recall slots of one head. */
export const SCORE = {
  /** float32 [R,d]; scale and temperature are in it. */
  query: 'query',
  /** int8 [N,d]. */
  key: 'key',
  /** float32 [N]. */
  scale: 'scale',
  /** float32 [N]. */
  logCount: 'log_count',
  /** float32 [N]: mean over the rows of the softmax over N. */
  mass: 'mass',
} as const;

export type Quantisation = 'f32' | 'q8' | 'q4';

export interface Architecture {
  readonly family: string;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  readonly vocabulary: number;
  /** float64 [d/2]: angular frequencies of the rotary pairs, scaling applied. */
  readonly frequencies: readonly number[];
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
  /** Bias of composed slots against tokens per slot, ascending; linear in log(tokens per slot) between, flat outside. */
  readonly stateBias: readonly { readonly tokensPerSlot: number; readonly bias: number }[];
  /** Added to `stateBias`, per layer and query head; absent: 0. */
  readonly stateBiasOfHead?: readonly (readonly number[])[];
  /** Multiplies composed keys, per layer and key head; absent: 1. */
  readonly stateTemperatureOfKeyHead?: readonly (readonly number[])[];
  /** Start of every text that is read; its first `sinks` tokens are the shared sinks. `{label}` is the text's place. */
  readonly prefix: string;
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
