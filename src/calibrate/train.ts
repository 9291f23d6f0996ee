/**
 * Fits the values on groups of questions, a few at a time, and stops when questions that are held out gain no more.
 * What it gives is the best state on those, the first one included.
 */
import { throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { RecallFigures } from '../engine/index.js';
import { Adam } from './adam.js';
import { copyOf } from './fit-parameters.js';
import type { FitParameters } from './fit-parameters.js';
import { figuresOf } from './ranks.js';
import type { FitGroup, FitQuestion, RecallFit } from './recall-fit.js';

export interface TrainOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** Default 6. */
  readonly passes?: number;
  /** Passes without gain after which it stops; default 2. */
  readonly patience?: number;
  /** Of the query maps; default 1e-3. */
  readonly rate?: number;
}

export interface Trained {
  readonly parameters: FitParameters;
  /** Of the held-out questions, before training and after each pass. */
  readonly passes: readonly RecallFigures[];
  /** Which of `passes` the parameters are of. */
  readonly best: number;
}

const BATCH = 8;
const LAST_SHARE = 0.05;

export async function train(
  fit: RecallFit,
  start: FitParameters,
  groups: readonly FitGroup[],
  heldOut: FitGroup,
  options: TrainOptions = {},
): Promise<Trained> {
  const { signal, onProgress, passes = 6, patience = 2, rate = 1e-3 } = options;
  const parameters = copyOf(start);
  const few = 0.03;
  const adam = new Adam(
    parameters,
    {
      ...{ queryMap: rate, rowDirection: 3 * rate, logTemperature: few, weight: few },
      ...{ nullWeight: few, lengthExponent: few, logFloor: few },
    },
    1e-3,
  );
  const random = randomFrom(1);
  const figures = [await measure(fit, parameters, heldOut, signal)];
  let best = { parameters: copyOf(parameters), at: 0 };
  const perPass = groups.reduce((sum, { questions }) => sum + Math.ceil(questions.length / BATCH), 0);
  const total = passes * perPass;
  let done = 0;
  for (let pass = 1; pass <= passes && pass - best.at <= patience; pass++) {
    const batches = groups.flatMap(group => batchesOf(group, random));
    for (const { group, questions } of shuffled(batches, random)) {
      throwIfCancelled(signal);
      onProgress?.({ task: `Fitting, pass ${pass} of ${passes} at most`, done, total, unit: 'steps' });
      const { gradients } = await fit.gradients(parameters, group, questions);
      done++;
      adam.step(gradients, Math.max(LAST_SHARE, 1 - done / total));
    }
    figures.push(await measure(fit, parameters, heldOut, signal));
    if (figures[pass]!.mrr > figures[best.at]!.mrr) best = { parameters: copyOf(parameters), at: pass };
  }
  return { parameters: best.parameters, passes: figures, best: best.at };
}

/** Figures of a group's questions. */
export async function measure(
  fit: RecallFit,
  parameters: FitParameters,
  group: FitGroup,
  signal?: AbortSignal,
): Promise<RecallFigures> {
  const scores: Float64Array[] = [];
  for (let first = 0; first < group.questions.length; first += BATCH) {
    throwIfCancelled(signal);
    scores.push(...(await fit.scores(parameters, group, group.questions.slice(first, first + BATCH))));
  }
  return figuresOf(scores, group.questions, group.memory);
}

function batchesOf(group: FitGroup, random: () => number): { group: FitGroup; questions: FitQuestion[] }[] {
  const order = shuffled(group.questions, random);
  return Array.from({ length: Math.ceil(order.length / BATCH) }, (_, i) => ({
    group,
    questions: order.slice(i * BATCH, (i + 1) * BATCH),
  }));
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/** Numbers from 0 to 1, the same each time (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
