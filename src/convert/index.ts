/** Door of `convert`. */
export {
  backboneFrequencies,
  checkCheckpoint,
  expectedTensors,
  openCheckpoint,
  rotaryFrequencies,
} from './checkpoint/index.js';
export type {
  BackboneConfig,
  BackboneKvm,
  Checkpoint,
  CheckpointConfig,
  DecoderConfig,
  TokenizerFiles,
} from './checkpoint/index.js';
export { convertModel, defaultKvmSettings } from './convert.js';
export type { ConvertOptions, GraphRunner, ModelEntry } from './convert.js';
export { oracleLogits } from './float-oracle.js';
