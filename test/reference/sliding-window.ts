/**
 * The plain sliding-window layer of the authors' hybrids: the last `swa_window_size` tokens, the current one counted.
 * Never keeps a state. Source: kvm.md, "The authors' backbone", hybrid checkpoints.
 */
import type { BackboneConfig } from './backbone-config.js';
import type { LayerWeights, Mixer } from './projection.js';
import { QkvProjection } from './projection.js';
import { backboneFrequencies, rotate } from './rotary.js';
import type { Vec } from './vectors.js';
import { dot, joinHeads, linear, scaled, softmaxMean } from './vectors.js';

export class SlidingWindowMixer implements Mixer {
  /** Per head, oldest first: rotated keys and values [d]. */
  readonly windows: { key: Vec; value: Vec }[][];
  readonly #projection: QkvProjection;
  readonly #frequencies: Vec;
  readonly #size: number;

  constructor(
    config: BackboneConfig,
    private readonly weights: LayerWeights,
  ) {
    this.windows = Array.from({ length: config.num_attention_heads }, () => []);
    this.#projection = new QkvProjection(weights, config.num_attention_heads);
    this.#frequencies = backboneFrequencies(config.alt_rope_partial_dim, config.alt_rope_theta);
    this.#size = config.swa_window_size > 0 ? config.swa_window_size : config.chunk_len;
  }

  mix(xs: readonly Vec[], firstValues: readonly Vec[], from: number): Vec[] {
    return xs.map((x, i) => this.#next(x, firstValues[i]!, from + i));
  }

  #next(x: Vec, firstValue: Vec, position: number): Vec {
    const { queries, keys, values } = this.#projection.next(x, firstValue);
    const angles = scaled(this.#frequencies, -position);
    const attended = this.windows.map((window, h) => {
      window.push({ key: rotate(keys[h]!, angles, 'adjacent'), value: values[h]! });
      if (window.length > this.#size) window.shift();
      const query = scaled(rotate(queries[h]!, angles, 'adjacent'), 1 / Math.sqrt(queries[h]!.length));
      return softmaxMean(window.map(({ key, value }) => ({ logit: dot(query, key), value })));
    });
    return linear(this.weights('attn.c_proj.weight'), joinHeads(attended));
  }
}
