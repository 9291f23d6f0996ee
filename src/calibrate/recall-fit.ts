/**
 * The score of recall (models/README.md) for a batch of questions over one shared memory, its loss and the gradients of all
 * fitted values: cross-entropy of the function asked for among all functions.
 *
 * score = sum over heads of w·(sum over rows of c·log(mass/n^a + exp(e))) - u·log(nullMass/n^a + exp(e)), n the function's
 * tokens, mass the row's softmax mass on them, c what the row counts, nullMass the contentless question's weighted mean, e as
 * it is for a memory of that size (`floorShift`). Attention is lent; everything else is computed here.
 */
import { floorShift } from '../engine/index.js';
import type { HeadAttention, Look } from '../engine/index.js';
import { zerosLike } from './fit-parameters.js';
import type { FitParameters } from './fit-parameters.js';
import type { SharedMemory } from './shared-memory.js';

export interface FitQuestion {
  /** Of each head float32 [R,d]. */
  readonly rows: readonly Float32Array[];
  /** The function asked for. */
  readonly span: number;
}

/** A memory, the questions about it, and the question without content. */
export interface FitGroup {
  readonly memory: SharedMemory;
  readonly questions: readonly FitQuestion[];
  readonly nullRows: readonly Float32Array[];
}

export class RecallFit {
  constructor(
    private readonly attention: HeadAttention,
    private readonly headSize: number,
    /** Of each head: the place of its key head in the memories. */
    private readonly keyHeadOf: readonly number[],
  ) {}

  /** Scores of each question on each function: float64 [F] each. */
  async scores(
    parameters: FitParameters,
    group: FitGroup,
    questions: readonly FitQuestion[],
  ): Promise<readonly Float64Array[]> {
    const scores = questions.map(() => new Float64Array(group.memory.functions));
    for (let head = 0; head < this.keyHeadOf.length; head++) {
      addScores(scores, valuesOf(parameters, head, group.memory), await this.look(parameters, head, group, questions));
    }
    return scores;
  }

  /** Mean loss of some questions, and its gradient by every value. */
  async gradients(
    parameters: FitParameters,
    group: FitGroup,
    questions: readonly FitQuestion[],
  ): Promise<{ readonly loss: number; readonly gradients: FitParameters }> {
    const scores = questions.map(() => new Float64Array(group.memory.functions));
    const seen: Seen[] = [];
    for (let head = 0; head < this.keyHeadOf.length; head++) {
      seen.push(await this.look(parameters, head, group, questions));
      addScores(scores, valuesOf(parameters, head, group.memory), seen[head]!);
    }
    const { loss, byScore } = crossEntropy(scores, questions, group.memory);
    const gradients = zerosLike(parameters);
    for (const [head, own] of seen.entries()) {
      const { byMass, byWeight } = backThroughScore(
        valuesOf(parameters, head, group.memory),
        gradients,
        head,
        own,
        byScore,
      );
      const byAttention = new Float32Array(own.attention.length);
      const slots = byAttention.length / byMass.length;
      byMass.forEach((row, at) => {
        group.memory.gradientOnSlots(this.keyHeadOf[head]!, row, byAttention, at * slots);
      });
      const back = await this.attention.gradients(own.look, own.attention, byAttention);
      const size = this.headSize;
      back.map.forEach((value, i) => (gradients.queryMap[head * size * size + i]! += value));
      gradients.logTemperature[head]! += back.logTemperature;
      this.backThroughWeights(gradients, head, own, byWeight);
    }
    return { loss, gradients };
  }

  private async look(
    parameters: FitParameters,
    head: number,
    { memory, nullRows }: FitGroup,
    questions: readonly FitQuestion[],
  ): Promise<Seen> {
    const size = this.headSize;
    const parts = [...questions.map(({ rows }) => rows[head]!), nullRows[head]!];
    const rows = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    const weights = new Float64Array(rows.length / size);
    const starts = [0];
    for (const part of parts) {
      const first = starts.at(-1)!;
      rows.set(part, first * size);
      weights.set(this.weightsOf(parameters, head, part), first);
      starts.push(first + part.length / size);
    }
    const keyHead = this.keyHeadOf[head]!;
    const look: Look = {
      rows,
      map: Float32Array.from(parameters.queryMap.subarray(head * size * size, (head + 1) * size * size)),
      temperature: Math.exp(parameters.logTemperature[head]!),
      slots: memory.slots[keyHead]!,
    };
    const attention = await this.attention.attend(look);
    const slots = look.slots.scales.length;
    const masses = Array.from(weights, (_, row) => memory.onFunctions(keyHead, attention, row * slots));
    return { look, attention, weights, starts, masses, lengths: memory.lengths };
  }

  /** Softmax over the rows of q · direction. */
  private weightsOf(parameters: FitParameters, head: number, rows: Float32Array): Float64Array {
    const size = this.headSize;
    const logits = new Float64Array(rows.length / size);
    for (let row = 0; row < logits.length; row++) {
      for (let i = 0; i < size; i++) {
        logits[row]! += rows[row * size + i]! * parameters.rowDirection[head * size + i]!;
      }
    }
    return softmax(logits);
  }

