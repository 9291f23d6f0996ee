/**
 * The one view of a checkpoint, whatever the file kind: normalised config, Hugging Face tensor names, rows as float32.
 * Types only. Readers: `gguf-checkpoint.ts`, `safetensors-checkpoint.ts`; opened by `open.ts`.
 */

export type DecoderFamily = 'llama' | 'qwen2' | 'qwen3';
export type Family = DecoderFamily | 'rwkv7backbone';

/** How the rotary frequencies differ from `theta^(-2i/headSize)`. */
export type RopeScaling =
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      /** Tokens. */
      readonly originalContextLength: number;
    }
  /** Frequency i is divided by `factors[i]`; [headSize / 2]. */
  | { readonly kind: 'factors'; readonly factors: readonly number[] };

export type CheckpointConfig = DecoderConfig | BackboneConfig;

/** An ordinary checkpoint, run as a KVM model without training (retrofit.md). */
export interface DecoderConfig {
  readonly family: DecoderFamily;
  readonly layers: number;
  /** Size of the residual stream. */
  readonly width: number;
  /** Query heads; a multiple of `keyHeads`. */
  readonly heads: number;
  /** Key and value heads. */
  readonly keyHeads: number;
  /** Size of one head; even; not always `width / heads`. */
  readonly headSize: number;
  readonly ffnWidth: number;
  /** Rows of the embedding; the tokenizer may know fewer tokens. */
  readonly vocabulary: number;
  readonly ropeTheta: number;
  readonly ropeScaling?: RopeScaling;
  readonly normEpsilon: number;
  /** The head is the embedding; there is no `lm_head.weight`. */
  readonly tiedHead: boolean;
  readonly qkvBias: boolean;
  readonly qkNorm: boolean;
  /** Tokens the checkpoint was made for. */
  readonly contextLength: number;
  readonly bosId?: number;
  /** Every id that ends a turn or a text; first the tokenizer's own. May be empty. */
  readonly eosIds: readonly number[];
}

export type BackboneMixer = 'kvm' | 'swa' | 'rwkv7';

/** Rotation of the first `dimensions` of a head in adjacent pairs, clockwise (kvm.md, "The authors' backbone"). */
export interface BackboneRotary {
  readonly theta: number;
  readonly dimensions: number;
}

/** A checkpoint of KVM's authors. Linear layers have no bias, the head is never tied, queries and keys have as many heads. */
export interface BackboneConfig {
  readonly family: 'rwkv7backbone';
  readonly layers: number;
  /** Size of the residual stream; `heads * headSize`. */
  readonly width: number;
  readonly heads: number;
  readonly headSize: number;
  readonly ffnWidth: number;
  /** Rows of the embedding; the tokenizer may know fewer tokens. */
  readonly vocabulary: number;
  /** Multiplies what each attention and MLP adds to the residual stream. */
  readonly residualScale: number;
  /** Of every LayerNorm but RWKV-7's `ln_x` (64e-5). */
  readonly normEpsilon: number;
  /** Inner size of the value residual's gate, `v_gate1`. */
  readonly valueGateRank: number;
  /** One a layer; at least one is `kvm`. */
  readonly mixers: readonly BackboneMixer[];
  /** Of KVM layers. */
  readonly rotary: BackboneRotary;
  /** Of sliding-window layers; as `rotary` where there are none. */
  readonly alternateRotary: BackboneRotary;
  /** Tokens a sliding-window layer sees, the current one counted. */
  readonly slidingWindow: number;
  /**
   * KVM layers take layer 0's first value like every other layer; else layer 1's, `c_v_1(ln_attn_1(x0))`. Layer 0's
   * own kind decides how its first value is formed.
   */
  readonly sharesFirstValue: boolean;
  readonly kvm: BackboneKvm;
  /** Inner sizes of RWKV-7's low-rank maps; present where a layer is `rwkv7`. */
  readonly rwkv7Ranks?: {
    readonly decay: number;
    readonly rate: number;
    readonly value: number;
    readonly gate: number;
  };
  /** Tokens the checkpoint was made for. */
  readonly contextLength: number;
  readonly bosId?: number;
  /** As `DecoderConfig.eosIds`. */
  readonly eosIds: readonly number[];
}

