/**
 * What the rest of the house can ask of a model: read a text, compose states, score recall slots, write.
 * The same interface is served in this process (`openEngine`) and by a child process (`startEngine`).
 * Knows tokens, slots and text; never files, workspaces or the store.
 */
import type { Disposable } from '../base/index.js';
import type {
  CoarseRecall,
  ComposedState,
  PackedSlots,
  PlacedGist,
  Reading,
  RecallSlots,
  StateSlots,
} from './slots.js';

/** Which execution provider runs the graphs, and why that one. */
export interface ProviderChoice {
  readonly name: string;
  readonly reason: string;
}

export interface ModelDescription {
  readonly name: string;
  /** Hex digest of weights and entry: part of every memory's key. */
  readonly fingerprint: string;
  readonly layers: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
  readonly vocabulary: number;
  /** Tokens of a chunk (C). */
  readonly chunk: number;
  /** Chunks in the window (W). */
  readonly windowChunks: number;
  readonly sinks: number;
  /** Bytes of one slot of all layers, packed. */
  readonly bytesPerSlot: number;
  readonly quantisation: string;
  /** Layers that a text goes through that is read without a gist; absent where those are all. */
  readonly lowerLayers?: number;
  readonly provider: ProviderChoice;
  /** Recall heads of the model's entry: query heads, and for each the index of its key head among the recall key heads. */
  readonly recall: {
    readonly keyHeads: number;
    readonly keyHeadOf: readonly number[];
    readonly parameters: RecallParameters;
  };
}

