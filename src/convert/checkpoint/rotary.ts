/** The rotary frequencies of a config, scaling included. Pure. */
import type { BackboneRotary, DecoderConfig } from './checkpoint.js';

/**
 * Radians a token for each rotary pair; [headSize / 2]. `llama3` scaling leaves wavelengths under
 * `original / high` as they are, stretches those over `original / low` by `factor`, and blends between.
 */
export function rotaryFrequencies(config: DecoderConfig): Float64Array {
  const { headSize, ropeTheta, ropeScaling } = config;
  const frequencies = Float64Array.from({ length: headSize / 2 }, (_, i) => ropeTheta ** ((-2 * i) / headSize));
  if (!ropeScaling) return frequencies;
  if (ropeScaling.kind === 'factors') return frequencies.map((frequency, i) => frequency / ropeScaling.factors[i]!);
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength: original } = ropeScaling;
  return frequencies.map(frequency => {
    const turns = (original * frequency) / (2 * Math.PI);
    const keep = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return frequency * (keep + (1 - keep) / factor);
  });
}

/**
 * Radians a token for each of the first pairs of a head; [dimensions / 2]: `theta^-linspace(0, 1, dimensions / 2)`, both
 * ends included (kvm.md). They turn clockwise: `even' = cos*even + sin*odd`, `odd' = cos*odd - sin*even`.
 */
export function backboneFrequencies({ theta, dimensions }: BackboneRotary): Float64Array {
  const pairs = dimensions / 2;
  return Float64Array.from({ length: pairs }, (_, i) => theta ** (i === 0 ? 0 : -i / (pairs - 1)));
}
