/**
 * Which input channels of a linear layer are so much larger than the others that int8 rows would be scaled by them alone.
 * They are the same for almost all tokens (Dettmers et al., LLM.int8(), section 4), so a short prompt shows them.
 * Never looks at weights.
 */

/** One channel in so many is kept out of the int8 rows. */
const CHANNELS_PER_OUTLIER = 32;

/** Layers whose inputs have outlier channels: of the residual stream's norms, and of the MLP's hidden values. */
export type OutlierLayer = 'qkv' | 'gateUp' | 'down';

/** Hears the input x [n,channels] of a linear layer. */
export type InputListener = (layer: number, linear: OutlierLayer, x: Float64Array, tokens: number) => void;

export class OutlierChannels {
  private readonly chosen = new Map<string, readonly number[]>();

  /** The first token of a text is left out: its own few values are larger than any other's. */
  readonly see: InputListener = (layer, linear, x, tokens) => {
    const channels = x.length / tokens;
    const squares = new Float64Array(channels);
    for (let i = tokens > 1 ? channels : 0; i < x.length; i++) squares[i % channels]! += x[i]! ** 2;
    const largest = Array.from(squares.keys()).sort((a, b) => squares[b]! - squares[a]!);
    const count = Math.ceil(channels / CHANNELS_PER_OUTLIER);
    this.chosen.set(
      `${layer}.${linear}`,
      largest.slice(0, count).sort((a, b) => a - b),
    );
  };

  /** Ascending. None of a layer that was not seen. */
  of(layer: number, linear: OutlierLayer): readonly number[] {
    return this.chosen.get(`${layer}.${linear}`) ?? [];
  }
}
