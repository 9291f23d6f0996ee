/** Checkpoint readers: GGUF and safetensors behind one interface. Re-exported by the door of `convert`. */
export type {
  BackboneConfig,
  BackboneKvm,
  BackboneMixer,
  BackboneRotary,
  Checkpoint,
  CheckpointConfig,
  DecoderConfig,
  DecoderFamily,
  Family,
  Origin,
  QuantisedBlocks,
  RopeScaling,
  TensorInfo,
  TensorType,
  TokenizerFiles,
} from './checkpoint.js';
export { checkCheckpoint } from './check.js';
export { floatsToHalves } from './half.js';
export { expectedTensors } from './names.js';
export { openCheckpoint } from './open.js';
export { backboneFrequencies, rotaryFrequencies } from './rotary.js';
