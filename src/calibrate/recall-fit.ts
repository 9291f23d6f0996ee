/**
 * The score of recall (recall.md) for a batch of questions over one shared memory, its loss and the gradients of all fitted
 * values: cross-entropy of the function asked for among all functions.
 *
 * score = sum over heads of w·log(mass/n^a + exp(e)) - u·log(nullMass/n^a + exp(e)), n the function's tokens, mass the
 * weighted mean over the question's rows of the softmax mass on them. Attention is lent; everything else is computed here.
 */
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
    return (await this.forward(parameters, group, questions, false)).scores;
  }

  /** Mean loss of some questions, and its gradient by every value. */
  async gradients(
    parameters: FitParameters,
    group: FitGroup,
    questions: readonly FitQuestion[],
  ): Promise<{ readonly loss: number; readonly gradients: FitParameters }> {
    const { memory } = group;
    const { scores, heads } = await this.forward(parameters, group, questions, true);
    const { loss, byScore } = crossEntropy(scores, questions, memory);
    const gradients = zerosLike(parameters);
    for (const [head, look] of heads.entries()) {
      const byMass = backThroughScore(parameters, gradients, head, memory, look.masses, byScore);
      const slots = memory.slots[this.keyHeadOf[head]!]!.scales.length;
      const massGradient = new Float32Array(byMass.length * slots);
      byMass.forEach((gradient, i) => {
        memory.gradientOnSlots(this.keyHeadOf[head]!, gradient, massGradient, i * slots);
      });
      const back = await this.attention.gradients(look.look, look.attention!, massGradient);
      const size = this.headSize;
      back.map.forEach((value, i) => (gradients.queryMap[head * size * size + i]! += value));
      gradients.logTemperature[head]! += back.logTemperature;
      this.backThroughWeights(gradients, head, look, back.rowGain);
    }
    return { loss, gradients };
  }

  private async forward(
    parameters: FitParameters,
    group: FitGroup,
    questions: readonly FitQuestion[],
    keep: boolean,
  ): Promise<{ scores: Float64Array[]; heads: HeadLook[] }> {
    const { memory, nullRows } = group;
    const scores = questions.map(() => new Float64Array(memory.functions));
    const heads: HeadLook[] = [];
    for (let head = 0; head < this.keyHeadOf.length; head++) {
      const parts = [...questions.map(({ rows }) => rows[head]!), nullRows[head]!];
      const look = this.lookOf(parameters, head, parts, memory);
      const attended = keep
        ? await this.attention.attend(look)
        : { mass: await this.attention.mass(look), attention: undefined };
      const slots = look.slots.scales.length;
      const masses = parts.map((_, i) => memory.onFunctions(this.keyHeadOf[head]!, attended.mass, i * slots));
      addScores(parameters, head, memory, masses, scores);
      if (keep) heads.push({ look, attention: attended.attention, masses, parts });
    }
    return { scores, heads };
  }

  private lookOf(parameters: FitParameters, head: number, parts: readonly Float32Array[], memory: SharedMemory): Look {
    const size = this.headSize;
    const total = parts.reduce((sum, part) => sum + part.length, 0);
    const rows = new Float32Array(total);
    const pool = new Float32Array((parts.length * total) / size);
    let done = 0;
    parts.forEach((part, i) => {
      rows.set(part, done);
      const weights = this.weightsOf(parameters, head, part);
      pool.set(weights, (i * total + done) / size);
      done += part.length;
    });
    return {
      rows,
      pool,
      map: Float32Array.from(parameters.queryMap.subarray(head * size * size, (head + 1) * size * size)),
      temperature: Math.exp(parameters.logTemperature[head]!),
      slots: memory.slots[this.keyHeadOf[head]!]!,
    };
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

  /** `gain` [R]: gradient by each row's weight, times the weight; softmax takes the weighted mean off. */
  private backThroughWeights(gradients: FitParameters, head: number, look: HeadLook, gain: Float32Array): void {
    const size = this.headSize;
    const total = gain.length;
    let first = 0;
    look.parts.forEach((part, i) => {
      const count = part.length / size;
      let all = 0;
      for (let row = 0; row < count; row++) all += gain[first + row]!;
      for (let row = 0; row < count; row++) {
        const byLogit = gain[first + row]! - look.look.pool[i * total + first + row]! * all;
        for (let j = 0; j < size; j++) {
          gradients.rowDirection[head * size + j]! += byLogit * part[row * size + j]!;
        }
      }
      first += count;
    });
  }
}

/** What one head saw. `masses` and `parts`: of each question, the contentless one last. */
interface HeadLook {
  readonly look: Look;
  readonly attention: Float32Array | undefined;
  /** float64 [F] each. */
  readonly masses: readonly Float64Array[];
  readonly parts: readonly Float32Array[];
}

function addScores(
  parameters: FitParameters,
  head: number,
  memory: SharedMemory,
  masses: readonly Float64Array[],
  scores: readonly Float64Array[],
): void {
  const floor = Math.exp(parameters.logFloor[head]!);
  const nullMass = masses.at(-1)!;
  for (let span = 0; span < memory.functions; span++) {
    const length = memory.lengths[span]! ** parameters.lengthExponent[head]!;
    const nulls = parameters.nullWeight[head]! * Math.log(nullMass[span]! / length + floor);
    scores.forEach((own, i) => {
      own[span]! += parameters.weight[head]! * Math.log(masses[i]![span]! / length + floor) - nulls;
    });
  }
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

/** Adds to the five numbers' gradients; gives the gradient by each function's mass, the contentless question's last. */
function backThroughScore(
  parameters: FitParameters,
  gradients: FitParameters,
  head: number,
  memory: SharedMemory,
  masses: readonly Float64Array[],
  byScore: readonly Float64Array[],
): Float64Array[] {
  const floor = Math.exp(parameters.logFloor[head]!);
  const spans = memory.functions;
  const byMass = masses.map(() => new Float64Array(spans));
  const back = (i: number, span: number, gradient: number, ofWeight: 'weight' | 'nullWeight', sign: 1 | -1): void => {
    if (gradient === 0) return;
    const length = memory.lengths[span]! ** parameters.lengthExponent[head]!;
    const relative = masses[i]![span]! / length;
    gradients[ofWeight][head]! += sign * gradient * Math.log(relative + floor);
    const byRelative = (sign * gradient * parameters[ofWeight][head]!) / (relative + floor);
    gradients.lengthExponent[head]! -= byRelative * relative * Math.log(memory.lengths[span]!);
    gradients.logFloor[head]! += byRelative * floor;
    byMass[i]![span] = byRelative / length;
  };
  for (let span = 0; span < spans; span++) {
    let all = 0;
    byScore.forEach((own, i) => {
      back(i, span, own[span]!, 'weight', 1);
      all += own[span]!;
    });
    back(masses.length - 1, span, all, 'nullWeight', -1);
  }
  return byMass;
}

function softmax(logits: Float64Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = logits.map(logit => Math.exp(logit - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / total);
}
