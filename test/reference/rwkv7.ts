/**
 * The RWKV-7 layer of the authors' linear-RNN hybrid: a matrix state per head with decay, removal along one key and a write.
 * Never windows, never folds. Source: golden/README.md (names, value residual) and the RWKV-7 recurrence the golden data was made with.
 */
import type { BackboneConfig } from './backbone-config.js';
import type { LayerWeights, Mixer } from './projection.js';
import { TokenShift } from './projection.js';
import type { Vec } from './vectors.js';
import { addInto, dot, joinHeads, layerNorm, linear, mapped, norm, scaled, sigmoid, splitHeads } from './vectors.js';

type Stream = 'r' | 'w' | 'k' | 'v' | 'a' | 'g';

export class Rwkv7Mixer implements Mixer {
  /** Per head: rows of the state, `states[h][key] = [value]`. */
  readonly states: Vec[][];
  readonly #shifts: Record<Stream, TokenShift>;
  readonly #firstValueShift: TokenShift;
  readonly #heads: number;

  constructor(
    config: BackboneConfig,
    private readonly weights: LayerWeights,
  ) {
    this.#heads = config.num_attention_heads;
    const size = config.hidden_size / this.#heads;
    this.states = Array.from({ length: this.#heads }, () => Array.from({ length: size }, () => new Float64Array(size)));
    const shift = (name: Stream) => new TokenShift(weights(`attn.x_${name}`), 'zero');
    this.#shifts = { r: shift('r'), w: shift('w'), k: shift('k'), v: shift('v'), a: shift('a'), g: shift('g') };
    this.#firstValueShift = shift('v');
  }

  /** v0 of the next token: the plain value projection of the shifted `ln_attn(x0)` [hidden]. For layer 0 only. */
  firstValue(x: Vec): Vec {
    return linear(this.weights('attn.value.weight'), this.#firstValueShift.next(x));
  }

  mix(xs: readonly Vec[], firstValues: readonly Vec[]): Vec[] {
    return xs.map((x, i) => this.#next(x, firstValues[i]!));
  }

  #linear(name: string, x: Vec): Vec {
    return linear(this.weights(`attn.${name}.weight`), x);
  }

  /** `bias + up(f(down(x)))`: the low-rank maps named `name`1, `name`2 with bias `name`0. */
  #lowRank(name: 'w' | 'a' | 'v', x: Vec, f: (value: number) => number = value => value): Vec {
    const raised = this.#linear(`${name}2`, mapped(this.#linear(`${name}1`, x), f));
    return mapped(this.weights(`attn.${name}0`), (bias, i) => bias + raised[i]!);
  }

  #next(x: Vec, firstValue: Vec): Vec {
    const shifted = (name: Stream) => this.#shifts[name].next(x);
    const heads = (y: Vec) => splitHeads(y, this.#heads);
    const [xr, xw, xk, xv, xa, xg] = [
      shifted('r'),
      shifted('w'),
      shifted('k'),
      shifted('v'),
      shifted('a'),
      shifted('g'),
    ];
    const receptance = heads(this.#linear('receptance', xr));
    const plainKey = this.#linear('key', xk);
    const plainValue = this.#linear('value', xv);

    const decay = heads(mapped(this.#lowRank('w', xw, Math.tanh), w => Math.exp(-Math.exp(-0.5) * sigmoid(w))));
    const residual = mapped(this.#lowRank('v', xv), sigmoid);
    const values = heads(mapped(plainValue, (v, i) => v + (firstValue[i]! - v) * residual[i]!));
    const rate = mapped(this.#lowRank('a', xa), sigmoid);
    const output = this.#linear('g2', mapped(this.#linear('g1', xg), sigmoid));

    const [kk, ka] = [this.weights('attn.k_k'), this.weights('attn.k_a')];
    const removal = heads(mapped(plainKey, (k, i) => k * kk[i]!)).map(k => scaled(k, 1 / Math.max(norm(k), 1e-12)));
    const keys = heads(mapped(plainKey, (k, i) => k * (1 + (rate[i]! - 1) * ka[i]!)));
    const rates = heads(rate);

    const read = this.states.map((state, h) => {
      updateState(state, decay[h]!, removal[h]!, rates[h]!, keys[h]!, values[h]!);
      const y = new Float64Array(state.length);
      state.forEach((row, i) => addInto(y, row, receptance[h]![i]));
      return this.#normed(h, y, receptance[h]!, keys[h]!, values[h]!);
    });
    return this.#linear(
      'output',
      mapped(joinHeads(read), (y, i) => y * output[i]!),
    );
  }

  /** GroupNorm of one head (eps 64e-5), plus the bonus `<r * k, r_k> v` of the current token. */
  #normed(head: number, y: Vec, r: Vec, k: Vec, v: Vec): Vec {
    const size = y.length;
    const part = (name: string) => this.weights(`attn.${name}`).subarray(head * size, (head + 1) * size);
    const normed = layerNorm(y, part('ln_x.weight'), part('ln_x.bias'), 64e-5);
    const bonus = dot(
      part('r_k'),
      mapped(r, (value, i) => value * k[i]!),
    );
    addInto(normed, v, bonus);
    return normed;
  }
}

/** `S = diag(decay) S - (kk * a) (kkᵀ S) + k vᵀ`, in place, S [key, value]. */
function updateState(state: Vec[], decay: Vec, kk: Vec, a: Vec, k: Vec, v: Vec): void {
  const removed = new Float64Array(v.length);
  state.forEach((row, i) => addInto(removed, row, kk[i]));
  state.forEach((row, i) => {
    for (let j = 0; j < row.length; j++) row[j] = decay[i]! * row[j]! - kk[i]! * a[i]! * removed[j]! + k[i]! * v[j]!;
  });
}
