/** Ranks of the functions asked for, and what is made of them. Pure. */
import type { RecallFigures } from '../engine/index.js';
import type { FitQuestion } from './recall-fit.js';
import type { SharedMemory } from './shared-memory.js';

/** 1: the best; an equal score counts against it. */
export function rankOf(scores: Float64Array, span: number, memory: SharedMemory): number {
  let rank = 0;
  scores.forEach((score, other) => {
    if (other === span || (memory.canBeFound(other) && score >= scores[span]!)) rank++;
  });
  return rank;
}

export function figuresOf(
  scores: readonly Float64Array[],
  questions: readonly FitQuestion[],
  memory: SharedMemory,
): RecallFigures {
  const ranks = scores.map((own, i) => rankOf(own, questions[i]!.span, memory));
  const mean = (of: (rank: number) => number) => ranks.reduce((sum, rank) => sum + of(rank), 0) / ranks.length;
  return { mrr: mean(rank => 1 / rank), recallAt5: mean(rank => (rank <= 5 ? 1 : 0)) };
}

/** What guessing among n gives on average, and the standard deviation of one guess. */
export function chanceOf(n: number): { readonly mrr: number; readonly deviation: number } {
  let [sum, squares] = [0, 0];
  for (let rank = 1; rank <= n; rank++) {
    sum += 1 / rank;
    squares += 1 / rank ** 2;
  }
  return { mrr: sum / n, deviation: Math.sqrt(Math.max(0, squares / n - (sum / n) ** 2)) };
}
