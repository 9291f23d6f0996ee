/** From logits to the next token: greedy, temperature, top-p, repetition penalty. Pure but for its random generator. */

export interface SamplingOptions {
  /** 0 is greedy. */
  readonly temperature: number;
  /** Smallest set of most likely tokens whose probabilities reach this; 1 is all. */
  readonly topP: number;
  /** Divides positive and multiplies negative logits of tokens already written; 1 is off. */
  readonly repetitionPenalty: number;
  readonly seed: number;
}

/** Picks token after token; equal seeds give equal texts. */
export class Sampler {
  private readonly written = new Set<number>();
  private randomState: number;

  constructor(private readonly options: SamplingOptions) {
    this.randomState = options.seed >>> 0;
  }

  /** Marks a token as already written. */
  seen(token: number): void {
    this.written.add(token);
  }

  /** logits float32 [V]; changed in place. Equal logits: the lowest id wins. */
  next(logits: Float32Array): number {
    const { temperature, repetitionPenalty } = this.options;
    if (repetitionPenalty !== 1) {
      for (const token of this.written) {
        const logit = logits[token]!;
        logits[token] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
      }
    }
    const token = temperature > 0 ? this.draw(logits) : largest(logits);
    this.written.add(token);
    return token;
  }

  private draw(logits: Float32Array): number {
    const { temperature, topP } = this.options;
    const top = logits[largest(logits)]!;
    // Tokens under e^-20 of the best can't matter; leaving them out keeps the sort small.
    const candidates: { token: number; weight: number }[] = [];
    for (let token = 0; token < logits.length; token++) {
      const exponent = (logits[token]! - top) / temperature;
      if (exponent > -20) candidates.push({ token, weight: Math.exp(exponent) });
    }
    candidates.sort((a, b) => b.weight - a.weight || a.token - b.token);
    const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
    let nucleus = 0;
    let kept = 0;
    while (kept < candidates.length && (kept === 0 || nucleus < topP * total)) nucleus += candidates[kept++]!.weight;
    let rest = this.random() * nucleus;
    for (let i = 0; i < kept; i++) {
      rest -= candidates[i]!.weight;
      if (rest < 0) return candidates[i]!.token;
    }
    return candidates[kept - 1]!.token;
  }

  /** Uniform in [0,1): a 32-bit mixing generator (mulberry32). */
  private random(): number {
    this.randomState = (this.randomState + 0x6d2b79f5) >>> 0;
    let mixed = this.randomState;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }
}

function largest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) if (logits[token]! > logits[best]!) best = token;
  return best;
}
