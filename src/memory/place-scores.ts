/**
 * How strongly the recall heads, looking up a name, point at places of files that were read. Works on the stored recall
 * slots of those files alone: what it costs does not grow with the workspace.
 */
import type { RecallSlots } from '../engine/index.js';
import type { Provenance } from './store/index.js';

export interface SlotsOfFile {
  readonly recall: RecallSlots;
  readonly provenance: Provenance;
}

export interface PlaceToScore {
  readonly startLine: number;
  readonly endLine: number;
  readonly file: SlotsOfFile;
}

/**
 * Per query head, per place: log of the attention mass on its lines, up to one constant a head, over sqrt(tokens).
 * A slot's mass exp(q·k + log(count)) is shared among the lines of its tokens (recall.md). `queries` [H,d] hold the scale.
 */
export function placeScores(
  queries: Float32Array,
  keyHeadOf: readonly number[],
  places: readonly PlaceToScore[],
): number[][] {
  return keyHeadOf.map((keyHead, head) => {
    const raw = places.map(place => massOf(queries, head, keyHead, place));
    const most = Math.max(...raw.flatMap(({ logits }) => logits), -Infinity);
    return raw.map(({ logits, shares }) => {
      let mass = 0;
      let tokens = 0;
      logits.forEach((logit, at) => {
        mass += Math.exp(logit - most) * shares[at]!.share;
        tokens += shares[at]!.tokens;
      });
      return tokens > 0 ? Math.log(mass / Math.sqrt(tokens) + 1e-12) : -Infinity;
    });
  });
}

function massOf(
  queries: Float32Array,
  head: number,
  keyHead: number,
  { startLine, endLine, file: { recall, provenance } }: PlaceToScore,
): { logits: number[]; shares: { share: number; tokens: number }[] } {
  const { slots, headSize, keys, scales, counts } = recall;
  const { slotStart, lines, weights, spans } = provenance;
  const row = keyHead * (slots + 1);
  const logits: number[] = [];
  const shares: { share: number; tokens: number }[] = [];
  for (let slot = 0; slot < slots; slot++) {
    let total = 0;
    let own = 0;
    for (let at = slotStart[row + slot]!; at < slotStart[row + slot + 1]!; at++) {
      const span = spans?.[at] ?? 1;
      const shared = Math.min(endLine, lines[at]! + span - 1) - Math.max(startLine, lines[at]!) + 1;
      total += weights[at]!;
      if (shared > 0) own += (weights[at]! * shared) / span;
    }
    if (own === 0) continue;
    const cell = keyHead * slots + slot;
    let dot = 0;
    for (let i = 0; i < headSize; i++) dot += queries[head * headSize + i]! * keys[cell * headSize + i]!;
    logits.push(dot * scales[cell]! + Math.log(counts[cell]!));
    shares.push({ share: own / total, tokens: own });
  }
  return { logits, shares };
}
