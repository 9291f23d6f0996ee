/** A small set to fit on: random keys in a few texts, functions on their lines, questions with random rows. */
import { unfitted } from '../../src/calibrate/fit-parameters.js';
import type { FitParameters } from '../../src/calibrate/fit-parameters.js';
import type { FitGroup } from '../../src/calibrate/recall-fit.js';
import { SharedMemory } from '../../src/calibrate/shared-memory.js';
import type { ReadDoc } from '../../src/calibrate/shared-memory.js';
import { seededRandom } from '../reference/tiny-model.js';

export const SIZE = 6;
export const KEY_HEADS = 2;
/** Key head of each head. */
export const keyHeadOf = [0, 1, 1];

const NO_SLOT = 0xffffffff;

/** `functions` of 4 lines with 3 tokens each; tokens go into slots of 2 or 3, the first two tokens into none. */
export function tinyDoc(random: () => number, functions: number): ReadDoc {
  const tokens = functions * 12 + 2;
  const slots = functions * 5;
  const counts = new Float32Array(KEY_HEADS * slots);
  const slotOfToken = Uint32Array.from({ length: KEY_HEADS * tokens }, (_, i) => {
    if (i % tokens < 2) return NO_SLOT;
    const head = Math.floor(i / tokens);
    const slot = Math.floor((((i % tokens) - 2) / (tokens - 2)) * slots);
    counts[head * slots + slot]! += 1;
    return slot;
  });
  return {
    functions: Array.from({ length: functions }, (_, i) => ({
      name: `f${i}`,
      startLine: 4 * i + 1,
      endLine: 4 * i + 4,
    })),
    tokens,
    lineOfToken: Uint32Array.from({ length: tokens }, (_, i) => (i < 2 ? 0 : Math.floor((i - 2) / 3) + 1)),
    slotOfToken,
    recall: {
      ...{ heads: KEY_HEADS, slots, headSize: SIZE },
      keys: Int8Array.from(Array.from({ length: KEY_HEADS * slots }, () => direction(random)).flat()),
      // Keys of lengths from 1.9 to 2.1.
      scales: Float32Array.from({ length: KEY_HEADS * slots }, () => (1.9 + random() * 0.2) / 127),
      counts,
    },
  };
}

/** 127 long. */
function direction(random: () => number): number[] {
  const key = Array.from({ length: SIZE }, () => random() + random() + random() - 1.5);
  return key.map(value => Math.round((127 * value) / Math.hypot(...key)));
}

export function tinyGroup(seed: number, questions: number): FitGroup {
  const random = seededRandom(seed);
  const memory = SharedMemory.of([tinyDoc(random, 3), tinyDoc(random, 2)]);
  const rowsOf = (count: number) =>
    keyHeadOf.map(() => Float32Array.from({ length: count * SIZE }, () => random() * 2 - 1));
  return {
    memory,
    questions: Array.from({ length: questions }, (_, i) => ({ rows: rowsOf(2 + (i % 3)), span: i % memory.functions })),
    nullRows: rowsOf(2),
  };
}

/** Values away from where any gradient is zero. */
export function tinyParameters(seed: number): FitParameters {
  const random = seededRandom(seed);
  const parameters = unfitted(keyHeadOf.length, SIZE);
  for (const values of Object.values(parameters) as Float64Array[])
    values.forEach((value, i) => (values[i] = value + (random() - 0.5) * 0.6));
  parameters.logFloor.fill(-9);
  return parameters;
}
