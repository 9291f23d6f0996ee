/** Door of `engine`. */
export type {
  CallOptions,
  ChatMessage,
  ComposeOptions,
  Engine,
  GenerateRequest,
  GenerateResult,
  LossOptions,
  ModelDescription,
  ProviderChoice,
  ReadRequest,
  RecallParameters,
  RecallScores,
  SlotMass,
  SpanScores,
  SpanShares,
  Schedule,
  StateChange,
} from './engine.js';
export type {
  CoarseRecall,
  ComposedState,
  PackedSlots,
  PlacedGist,
  Places,
  Reading,
  RecallSlots,
  StateSlots,
} from './slots.js';
export { floorShift } from './recall-floor.js';
export { packAsGist } from './packing.js';
export { openEngine } from './local-engine.js';
export { startEngine } from './process/start-engine.js';
export type { StartOptions } from './process/start-engine.js';
export { openCalibration } from './calibration.js';
export type { Calibration, CalibrationOptions, HeadAttention, Look } from './calibration.js';
export type { HeadSlots } from './span-scores.js';
export type { RecallCalibration, RecallFigures, RecallSettings } from './graph-contract.js';
export { openTokenCounter } from './token-counter.js';
export { runGraphs } from './verify.js';
export { runGraphsApart } from './process/check-graphs.js';
export { automaticThreads } from './threads.js';
export { acceleratorsOf } from './providers.js';
export { probeApart } from './process/probe-apart.js';
export type { ProbeOutcome } from './process/probe-apart.js';
export type { ProbeReport, ProviderReport } from './provider-probe.js';
export type { NodePlaces } from './ort.js';