/** Per recall query head: w, u, a and e of the score (models/README.md). */
export interface RecallParameters {
  readonly weight: readonly number[];
  readonly nullWeight: readonly number[];
  readonly lengthExponent: readonly number[];
  readonly logFloor: readonly number[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Called with tokens done so far. */
  readonly onProgress?: (tokens: number) => void;
  /** Awaited before each chunk of reading and each gist of composing: what is more urgent goes first. */
  readonly giveWay?: () => Promise<void>;
  /**
   * Percent of the machine's processor time that reading, coarsening and composing take at most, by pauses where `giveWay`
   * is awaited. Heard by the engine process alone. Default: no pauses.
   */
  readonly cpuShare?: number;
}

/** How the state grows: slots after T tokens. Never shrinks, never over what has left the window. */
export type Schedule = ScheduleKind & ScheduleLimits;

/** Applied to a schedule's figure in this order (kvm.md, Update: Budget). */
export interface ScheduleLimits {
  /** Down to a multiple of this; default 1. */
  readonly roundDownTo?: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

type ScheduleKind =
  | { readonly kind: 'fixed'; readonly slots: number }
  | { readonly kind: 'powerLaw'; readonly factor: number; readonly exponent: number }
  | { readonly kind: 'saturating'; readonly slots: number }
  /** `slots` reached evenly when `tokens` were seen. */
  | { readonly kind: 'even'; readonly slots: number; readonly tokens: number }
  | { readonly kind: 'keepEverything' }
  /** Only the sinks stay. */
  | { readonly kind: 'windowOnly' };

export interface ReadRequest {
  /** Place of the text, e.g. a path: goes into the fixed prefix, so the model knows it. */
  readonly label: string;
  readonly text: string;
  /** Tokens merged into one recall slot, at least 1. */
  readonly tokensPerRecallSlot: number;
  /** Slots of the gist for a text of that many tokens; default `clamp(sqrt(T)/2, 16, 256)` (memory.md); 0: none is made. */
  readonly gistSlots?: number;
}

export interface ComposeOptions extends CallOptions {
  /** Most slots of the composed state. */
  readonly budget: number;
  /** Gist slots that will come in all, for even growth. */
  readonly incoming: number;
}

/** What changes in a composed state. */
export interface StateChange {
  /** Gists that are in the state, and where. */
  readonly remove: readonly PlacedGist[];
  readonly add: readonly PackedSlots[];
  /** Slots that the state may grow to; it never shrinks. */
  readonly budget: number;
}

/**
 * Mean softmax mass of a question's rows on recall slots, head by head: on the slots that are named, and on each token of
 * all others. Unless the memory is very large, every slot is named.
 */
export interface SlotMass {
  /** Per recall key head uint32, ascending: places in N. Absent: all of them, in order. */
  readonly slots?: readonly Uint32Array[];
  /** Per recall query head float32: mass on each slot named for its key head. */
  readonly mass: readonly Float32Array[];
  /** Per recall query head: mass on one token of the slots that are not named. */
  readonly rest: readonly number[];
}

/** Attention mass of a question on the slots of the recall index. N = slots of all `ids`, in their order. */
export interface RecallScores {
  /** Question tokens that were averaged over. */
  readonly rows: number;
  /** uint32 [ids+1]: where each id's slots begin in N. */
  readonly slotStart: Uint32Array;
  readonly mass: SlotMass;
  /** The same of a contentless question. */
  readonly nullMass: SlotMass;
  /** The model's, as they are for a memory of N slots. */
  readonly parameters: RecallParameters;
}

/** What a question finds of F spans. */
export interface SpanScores {
  /** float32 [H,F]: the weighted mean over the rows of log(mass of the row / n^a + exp(e)). */
  readonly found: Float32Array;
  /** float32 [H,F]: mean mass of a contentless question. Only where `RecallScores` does not name every slot. */
  readonly nullMass?: Float32Array;
}

/** F spans of lines, as shares of recall slots: a slot's mass is shared among the lines that its tokens came from. */
export interface SpanShares {
  /** float32 [F]: tokens of each span. */
  readonly tokens: Float32Array;
  /** Of each recall key head: span f has the pairs `start[f]` up to `start[f+1]`. */
  readonly keyHeads: readonly {
    /** uint32 [F+1]. */
    readonly start: Uint32Array;
    /** uint32 [P]: slots in the order of N (`RecallScores`). */
    readonly slots: Uint32Array;
    /** float32 [P]: the part of that slot's tokens that is in the span. */
    readonly shares: Float32Array;
  }[];
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface GenerateRequest {
  readonly messages: readonly ChatMessage[];
  /** Text the answer starts with; it is part of the result. */
  readonly answerPrefix?: string;
  /** Ids of states (`putState`) to attend to beside the window, in order. */
  readonly states?: readonly string[];
  readonly maxTokens: number;
  /** 0 is greedy. */
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly repetitionPenalty?: number;
  /** Writing ends before the first of these. */
  readonly stop?: readonly string[];
}

export interface GenerateResult {
  readonly text: string;
  readonly promptTokens: number;
  readonly writtenTokens: number;
  readonly stopReason: 'end' | 'length' | 'stop' | 'cancelled';
  /** From the call to the first token. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

export interface Engine extends Disposable {
  /** Rises when the engine was started anew: states and recall slots put before are gone. */
  readonly generation: number;
  readonly model: ModelDescription;
  countTokens(text: string): Promise<number>;
  /** Reads a text from a fresh state. Cancelled between chunks. */
  read(request: ReadRequest, options?: CallOptions): Promise<Reading>;
  /** Merges gists, in the order given, into one state by KVM's rule. */
  compose(gists: Iterable<PackedSlots> | AsyncIterable<PackedSlots>, options: ComposeOptions): Promise<ComposedState>;
  /**
   * The state after a change, by subtraction and addition; the one given is not changed. Gives the places of what was added;
   * those of all others stay. Throws `stale` where what shall leave is not in the state.
   */
  patch(state: StateSlots, change: StateChange, options?: CallOptions): Promise<ComposedState>;
  /** Keeps a state for `generate`; `tokensPerSlot` is how far it is compressed (it sets the state's bias). */
  putState(id: string, slots: PackedSlots<Int8Array | Int16Array>, tokensPerSlot: number): Promise<void>;
  dropState(id: string): Promise<void>;
  /** Merges recall slots further, that many into one, by the rule that made them. */
  coarsen(slots: RecallSlots, slotsPerSlot: number, options?: CallOptions): Promise<CoarseRecall>;
  putRecall(id: string, slots: RecallSlots): Promise<void>;
  dropRecall(id: string): Promise<void>;
  /** Scores the question against the slots of `ids`, one softmax per head over all of them. */
  scoreRecall(question: string, ids: readonly string[], options?: CallOptions): Promise<RecallScores>;
  /**
   * What each row of the question finds of some spans. One softmax per head and row over the slots of all `ids`, as
   * `scoreRecall`, after which it is cheap for the same question and ids.
   */
  scoreSpans(question: string, ids: readonly string[], spans: SpanShares, options?: CallOptions): Promise<SpanScores>;
  /**
   * How the recall heads would look up the last token of `text`: un-fitted queries [H,d] (H recall query heads), rotated to
   * the query position, over sqrt(d). Only the last `tokens` tokens are read, after the fixed prefix.
   */
  queriesAt(text: string, tokens: number, options?: CallOptions): Promise<Float32Array>;
  /** Streams an answer; `onText` gets text that never ends inside a character. A cancelled call resolves with what was written. */
  generate(
    request: GenerateRequest,
    options?: CallOptions & { readonly onText?: (text: string) => void },
  ): Promise<GenerateResult>;
  /** Mean negative log likelihood (nats) of tokens `from`.. of the text under a schedule: the benchmark of retrofit.md. */
  loss(text: string, options: LossOptions): Promise<{ readonly loss: number; readonly tokens: number }>;
  /** Float32 [texts]: negative log likelihood (nats) of the continuation after each text, which should fit the window. */
  lossAfter(texts: readonly string[], continuation: string, options?: CallOptions): Promise<Float32Array>;
}

export interface LossOptions extends CallOptions {
  /** Default: what the model was trained with; an ordinary checkpoint keeps everything. */
  readonly schedule?: Schedule | { readonly kind: 'full' };
  /** First token that counts. */
  readonly from: number;
  /** Tokens used of the text at most. */
  readonly limit: number;
  readonly readDistance?: number;
  /** Chunks in the window; default the model's. */
  readonly windowChunks?: number;
}
