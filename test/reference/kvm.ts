/**
 * Key-Value Means, the attention layer of the authors' models, written to be read beside kvm.md ("Attend", "Update").
 * Float64, one head at a time, nothing clever. Never fast, never used by the product: the engine is compared with it.
 * Read next: decisions.ts (the two choices of a fold), chunks.ts (window and budget), retrofit.ts (the same for ordinary checkpoints).
 */
import type { BackboneConfig } from './backbone-config.js';
import { backboneSchedule } from './backbone-config.js';
import type { Schedule } from './chunks.js';
import { appendCount, windowStart } from './chunks.js';
import { chooseAppends, chooseWinner, ClosestCalls } from './decisions.js';
import type { LayerWeights, Mixer } from './projection.js';
import { QkvProjection } from './projection.js';
import { backboneFrequencies, rotate } from './rotary.js';
import type { AttentionEntry, Vec } from './vectors.js';
import { addInto, dot, joinHeads, layerNorm, linear, mapped, norm, scaled, softmaxMean } from './vectors.js';

/** One slot of one head: raw sums and the radius its value is read with. */
export interface KvmSlot {
  /** S_k [d], the sum of the merged keys `k' * g`. */
  readonly key: Vec;
  /** S_v [d]. */
  readonly value: Vec;
  /** rho, the creating value's length; never changes. */
  readonly radius: number;
}

/** One token of one head's window. */
export interface KvmWindowToken {
  /** k [d], after `ln_k` and rotation, no temperature. */
  readonly key: Vec;
  /** v [d]. */
  readonly value: Vec;
  /** g, the merge gate; 1 where gates are off. */
  readonly gate: number;
}

/** State and window of one head. */
export interface KvmHead {
  slots: KvmSlot[];
  window: KvmWindowToken[];
  /** What a query meets of the slots: `LN_s(S_k)` and `S_v / |S_v| * rho`, formed again after each fold. */
  read: { readonly key: Vec; readonly value: Vec }[];
}

/** A token on its way into the state. */
interface LeavingToken {
  /** `k' = LN_s(zero_rope(k))`. */
  readonly key: Vec;
  readonly value: Vec;
  readonly gatedKey: Vec;
  readonly gatedValue: Vec;
}

export class KvmMixer implements Mixer {
  readonly heads: KvmHead[];
  readonly calls = new ClosestCalls();
  /** Position of the first token in the window. */
  start = 0;
  readonly #projection: QkvProjection;
  readonly #frequencies: Vec;
  readonly #schedule: Schedule;

  constructor(
    private readonly config: BackboneConfig,
    private readonly weights: LayerWeights,
  ) {
    this.heads = Array.from({ length: config.num_attention_heads }, () => ({ slots: [], window: [], read: [] }));
    this.#projection = new QkvProjection(weights, config.num_attention_heads);
    this.#frequencies = backboneFrequencies(config.rope_partial_dim, config.rope_theta);
    this.#schedule = backboneSchedule(config);
  }

  mix(xs: readonly Vec[], firstValues: readonly Vec[], from: number): Vec[] {
    this.#foldWhatLeaves(from, from + xs.length);
    const queries = xs.map((x, i) => this.#project(x, firstValues[i]!, from + i));
    const before = from - this.start;
    return queries.map((heads, i) => {
      const attended = heads.map((query, h) => this.#attend(h, query, before + i + 1));
      return linear(this.weights('attn.c_proj.weight'), joinHeads(attended));
    });
  }

  /** Puts the token into the windows and returns its rotated queries, one a head. */
  #project(x: Vec, firstValue: Vec, position: number): Vec[] {
    const { queries, keys, values } = this.#projection.next(x, firstValue);
    // The authors turn clockwise: even' = cos*even + sin*odd (kvm.md).
    const angles = scaled(this.#frequencies, -position);
    const gates = this.#mergeGates(x);
    this.heads.forEach(({ window }, h) =>
      window.push({ key: rotate(keys[h]!, angles, 'adjacent'), value: values[h]!, gate: gates[h]! }),
    );
    return queries.map(query => rotate(query, angles, 'adjacent'));
  }

  /** `g = 1 + ELU(W_g x)`, one a head; 1 where both gates are switched off (then there is no W_g). */
  #mergeGates(x: Vec): Vec {
    const { kvm_use_merge_gate_keys, kvm_use_merge_gate_values } = this.config;
    if (!kvm_use_merge_gate_keys && !kvm_use_merge_gate_values) return new Float64Array(this.heads.length).fill(1);
    return mapped(linear(this.weights('attn.key_weighting.weight'), x), z => (z > 0 ? 1 + z : Math.exp(z)));
  }

  /** LN_s, learned, one a layer, over the whole key. */
  #stateNorm(key: Vec): Vec {
    return layerNorm(key, this.weights('attn.ln_s_k.weight'), this.weights('attn.ln_s_k.bias'));
  }

