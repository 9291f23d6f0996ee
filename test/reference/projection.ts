/**
 * From the normed residual stream to q, k, v per head, as the authors' KVM and sliding-window layers share it.
 * Never rotates. Source: kvm.md, "The authors' backbone": value residual first, then token shift, then LayerNorm on q and k heads.
 */
import type { Vec } from './vectors.js';
import { layerNorm, linear, mapped, sigmoid, splitHeads } from './vectors.js';

/** Weights of one layer by the name behind `transformer.h.L.`; throws where there is none. */
export type LayerWeights = (name: string) => Float32Array;

/** What replaces the attention of a block. Pieces come in order and never cross a chunk boundary. */
export interface Mixer {
  /**
   * @param xs outputs of `ln_attn` [hidden], one a token of the piece
   * @param firstValues v0 of the same tokens [hidden], the value residual
   * @param from position of the first token
   * @returns the layer's outputs [hidden], before `residual_scale`
   */
  mix(xs: readonly Vec[], firstValues: readonly Vec[], from: number): Vec[];
}

/** `y_t += a * (y_{t-1} - y_t)`, remembering the last y. The first token shifts against itself or against zero. */
export class TokenShift {
  #last: Vec | undefined;

  constructor(
    private readonly amount: Float32Array,
    private readonly first: 'itself' | 'zero',
  ) {}

  next(y: Vec): Vec {
    const before = this.#last ?? (this.first === 'itself' ? y : new Float64Array(y.length));
    this.#last = y;
    return mapped(y, (value, i) => value + this.amount[i]! * (before[i]! - value));
  }
}

/** q, k, v of one token, one vector a head. */
export interface HeadVectors {
  readonly queries: Vec[];
  readonly keys: Vec[];
  readonly values: Vec[];
}

export class QkvProjection {
  readonly #shifts: Record<'q' | 'k' | 'v', TokenShift>;

  constructor(
    private readonly weights: LayerWeights,
    private readonly heads: number,
  ) {
    const shift = (name: string) => new TokenShift(weights(`attn.x_${name}`), 'itself');
    this.#shifts = { q: shift('q'), k: shift('k'), v: shift('v') };
  }

  /** `x` and `firstValue` [hidden] of the next token. */
  next(x: Vec, firstValue: Vec): HeadVectors {
    const w = this.weights;
    const lowRank = linear(w('attn.v_gate2.weight'), linear(w('attn.v_gate1.weight'), x));
    const gate = mapped(w('attn.v_gate0'), (bias, i) => sigmoid(bias + lowRank[i]!));
    const plain = linear(w('attn.c_v.weight'), x);
    const residual = mapped(plain, (value, i) => value + (firstValue[i]! - value) * gate[i]!);
    const q = this.#shifts.q.next(linear(w('attn.c_q.weight'), x));
    const k = this.#shifts.k.next(linear(w('attn.c_k.weight'), x));
    const v = this.#shifts.v.next(residual);
    const normed = (y: Vec, name: string) =>
      splitHeads(y, this.heads).map(head => layerNorm(head, w(`attn.${name}.weight`), w(`attn.${name}.bias`)));
    return { queries: normed(q, 'ln_q'), keys: normed(k, 'ln_k'), values: splitHeads(v, this.heads) };
  }
}
