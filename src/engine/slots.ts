/**
 * The data that leaves the engine: slots of a state packed to int8, and what reading a text gives.
 * Plain typed arrays, so that they cross a process boundary and go to disk as they are. Never holds onnxruntime tensors.
 *
 * Shapes: G = layers with KVM x key heads (layer-major), K = recall key heads, S slots, T tokens, d head size. Row-major.
 */

/** Slots of a KVM state of all layers. A slot's mean key is `keys * keyScale`; its sum is the mean times `count`. */
export interface PackedSlots<Rows extends Int8Array | Int16Array = Int8Array> {
  readonly groups: number;
  readonly slots: number;
  readonly headSize: number;
  /** int8 (of a composed state int16) [G,S,d], mean keys without position in units of `keyScales`. */
  readonly keys: Rows;
  /** float32 [G,S]. */
  readonly keyScales: Float32Array;
  /** The same of the values, in units of `valueScales`. */
  readonly values: Rows;
  /** float32 [G,S]. */
  readonly valueScales: Float32Array;
  /** float32 [G,S], tokens in each slot. */
  readonly counts: Float32Array;
  /** float32 [G,S], length of the creating key: the read radius of keys. */
  readonly keyRadii: Float32Array;
  /** float32 [G,S], length of the creating value (rho). */
  readonly valueRadii: Float32Array;
}

/**
 * A composed state, which gists can be taken out of and put into again. A slot that nothing is in is free: its count is 0,
 * and so is every other number of it.
 */
export interface StateSlots extends PackedSlots<Int16Array> {
  /** float32 [G,S]: sum of count x radius over the gists' slots in each slot. */
  readonly keyRadiusSums: Float32Array;
  readonly valueRadiusSums: Float32Array;
  /** uint8 [G,S]: 1 while the gist's slot that made the slot is in it; its radii are the slot's. Else they are the mean. */
  readonly created: Uint8Array;
}

/** Where a gist's slots are: uint32 [G,s], state slot x 2, plus 1 where the gist's slot made that one. */
export type Places = Uint32Array;

export interface PlacedGist {
  readonly gist: PackedSlots;
  readonly places: Places;
}

export interface ComposedState {
  readonly state: StateSlots;
  /** Of each gist that was put in, in that order. */
  readonly places: readonly Places[];
}

/** Keys of the recall heads of one text, merged to slots. */
export interface RecallSlots {
  readonly heads: number;
  readonly slots: number;
  readonly headSize: number;
  /** int8 [K,S,d], un-rotated mean keys in units of `scales`. */
  readonly keys: Int8Array;
  /** float32 [K,S]. */
  readonly scales: Float32Array;
  /** float32 [K,S], tokens in each slot. */
  readonly counts: Float32Array;
}

/** Recall slots merged further. */
export interface CoarseRecall {
  readonly recall: RecallSlots;
  /** uint32 [K,S] of the slots before: the slot that took each. */
  readonly slotOf: Uint32Array;
}

/** What one text became by being read from a fresh state. */
export interface Reading {
  /** Tokens read, the prefix included. */
  readonly tokens: number;
  readonly gist: PackedSlots;
  readonly recall: RecallSlots;
  /** uint32 [T]: line of each token counted from 1; 0 for tokens of the prefix. */
  readonly lineOfToken: Uint32Array;
  /** uint32 [K,T]: the recall slot that took each token, per recall key head; 0xffffffff for tokens of the sinks. */
  readonly slotOfToken: Uint32Array;
}
