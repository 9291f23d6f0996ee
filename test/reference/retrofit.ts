/**
 * An ordinary decoder checkpoint (Llama, Qwen2, Qwen3 shape) read through KVM with no weight changed. Float64 throughout.
 * Never samples, never fast: the ONNX engine is compared with it. Source: retrofit.md; kvm.md for window and fold.
 * Read next: retrofit-head.ts (state), tiny-model.ts (a model small enough to compare everything).
 */
import { pieces } from './chunks.js';
import type { LlamaConfig, LlamaShape } from './llama-config.js';
import { llamaShape } from './llama-config.js';
import type { RetrofitRules, RetrofitSlot } from './retrofit-head.js';
import { RetrofitHead } from './retrofit-head.js';
import type { RotaryPairs } from './rotary.js';
import { llamaFrequencies, rotate } from './rotary.js';
import type { AttentionEntry, Vec } from './vectors.js';
import {
  addInto,
  dot,
  joinHeads,
  linear,
  mapped,
  rmsNorm,
  scaled,
  sigmoid,
  softmaxMean,
  splitHeads,
} from './vectors.js';

/** What one layer computed for one token, before rotation. */
export interface LayerHeads {
  /** Queries [queryHeads][d] and keys, values [keyHeads][d]; q and k after their norms where the model has them. */
  readonly queries: readonly Vec[];
  readonly keys: readonly Vec[];
  readonly values: readonly Vec[];
}

export interface RetrofitOptions extends RetrofitRules {
  readonly config: LlamaConfig;
  /** By Hugging Face names, linear weights [out,in]. */
  readonly weights: ReadonlyMap<string, Float32Array>;
  /** D0, the one distance at which a query reads slots, in tokens. */
  readonly readDistance: number;
  /** `half` as safetensors checkpoints have it (the default), `adjacent` as GGUF's Llama family. */
  readonly rotaryPairs?: RotaryPairs;
  /** Added to the logits of slots behind the sinks, per layer and query head; 0 if left out. */
  readonly stateBias?: readonly (readonly number[])[];
  /** Factor on `q·k / sqrt(d)` of slots behind the sinks, per layer and query head; 1 if left out. */
  readonly stateTemperature?: readonly (readonly number[])[];
  /** A state to begin with, [layer][key head][slot], its first `sinks` slots the shared sinks. */
  readonly initialState?: readonly (readonly (readonly RetrofitSlot[])[])[];
  /** Factor on the values of slots behind the sinks, per layer and key head; 1 if left out. */
  readonly stateValueScale?: readonly (readonly number[])[];
  /** From how far slots behind the sinks are read in place of `readDistance`, per layer and key head. */
  readonly stateReadDistance?: readonly (readonly number[])[];
  /** Of each layer a schedule of its own in place of `schedule`. */
  readonly scheduleOf?: (layer: number) => RetrofitRules['schedule'];
  /** Sees what each layer computed for each token. */
  readonly onHeads?: (layer: number, position: number, heads: LayerHeads) => void;
}

export class RetrofitOracle {
  /** Tokens seen. */
  tokens = 0;
  readonly shape: LlamaShape;
  /** State and window, [layer][key head]. */
  readonly heads: readonly (readonly RetrofitHead[])[];
  readonly #frequencies: Vec;

  constructor(private readonly options: RetrofitOptions) {
    const shape = llamaShape(options.config);
    this.shape = shape;
    this.#frequencies = llamaFrequencies(shape.headSize, shape.theta, shape.scaling);
    this.heads = Array.from({ length: shape.layers }, (_, layer) =>
      Array.from({ length: shape.keyHeads }, (__, h) => {
        const schedule = options.scheduleOf?.(layer) ?? options.schedule;
        return new RetrofitHead({ ...options, schedule }, options.initialState?.[layer]?.[h]);
      }),
    );
  }

  /** Reads the next tokens and returns the logits [vocabulary] after each. How a text is cut into calls makes no difference. */
  feed(tokens: ArrayLike<number>): Vec[] {
    const from = this.tokens;
    return pieces(from, tokens.length, this.options.chunk).flatMap(([begin, end]) =>
      this.#feedPiece(Array.from({ length: end - begin }, (_, i) => tokens[begin - from + i]!)),
    );
  }

  /** The closest fold decisions of all heads, in cosines. */
  closestCalls(): { append: number; merge: number } {
    const calls = this.heads.flat().map(head => head.calls);
    return {
      append: Math.min(...calls.map(({ append }) => append)),
      merge: Math.min(...calls.map(({ merge }) => merge)),
    };
  }

