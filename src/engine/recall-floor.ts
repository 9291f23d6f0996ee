/** What the floors of the recall score mean in a memory of other size than the ones they were fitted on. */
import type { RecallParameters } from './engine.js';

/**
 * Slots of the memories that floors are stated for. A softmax over k times as many slots leaves each about a k-th of its
 * mass, so the floor has to go with it: else what a large memory finds drowns in the floor (docs/measurements, Recall).
 */
const STATED_FOR_SLOTS = 3000;

/** The parameters with log_floor as it is for a memory of so many slots: `e + log(3000 / slots)`. */
export function atMemorySize(parameters: RecallParameters, slots: number): RecallParameters {
  const shift = floorShift(slots);
  return { ...parameters, logFloor: parameters.logFloor.map(floor => floor + shift) };
}

/** What is added to a log_floor. */
export function floorShift(slots: number): number {
  return Math.log(STATED_FOR_SLOTS / Math.max(1, slots));
}
