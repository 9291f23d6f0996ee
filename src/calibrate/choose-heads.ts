/**
 * Which heads look things up, without training (recall.md): every query head ranks the functions by its mass on them, less
 * the contentless question's, over the root of their tokens. Key heads are then taken one by one, each time the one with
 * which the sum of standardised scores ranks best; with each come those of its query heads that rank better than chance.
 */
import { throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { Calibration } from '../engine/index.js';
import { chanceOf, rankOf } from './ranks.js';
import type { SharedMemory } from './shared-memory.js';

/** [layer, query head]. */
export type Head = readonly [layer: number, head: number];

export interface RankedHead {
  readonly head: Head;
  /** Layer-major place of its key head. */
  readonly keyHead: number;
  readonly mrr: number;
  /** Standardised scores of each question, [F] each. */
  readonly scores: readonly Float64Array[];
}

export interface Asked {
  readonly sentence: string;
  readonly span: number;
}

const MOST_KEY_HEADS = 8;
/** Of one key head: more cost time with every question and hardly rank better. */
const MOST_QUERY_HEADS = 3;
/** Key heads that are weighed: the best alone. */
const CANDIDATES = 24;
/** A key head that ranks better by less costs its bytes for nothing. */
const LEAST_GAIN = 0.003;
/** Fewer are too few to train. */
const LEAST_KEY_HEADS = 4;
/** Standard errors above chance. */
const MARGIN = 2;

/** Every query head, layer by layer. */
export function allHeads({ layers, heads }: { readonly layers: number; readonly heads: number }): Head[] {
  return Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads] as const);
}

/** Every key head, layer by layer: the place of a query head's in it is `keyHeadPlace`. */
export function allKeyHeads({ layers, keyHeads }: Calibration['architecture']): Head[] {
  return allHeads({ layers, heads: keyHeads });
}

export function keyHeadPlace({ heads, keyHeads }: Calibration['architecture'], [layer, head]: Head): number {
  return layer * keyHeads + Math.floor((head * keyHeads) / heads);
}

/** Each query head alone. `memory` has every key head, layer by layer. */
export async function rankHeads(
  calibration: Calibration,
  memory: SharedMemory,
  asked: readonly Asked[],
  { signal, onProgress }: { readonly signal?: AbortSignal; readonly onProgress?: ProgressListener } = {},
): Promise<RankedHead[]> {
  const heads = allHeads(calibration.architecture);
  const nulls = await massesOf(calibration, memory, heads, calibration.settings.contentless);
  const scores: Float64Array[][] = heads.map(() => []);
  const reciprocal = new Float64Array(heads.length);
  for (const [i, { sentence, span }] of asked.entries()) {
    throwIfCancelled(signal);
    onProgress?.({ task: 'Trying every head', done: i, total: asked.length, unit: 'steps' });
    const masses = await massesOf(calibration, memory, heads, sentence);
    masses.forEach((mass, head) => {
      const plain = mass.map((value, at) => (value - nulls[head]![at]!) / Math.sqrt(memory.lengths[at]!));
      reciprocal[head]! += 1 / rankOf(plain, span, memory);
      scores[head]!.push(standardised(plain));
    });
  }
  return heads.map((head, i) => ({
    head,
    keyHead: keyHeadPlace(calibration.architecture, head),
    mrr: reciprocal[i]! / asked.length,
    scores: scores[i]!,
  }));
}

/** In the order in which they were taken. */
export function takeHeads(ranked: readonly RankedHead[], memory: SharedMemory, asked: readonly Asked[]): RankedHead[] {
  const chance = chanceOf(memory.functions);
  const least = chance.mrr + (MARGIN * chance.deviation) / Math.sqrt(asked.length);
  const best = [...ranked].sort((a, b) => b.mrr - a.mrr);
  const candidates = new Map<number, RankedHead[]>();
  for (const one of best) {
    const own = candidates.get(one.keyHead);
    if (own) {
      if (own.length < MOST_QUERY_HEADS && one.mrr > least) own.push(one);
    } else if (candidates.size < CANDIDATES) candidates.set(one.keyHead, [one]);
  }
  let taken: RankedHead[] = [];
  let sums: Float64Array[] = asked.map(() => new Float64Array(memory.functions));
  let reached = 0;
  for (let step = 0; step < MOST_KEY_HEADS && candidates.size > 0; step++) {
    const tried = [...candidates].map(([keyHead, own]) => {
      const together = sums.map((sum, i) =>
        sum.map((value, at) => own.reduce((all, one) => all + one.scores[i]![at]!, value)),
      );
      const mrr = together.reduce((sum, own, i) => sum + 1 / rankOf(own, asked[i]!.span, memory), 0) / asked.length;
      return { keyHead, own, together, mrr };
    });
    const next = tried.reduce((a, b) => (b.mrr > a.mrr ? b : a));
    if (step >= LEAST_KEY_HEADS && next.mrr < reached + LEAST_GAIN) break;
    taken = [...taken, ...next.own];
    sums = next.together;
    reached = next.mrr;
    candidates.delete(next.keyHead);
  }
  return taken;
}

/** Mass of a question on each function, [F] of each head; its rows count the same. */
async function massesOf(
  calibration: Calibration,
  memory: SharedMemory,
  heads: readonly Head[],
  question: string,
): Promise<Float64Array[]> {
  const { architecture } = calibration;
  const size = architecture.headSize;
  const rows = await calibration.rowsOf(question, heads);
  const map = new Float32Array(size * size);
  const masses: Float64Array[] = [];
  // Heads of one key head stand side by side: one run for them.
  const together = architecture.heads / architecture.keyHeads;
  for (let first = 0; first < heads.length; first += together) {
    const own = rows.slice(first, first + together);
    const count = own[0]!.length / size;
    const joined = new Float32Array(together * count * size);
    own.forEach((part, i) => joined.set(part, i * part.length));
    const keyHead = keyHeadPlace(architecture, heads[first]!);
    const slots = memory.slots[keyHead]!;
    const attention = await calibration.attend({ rows: joined, map, temperature: 1, slots });
    const width = slots.scales.length;
    own.forEach((_, i) => {
      const mean = new Float32Array(width);
      for (let row = i * count; row < (i + 1) * count; row++) {
        for (let slot = 0; slot < width; slot++) mean[slot]! += attention[row * width + slot]! / count;
      }
      masses.push(memory.onFunctions(keyHead, mean, 0));
    });
  }
  return masses;
}

function standardised(scores: Float64Array): Float64Array {
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
  const spread = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  return scores.map(score => (score - mean) / Math.max(spread, 1e-12));
}