  /** `byWeight` [R]: gradient by what each row counts; softmax takes the weighted mean off. */
  private backThroughWeights(gradients: FitParameters, head: number, seen: Seen, byWeight: Float64Array): void {
    const size = this.headSize;
    const { starts, weights, look } = seen;
    for (let part = 0; part + 1 < starts.length; part++) {
      let mean = 0;
      for (let row = starts[part]!; row < starts[part + 1]!; row++) mean += weights[row]! * byWeight[row]!;
      for (let row = starts[part]!; row < starts[part + 1]!; row++) {
        const byLogit = weights[row]! * (byWeight[row]! - mean);
        for (let i = 0; i < size; i++) {
          gradients.rowDirection[head * size + i]! += byLogit * look.rows[row * size + i]!;
        }
      }
    }
  }
}

/** What one head saw: R rows of all questions, the contentless one last. */
interface Seen {
  readonly look: Look;
  readonly attention: Float32Array;
  /** [R]: what each row counts in its question. */
  readonly weights: Float64Array;
  /** First row of each question, and R. */
  readonly starts: readonly number[];
  /** [R] of float64 [F]: each row's mass on each function. */
  readonly masses: readonly Float64Array[];
  /** [F]. */
  readonly lengths: Float64Array;
}

/** One head's five numbers but for the temperature. */
interface HeadValues {
  readonly weight: number;
  readonly nullWeight: number;
  readonly lengthExponent: number;
  readonly floor: number;
}

/** As they are for a memory of that size. */
function valuesOf(parameters: FitParameters, head: number, { slots }: SharedMemory): HeadValues {
  const shift = floorShift(slots[0]?.scales.length ?? 0);
  return {
    weight: parameters.weight[head]!,
    nullWeight: parameters.nullWeight[head]!,
    lengthExponent: parameters.lengthExponent[head]!,
    floor: Math.exp(parameters.logFloor[head]! + shift),
  };
}

function addScores(
  scores: readonly Float64Array[],
  values: HeadValues,
  { weights, starts, masses, lengths }: Seen,
): void {
  const { weight, nullWeight, lengthExponent, floor } = values;
  const nulls = scores.length;
  for (let span = 0; span < lengths.length; span++) {
    const length = lengths[span]! ** lengthExponent;
    let nullMass = 0;
    for (let row = starts[nulls]!; row < starts[nulls + 1]!; row++) nullMass += weights[row]! * masses[row]![span]!;
    const nullScore = nullWeight * Math.log(nullMass / length + floor);
    scores.forEach((own, i) => {
      let sum = 0;
      for (let row = starts[i]!; row < starts[i + 1]!; row++) {
        sum += weights[row]! * Math.log(masses[row]![span]! / length + floor);
      }
      own[span]! += weight * sum - nullScore;
    });
  }
}

/** Adds to the gradients of the head's numbers; gives those by each row's mass on each function and by what it counts. */
function backThroughScore(
  { weight, nullWeight, lengthExponent, floor }: HeadValues,
  gradients: FitParameters,
  head: number,
  { weights, starts, masses, lengths }: Seen,
  byScore: readonly Float64Array[],
): { byMass: Float64Array[]; byWeight: Float64Array } {
  const nulls = byScore.length;
  const byMass = masses.map(() => new Float64Array(lengths.length));
  const byWeight = new Float64Array(weights.length);
  const add = (name: 'weight' | 'nullWeight' | 'lengthExponent' | 'logFloor', value: number): void => {
    gradients[name][head]! += value;
  };
  for (let span = 0; span < lengths.length; span++) {
    const length = lengths[span]! ** lengthExponent;
    const logLength = Math.log(lengths[span]!);
    let all = 0;
    byScore.forEach((own, i) => {
      const gradient = own[span]!;
      all += gradient;
      if (gradient === 0) return;
      for (let row = starts[i]!; row < starts[i + 1]!; row++) {
        const relative = masses[row]![span]! / length;
        const found = Math.log(relative + floor);
        add('weight', gradient * weights[row]! * found);
        byWeight[row]! += gradient * weight * found;
        const byRelative = (gradient * weight * weights[row]!) / (relative + floor);
        add('logFloor', byRelative * floor);
        add('lengthExponent', -byRelative * relative * logLength);
        byMass[row]![span] = byRelative / length;
      }
    });
    let nullMass = 0;
    for (let row = starts[nulls]!; row < starts[nulls + 1]!; row++) nullMass += weights[row]! * masses[row]![span]!;
    const relative = nullMass / length;
    add('nullWeight', -all * Math.log(relative + floor));
    const byRelative = (-all * nullWeight) / (relative + floor);
    add('logFloor', byRelative * floor);
    add('lengthExponent', -byRelative * relative * logLength);
    for (let row = starts[nulls]!; row < starts[nulls + 1]!; row++) {
      byMass[row]![span] = (weights[row]! * byRelative) / length;
      byWeight[row]! += (byRelative * masses[row]![span]!) / length;
    }
  }
  return { byMass, byWeight };
}

/** Mean over the questions; the gradient by each score, 0 for functions that can't be found. */
function crossEntropy(
  scores: readonly Float64Array[],
  questions: readonly FitQuestion[],
  memory: SharedMemory,
): { loss: number; byScore: Float64Array[] } {
  let loss = 0;
  const byScore = scores.map((own, i) => {
    const shares = softmax(own.map((score, span) => (memory.canBeFound(span) ? score : -Infinity)));
    const { span } = questions[i]!;
    loss -= Math.log(shares[span]! + 1e-12) / scores.length;
    return shares.map((share, other) => (share - (other === span ? 1 : 0)) / scores.length);
  });
  return { loss, byScore };
}

function softmax(logits: Float64Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = logits.map(logit => Math.exp(logit - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / total);
}
