/** Sanity of a normalised config, whatever file it came from: sizes that no later allocation may trust blindly. */
import { LongviewError } from '../../base/index.js';
import type { BackboneConfig, DecoderConfig } from './checkpoint.js';

const LIMITS = {
  layers: 1024,
  width: 65_536,
  heads: 1024,
  keyHeads: 1024,
  headSize: 1024,
  ffnWidth: 1_048_576,
  vocabulary: 4_194_304,
  /** The authors' configs say 2^30. */
  contextLength: 2 ** 31,
  valueGateRank: 65_536,
  slidingWindow: 65_536,
  chunk: 8192,
  windowChunks: 64,
  maxSlots: 2 ** 31,
  slots: 2 ** 31,
  roundDownTo: 1 << 20,
  atLeast: 2 ** 31,
  decay: 65_536,
  rate: 65_536,
  value: 65_536,
  gate: 65_536,
} as const;

const refusing = (file: string) => (reason: string) => new LongviewError('bad-format', `${file}: ${reason}.`);

function checkSizes(file: string, sizes: Partial<Record<keyof typeof LIMITS, number>>): void {
  for (const [name, value] of Object.entries(sizes) as [keyof typeof LIMITS, number][]) {
    if (!Number.isInteger(value) || value < 1 || value > LIMITS[name]) {
      throw refusing(file)(`${name} is ${value}; a whole number from 1 to ${LIMITS[name]} is expected`);
    }
  }
}

function checkTheta(file: string, theta: number): void {
  if (!(theta > 1 && theta < 1e12)) throw refusing(file)(`rope theta is ${theta}`);
}

function checkIds(file: string, config: Pick<DecoderConfig, 'bosId' | 'eosIds' | 'vocabulary'>): void {
  for (const id of [config.bosId, ...config.eosIds]) {
    if (id !== undefined && !(Number.isInteger(id) && id >= 0 && id < config.vocabulary)) {
      throw refusing(file)(`token id ${id} is outside the vocabulary of ${config.vocabulary}`);
    }
  }
}

/** Returns the config, or throws `bad-format` naming the first value that cannot be. */
export function validateConfig(file: string, config: DecoderConfig): DecoderConfig {
  const bad = refusing(file);
  const { layers, width, heads, keyHeads, headSize, ffnWidth, vocabulary, contextLength } = config;
  checkSizes(file, { layers, width, heads, keyHeads, headSize, ffnWidth, vocabulary, contextLength });
  if (config.heads % config.keyHeads !== 0) {
    throw bad(`${config.heads} query heads cannot share ${config.keyHeads} key heads evenly`);
  }
  if (config.headSize % 2 !== 0) throw bad(`a head of ${config.headSize} dimensions cannot be rotated in pairs`);
  checkTheta(file, config.ropeTheta);
  if (!(config.normEpsilon > 0 && config.normEpsilon < 0.1)) throw bad(`norm epsilon is ${config.normEpsilon}`);
  checkIds(file, config);
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

/** As `validateConfig`, for the authors' backbone. */
export function validateBackbone(file: string, config: BackboneConfig): BackboneConfig {
  const bad = refusing(file);
  const { layers, width, heads, headSize, ffnWidth, vocabulary, contextLength, valueGateRank, slidingWindow } = config;
  checkSizes(file, {
    layers,
    width,
    heads,
    headSize,
    ffnWidth,
    vocabulary,
    contextLength,
    valueGateRank,
    slidingWindow,
  });
  checkSizes(file, { ...config.rwkv7Ranks });
  const { chunk, windowChunks, sinks, maxSlots, schedule, roundDownTo, atLeast } = config.kvm;
  checkSizes(file, { chunk, windowChunks, maxSlots, roundDownTo, atLeast });
  if (!(Number.isInteger(sinks) && sinks >= 0 && sinks < chunk)) {
    throw bad(`${sinks} sinks; a whole number under the chunk of ${chunk} is expected`);
  }
  if (schedule.kind !== 'powerLaw') checkSizes(file, { slots: schedule.slots });
  else if (!(schedule.factor > 0 && schedule.factor <= 1e6 && schedule.exponent > 0 && schedule.exponent <= 1)) {
    throw bad(`a state of ${schedule.factor}*T^${schedule.exponent} slots is not possible`);
  }
  if (!(Math.abs(config.residualScale) > 0 && Math.abs(config.residualScale) <= 1e3)) {
    throw bad(`residual_scale is ${config.residualScale}`);
  }
  for (const { theta, dimensions } of [config.rotary, config.alternateRotary]) {
    checkTheta(file, theta);
    if (!(dimensions >= 2 && dimensions <= headSize && dimensions % 2 === 0)) {
      throw bad(`${dimensions} of a head's ${headSize} dimensions cannot be rotated in pairs`);
    }
  }
  checkIds(file, config);
  return config;
}
