/**
 * Rotary positions of both families. Never decides which positions are rotated; callers pass angles.
 * Sources: kvm.md, "The authors' backbone" (frequencies with both ends); retrofit.md, "Shapes to support" (pairs); Llama 3.1's scaled rotary.
 */
import type { Vec } from './vectors.js';

/** Which dimensions turn together: (2i, 2i+1) or (i, i + dims/2). */
export type RotaryPairs = 'adjacent' | 'half';

/** Turns each pair of the first `dims` dimensions of `x` counter-clockwise by its angle (radians); the rest is copied. */
export function rotate(x: Vec, angles: Vec, pairs: RotaryPairs): Vec {
  const y = x.slice();
  const count = angles.length;
  angles.forEach((angle, i) => {
    const [a, b] = pairs === 'adjacent' ? [2 * i, 2 * i + 1] : [i, i + count];
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    y[a] = cos * x[a]! - sin * x[b]!;
    y[b] = sin * x[a]! + cos * x[b]!;
  });
  return y;
}

/** The authors' frequencies: `theta^-linspace(0, 1, dims/2)`, both ends included (kvm.md). Radians a token. */
export function backboneFrequencies(dims: number, theta: number): Vec {
  const count = dims / 2;
  return Float64Array.from({ length: count }, (_, i) => theta ** -(count > 1 ? i / (count - 1) : 0));
}

/** Llama 3.1's stretching of slow pairs, as its config names it. */
export interface Llama3Scaling {
  readonly factor: number;
  readonly low_freq_factor: number;
  readonly high_freq_factor: number;
  readonly original_max_position_embeddings: number;
}

/**
 * Llama's frequencies `theta^(-2i/dims)`. With scaling: pairs whose wavelength is longer than `original / low_freq_factor` are
 * slowed `factor` times, those shorter than `original / high_freq_factor` stay, and between the two it is interpolated
 * linearly in `original / wavelength`.
 */
export function llamaFrequencies(dims: number, theta: number, scaling?: Llama3Scaling): Vec {
  return Float64Array.from({ length: dims / 2 }, (_, i) => {
    const frequency = theta ** ((-2 * i) / dims);
    if (!scaling) return frequency;
    const turns = (scaling.original_max_position_embeddings * frequency) / (2 * Math.PI);
    const share = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    const kept = Math.min(1, Math.max(0, share));
    return frequency * (kept + (1 - kept) / scaling.factor);
  });
}