  #temperature(name: 'front_head_temp' | 'state_head_temp', head: number): number {
    return this.config.kvm_use_head_temps ? this.weights(`attn.${name}`)[head]! : 1;
  }

  /** kvm.md, "Attend": one softmax over the state and the first `visible` tokens of the window. */
  #attend(head: number, query: Vec, visible: number): Vec {
    const { read, window } = this.heads[head]!;
    const scale = 1 / Math.sqrt(query.length);
    const tauState = this.#temperature('state_head_temp', head) * scale;
    const tauWindow = this.#temperature('front_head_temp', head) * scale;
    const entries: AttentionEntry[] = [
      ...read.map(({ key, value }) => ({ logit: dot(query, key) * tauState, value })),
      ...window.slice(0, visible).map(({ key, value }) => ({ logit: dot(query, key) * tauWindow, value })),
    ];
    return softmaxMean(entries);
  }

  /**
   * Lazy folding: a chunk leaves when the first token after a chunk boundary comes, before that token attends.
   * `from` is then that boundary, the T of the schedule.
   */
  #foldWhatLeaves(from: number, tokens: number): void {
    const { chunk_len: chunk, n_bswa_chunks, n_max_d_chunks } = this.config;
    const start = windowStart(tokens, chunk, n_bswa_chunks);
    if (start === this.start) return;
    for (const head of this.heads) {
      const leaving = head.window.slice(0, chunk).map(token => this.#leave(token));
      head.window = head.window.slice(chunk);
      if (head.slots.length === 0) this.#createSlots(head, leaving, this.config.kvm_apply_merge_gate_to_initial_state);
      else {
        const slots = head.slots.length;
        const question = { tokens: from, left: start, slots, chunk, maxSlots: n_max_d_chunks * chunk };
        this.#fold(head, leaving, appendCount(this.#schedule, question));
      }
      head.read = head.slots.map(({ key, value, radius }) => ({
        key: this.#stateNorm(key),
        value: scaled(value, radius / Math.max(norm(value), 1e-12)),
      }));
    }
    this.start = start;
  }

  #leave({ key, value, gate }: KvmWindowToken): LeavingToken {
    const withoutPosition = mapped(key, (x, i) => (i < this.config.rope_partial_dim ? 0 : x));
    const stateKey = this.#stateNorm(withoutPosition);
    return {
      key: stateKey,
      value,
      gatedKey: scaled(stateKey, this.config.kvm_use_merge_gate_keys ? gate : 1),
      gatedValue: scaled(value, this.config.kvm_use_merge_gate_values ? gate : 1),
    };
  }

  /** New slots at the end of the state. The first chunk keeps `rho = |v|`; a gated append has `rho = |v*g|`. */
  #createSlots(head: KvmHead, tokens: readonly LeavingToken[], gated: number): void {
    const first = head.slots.length === 0;
    const created = tokens.map(({ key, value, gatedKey, gatedValue }) => ({
      key: (gated ? gatedKey : key).slice(),
      value: (gated ? gatedValue : value).slice(),
      radius: norm(gated && !first ? gatedValue : value),
    }));
    head.slots.push(...created);
  }

  /** kvm.md, "Update", 2: the most novel tokens are appended, the others merge, all at once. */
  #fold(head: KvmHead, leaving: readonly LeavingToken[], count: number): void {
    const normedSlots = () => head.slots.map(({ key }) => this.#stateNorm(key));
    const keys = leaving.map(({ key }) => key);
    const appended = chooseAppends(keys, normedSlots(), count, this.calls);
    const taken = appended.map(i => leaving[i]!);
    this.#createSlots(head, taken, this.config.kvm_apply_merge_gate_to_appends);
    const slotKeys = normedSlots();
    for (const token of leaving) {
      if (taken.includes(token)) continue;
      const slot = head.slots[chooseWinner(token.gatedKey, slotKeys, this.config.sink_len, this.calls)]!;
      addInto(slot.key, token.gatedKey);
      addInto(slot.value, token.gatedValue);
    }
  }
}