/** KVM as the checkpoint was trained with it (kvm.md, "Update"). */
export interface BackboneKvm {
  /** Tokens. */
  readonly chunk: number;
  readonly windowChunks: number;
  /** Slots at the start of the state that take no merges; fewer than `chunk`. */
  readonly sinks: number;
  readonly maxSlots: number;
  /** Slots after T tokens, before rounding: `slots`; `floor(factor * T^exponent)`; `floor(slots * T / (slots + T))`. */
  readonly schedule:
    | { readonly kind: 'fixed'; readonly slots: number }
    | { readonly kind: 'powerLaw'; readonly factor: number; readonly exponent: number }
    | { readonly kind: 'saturating'; readonly slots: number };
  /** The schedule's figure goes down to a multiple of this (not `fixed`). */
  readonly roundDownTo: number;
  /** And is never less than this. */
  readonly atLeast: number;
  /** Whether the merge gate multiplies the first chunk's keys and values; their radii stay ungated. */
  readonly gatesInitialState: boolean;
  readonly gatesAppends: boolean;
  readonly gatesKeys: boolean;
  readonly gatesValues: boolean;
  /** Whether `front_head_temp` and `state_head_temp` multiply keys. */
  readonly headTemperatures: boolean;
}

/** Storage of one tensor. */
export type TensorType = 'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_0' | 'Q4_1' | 'Q5_0' | 'Q5_1' | 'Q4_K' | 'Q5_K' | 'Q6_K';

export interface TensorInfo {
  /** Outermost first: [out, in] for weights, [n] for norms and biases. */
  readonly shape: readonly number[];
  readonly dtype: TensorType;
}

/**
 * Quantised rows as stored, unpacked: element e of row r is `scale * value + min` with block b = floor(e / 32),
 * `scale = scales[r * blocksPerRow + b]`, `min = mins[...]`, `value = values[r * blocksPerRow * 32 + e]`.
 */
export interface QuantisedBlocks {
  readonly dtype: 'Q8_0' | 'Q4_0' | 'Q4_1';
  readonly rows: number;
  readonly blocksPerRow: number;
  readonly blockSize: 32;
  /** [rows, blocksPerRow]; float16 values, exactly. */
  readonly scales: Float32Array;
  /** [rows, blocksPerRow]; Q4_1 only. */
  readonly mins?: Float32Array;
  /** [rows, blocksPerRow * 32], one value a byte: Q8_0 -128..127, Q4_0 -8..7, Q4_1 0..15. */
  readonly values: Int8Array;
}

export interface TokenizerFiles {
  /** The object of a Hugging Face `tokenizer.json`. */
  readonly tokenizerJson: Record<string, unknown>;
  /** The object of `tokenizer_config.json`, incl. `chat_template`, `bos_token`, `eos_token` where known. */
  readonly tokenizerConfig: Record<string, unknown>;
}

export interface Origin {
  readonly kind: 'gguf' | 'safetensors';
  /** File or folder as opened. */
  readonly path: string;
  /** The files whose bytes are the weights. */
  readonly files: readonly string[];
}

export interface Checkpoint {
  readonly config: CheckpointConfig;
  /** Which dimensions of a query or key head rotate together: (2i, 2i+1) or (i, i + headSize / 2). */
  readonly rotaryPairs: 'adjacent' | 'half';
  readonly origin: Origin;
  /** Canonical Hugging Face names; the published names of KVM's authors. */
  readonly tensorNames: readonly string[];
  has(name: string): boolean;
  /** Throws `bad-format` where there is no such tensor. */
  tensor(name: string): TensorInfo;
  /**
   * Rows `rowStart` to `rowStart + rowCount` (all where left out) along the first dimension, flat and outermost first.
   * Reads at most 4 MiB of the file at a time. Throws `bad-format` (a value that is not finite is one) or `usage` (rows out
   * of range).
   */
  readFloat32(name: string, rowStart?: number, rowCount?: number): Promise<Float32Array>;
  /** The stored blocks, or undefined where the tensor is not Q8_0, Q4_0 or Q4_1. */
  readBlocks(name: string, rowStart?: number, rowCount?: number): Promise<QuantisedBlocks | undefined>;
  /** Throws `not-found` or `unsupported` where the checkpoint brings no tokenizer that can be used. */
  tokenizer(): Promise<TokenizerFiles>;
  close(): Promise<void>;
}
