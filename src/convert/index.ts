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
export type { ConvertOptions, ModelEntry } from './convert.js';
export { fitGraphs } from './graphs/fit-graphs.js';
export type { FitGraphs } from './graphs/fit-graphs.js';
export { oracleLogits } from './float-oracle.js';
export { verifyStoredCheck } from './stored-check.js';
export type { GraphRunner } from './stored-check.js';
