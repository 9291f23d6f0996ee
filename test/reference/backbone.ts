/**
 * The authors' backbone around its token mixers: embedding, blocks, head. Exact with their golden data to float32 noise.
 * Never samples. Source: kvm.md, "The authors' backbone". Read next: kvm.ts.
 */
import type { BackboneConfig } from './backbone-config.js';
import { checkBackboneConfig, isAlternate, isHybrid } from './backbone-config.js';
import { pieces } from './chunks.js';
import { KvmMixer } from './kvm.js';
import type { LayerWeights } from './projection.js';
import { TokenShift } from './projection.js';
import { Rwkv7Mixer } from './rwkv7.js';
import { SlidingWindowMixer } from './sliding-window.js';
import type { Vec } from './vectors.js';
import { addInto, layerNorm, linear, mapped } from './vectors.js';

export type BackboneMixer = KvmMixer | SlidingWindowMixer | Rwkv7Mixer;

export class BackboneOracle {
  /** Tokens seen. */
  tokens = 0;
  readonly mixers: readonly BackboneMixer[];
  readonly #layers: readonly LayerWeights[];
  readonly #feedForwardShifts: readonly TokenShift[];

  /**
   * @param weights by the published names, `transformer.wte.weight` and so on
   * @param onResidual sees the residual stream [hidden] of each token: index 0 after `ln_emb`, i after block i - 1
   */
  constructor(
    private readonly config: BackboneConfig,
    private readonly weights: ReadonlyMap<string, Float32Array>,
    private readonly onResidual?: (position: number, index: number, x: Vec) => void,
  ) {
    checkBackboneConfig(config);
    const layers = Array.from({ length: config.num_hidden_layers }, (_, layer) => layer);
    this.#layers = layers.map(layer => layerWeights(weights, `transformer.h.${layer}.`));
    this.#feedForwardShifts = this.#layers.map(w => new TokenShift(w('mlp.x_k'), 'zero'));
    this.mixers = layers.map(layer => {
      const w = this.#layers[layer]!;
      if (!isAlternate(config, layer)) return new KvmMixer(config, w);
      return config.alt_token_mixer === 'rwkv7' ? new Rwkv7Mixer(config, w) : new SlidingWindowMixer(config, w);
    });
  }

  /** Reads the next tokens and returns the logits [vocabulary] after each. How a text is cut into calls makes no difference. */
  feed(tokens: ArrayLike<number>): Vec[] {
    const from = this.tokens;
    return pieces(from, tokens.length, this.config.chunk_len).flatMap(([begin, end]) =>
      this.#feedPiece(Array.from({ length: end - begin }, (_, i) => tokens[begin - from + i]!)),
    );
  }

  #feedPiece(tokens: readonly number[]): Vec[] {
    const from = this.tokens;
    const res = this.config.residual_scale ?? 1;
    const embedded = tokens.map(token => this.#embed(token));
    const first = this.#firstValues(embedded);
    const xs = embedded.map(x => x.slice());
    const report = (index: number) => {
      if (this.onResidual) for (const [i, x] of xs.entries()) this.onResidual(from + i, index, x.slice());
    };
    report(0);
    this.mixers.forEach((mixer, layer) => {
      const values = isAlternate(this.config, layer) ? first.alternate : first.main;
      const normed = xs.map(x => this.#norm(layer, 'ln_attn', x));
      mixer.mix(normed, values, from).forEach((y, i) => addInto(xs[i]!, y, res));
      for (const x of xs) addInto(x, this.#feedForward(layer, this.#norm(layer, 'ln_mlp', x)), res);
      report(layer + 1);
    });
    this.tokens += tokens.length;
    return xs.map(x => linear(this.#weight('lm_head.weight'), this.#outerNorm('ln_head', x)));
  }

  #weight(name: string): Float32Array {
    const weight = this.weights.get(name);
    if (!weight) throw new Error(`backbone oracle: the weights have no tensor ${name}`);
    return weight;
  }

  #norm(layer: number, name: string, x: Vec): Vec {
    return layerNorm(x, this.#layers[layer]!(`${name}.weight`), this.#layers[layer]!(`${name}.bias`));
  }

  #outerNorm(name: string, x: Vec): Vec {
    return layerNorm(x, this.#weight(`transformer.${name}.weight`), this.#weight(`transformer.${name}.bias`));
  }

  #embed(token: number): Vec {
    const width = this.config.hidden_size;
    const row = this.#weight('transformer.wte.weight').subarray(token * width, (token + 1) * width);
    return this.#outerNorm('ln_emb', Float64Array.from(row));
  }

  /** v0 for KVM layers and for alternate layers: a plain value projection of `ln_attn_0(x0)`; in hybrids KVM layers take layer 1's. */
  #firstValues(embedded: readonly Vec[]): { main: Vec[]; alternate: Vec[] } {
    const plain = (layer: number) => (x: Vec) =>
      linear(this.#layers[layer]!('attn.c_v.weight'), this.#norm(layer, 'ln_attn', x));
    const zero = this.mixers[0];
    const alternate = embedded.map(x =>
      zero instanceof Rwkv7Mixer ? zero.firstValue(this.#norm(0, 'ln_attn', x)) : plain(0)(x),
    );
    const separate = isHybrid(this.config) && !this.config.alt_share_v0;
    return { main: separate ? embedded.map(plain(1)) : alternate, alternate };
  }

  /** Token shift against the previous token (zero before the first), linear to 4x, ReLU squared, linear. */
  #feedForward(layer: number, x: Vec): Vec {
    const w = this.#layers[layer]!;
    const shifted = this.#feedForwardShifts[layer]!.next(x);
    const hidden = mapped(linear(w('mlp.c_fc.weight'), shifted), h => (h > 0 ? h * h : 0));
    return linear(w('mlp.c_proj.weight'), hidden);
  }
}

/** The weights whose names begin with `prefix`, by the rest of the name. */
function layerWeights(weights: ReadonlyMap<string, Float32Array>, prefix: string): LayerWeights {
  const own = [...weights].filter(([name]) => name.startsWith(prefix));
  const byRest = new Map(own.map(([name, values]) => [name.slice(prefix.length), values]));
  return name => {
    const found = byRest.get(name);
    if (!found) throw new Error(`backbone oracle: the weights have no tensor ${prefix}${name}`);
    return found;
  };
}