  #feedPiece(tokens: readonly number[]): Vec[] {
    const { width, layers, tied } = this.shape;
    const embedding = this.#weight('model.embed_tokens.weight');
    const xs = tokens.map(token => Float64Array.from(embedding.subarray(token * width, (token + 1) * width)));
    for (let layer = 0; layer < layers; layer++) {
      const prefix = `model.layers.${layer}.`;
      const attended = this.#attention(
        layer,
        xs.map(x => this.#norm(`${prefix}input_layernorm`, x)),
      );
      attended.forEach((y, i) => addInto(xs[i]!, y));
      for (const x of xs)
        addInto(x, this.#feedForward(`${prefix}mlp.`, this.#norm(`${prefix}post_attention_layernorm`, x)));
    }
    this.tokens += tokens.length;
    const head = tied ? embedding : this.#weight('lm_head.weight');
    return xs.map(x => linear(head, this.#norm('model.norm', x)));
  }

  /** The piece leaves no chunk boundary inside, so one fold at most is due, and before any of its tokens attends (kvm.md, "Order matters"). */
  #attention(layer: number, xs: readonly Vec[]): Vec[] {
    const from = this.tokens;
    const heads = this.heads[layer]!;
    for (const head of heads) head.advance(from, from + xs.length);
    const queries = xs.map((x, i) => this.#project(layer, x, from + i));
    const visible = from - heads[0]!.start;
    const group = this.shape.queryHeads / this.shape.keyHeads;
    return queries.map((row, i) => {
      const attended = row.map((query, h) =>
        this.#attend(layer, h, heads[Math.floor(h / group)]!, query, from + i, visible + i + 1),
      );
      return this.#linear(`model.layers.${layer}.self_attn.o_proj`, joinHeads(attended));
    });
  }

  /** Puts the token into the windows and returns its un-rotated queries. */
  #project(layer: number, x: Vec, position: number): Vec[] {
    const prefix = `model.layers.${layer}.self_attn.`;
    const split = (name: string, heads: number) => splitHeads(this.#linear(`${prefix}${name}_proj`, x), heads);
    const normed = (name: string) => (head: Vec) =>
      this.options.weights.has(`${prefix}${name}.weight`) ? this.#norm(`${prefix}${name}`, head) : head;
    const queries = split('q', this.shape.queryHeads).map(normed('q_norm'));
    const keys = split('k', this.shape.keyHeads).map(normed('k_norm'));
    const values = split('v', this.shape.keyHeads);
    this.heads[layer]!.forEach(({ window }, h) => {
      const key = keys[h]!;
      window.push({ key, rotatedKey: this.#rotated(key, position), value: values[h]! });
    });
    this.options.onHeads?.(layer, position, { queries, keys, values });
    return queries;
  }

  /** One softmax over slots and window: `rot(q,D0)·key/sqrt(d) + log(count)`, and `rot(q,p)·rot(k,p')/sqrt(d)` (retrofit.md). */
  #attend(layer: number, queryHead: number, head: RetrofitHead, query: Vec, position: number, visible: number): Vec {
    const scale = 1 / Math.sqrt(query.length);
    const { stateBias, stateTemperature, stateValueScale, stateReadDistance, readDistance, sinks } = this.options;
    const keyHead = Math.floor((queryHead * this.shape.keyHeads) / this.shape.queryHeads);
    const bias = stateBias?.[layer]?.[queryHead] ?? 0;
    const temperature = stateTemperature?.[layer]?.[queryHead] ?? 1;
    const valueScale = stateValueScale?.[layer]?.[keyHead] ?? 1;
    const far = this.#rotated(query, readDistance);
    const ownFar = this.#rotated(query, stateReadDistance?.[layer]?.[keyHead] ?? readDistance);
    const near = this.#rotated(query, position);
    const entries: AttentionEntry[] = [
      ...head.read.map(({ key, value, count }, slot) => {
        if (slot < sinks) return { logit: dot(far, key) * scale + Math.log(count), value };
        const logit = dot(ownFar, key) * scale * temperature + Math.log(count) + bias;
        return { logit, value: scaled(value, valueScale) };
      }),
      ...head.window
        .slice(0, visible)
        .map(({ rotatedKey, value }) => ({ logit: dot(near, rotatedKey) * scale, value })),
    ];
    return softmaxMean(entries);
  }

  #rotated(x: Vec, position: number): Vec {
    return rotate(x, scaled(this.#frequencies, position), this.options.rotaryPairs ?? 'half');
  }

  /** SwiGLU: `down(silu(gate(x)) * up(x))`. */
  #feedForward(prefix: string, x: Vec): Vec {
    const up = this.#linear(`${prefix}up_proj`, x);
    const gated = mapped(this.#linear(`${prefix}gate_proj`, x), (g, i) => g * sigmoid(g) * up[i]!);
    return this.#linear(`${prefix}down_proj`, gated);
  }

  #linear(name: string, x: Vec): Vec {
    return linear(this.#weight(`${name}.weight`), x, this.options.weights.get(`${name}.bias`));
  }

  #norm(name: string, x: Vec): Vec {
    return rmsNorm(x, this.#weight(`${name}.weight`), this.shape.epsilon);
  }

  #weight(name: string): Float32Array {
    const weight = this.options.weights.get(name);
    if (!weight) throw new Error(`retrofit oracle: the weights have no tensor ${name}`);
    return weight;
  }
}
