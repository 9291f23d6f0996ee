/** Sanity of a normalised config, whatever file it came from: sizes that no later allocation may trust blindly. */
import { LongviewError } from '../../base/index.js';
import type { CheckpointConfig } from './checkpoint.js';

const LIMITS = {
  layers: 1024,
  width: 65_536,
  heads: 1024,
  keyHeads: 1024,
  headSize: 1024,
  ffnWidth: 1_048_576,
  vocabulary: 4_194_304,
  contextLength: 1 << 28,
} as const;

/** Returns the config, or throws `bad-format` naming the first value that cannot be. */
export function validateConfig(file: string, config: CheckpointConfig): CheckpointConfig {
  const bad = (reason: string) => new LongviewError('bad-format', `${file}: ${reason}.`);
  for (const [name, most] of Object.entries(LIMITS) as [keyof typeof LIMITS, number][]) {
    const value = config[name];
    if (!Number.isInteger(value) || value < 1 || value > most) {
      throw bad(`${name} is ${value}; a whole number from 1 to ${most} is expected`);
    }
  }
  if (config.heads % config.keyHeads !== 0) {
    throw bad(`${config.heads} query heads cannot share ${config.keyHeads} key heads evenly`);
  }
  if (config.headSize % 2 !== 0) throw bad(`a head of ${config.headSize} dimensions cannot be rotated in pairs`);
  if (!(config.ropeTheta > 1 && config.ropeTheta < 1e12)) throw bad(`rope theta is ${config.ropeTheta}`);
  if (!(config.normEpsilon > 0 && config.normEpsilon < 0.1)) throw bad(`norm epsilon is ${config.normEpsilon}`);
  for (const id of [config.bosId, ...config.eosIds]) {
    if (id !== undefined && !(Number.isInteger(id) && id >= 0 && id < config.vocabulary)) {
      throw bad(`token id ${id} is outside the vocabulary of ${config.vocabulary}`);
    }
  }
  const scaling = config.ropeScaling;
  if (scaling?.kind === 'llama3') {
    const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = scaling;
    if (!(
      factor >= 1 &&
      lowFrequencyFactor > 0 &&
      highFrequencyFactor > lowFrequencyFactor &&
      originalContextLength > 0
    )) {
      throw bad('its rope scaling has impossible factors');
    }
  }
  return config;
}
