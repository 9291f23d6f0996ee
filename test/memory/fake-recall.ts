/**
 * How the fake engine recalls: a word's key is its hash, a question's rows are its words, and the softmax is the engine's.
 */
import { createHash } from 'node:crypto';
import type { RecallParameters, RecallSlots, SlotMass, SpanShares } from '../../src/engine/index.js';

export const KEY_HEAD_OF = [0, 1, 1];
export const HEAD_SIZE = 32;
export const SHARPNESS = 12;

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** A unit vector of the word's hash. */
export function vectorOf(word: string, head: number): Float32Array {
  const bytes = createHash('sha256').update(`${head}:${word}`).digest();
  const vector = Float32Array.from({ length: HEAD_SIZE }, (_, at) => bytes[at % bytes.length]! - 127.5);
  const length = Math.hypot(...vector);
  return vector.map(value => value / length);
}

/** Dense masses [heads,N] with every slot named. */
export function allNamed(mass: Float32Array, keyHeadOf: readonly number[]): SlotMass {
  const total = mass.length / keyHeadOf.length;
  return {
    mass: keyHeadOf.map((_, head) => mass.subarray(head * total, (head + 1) * total)),
    rest: keyHeadOf.map(() => 0),
  };
}

/** Mean softmax mass of the words over all slots: float32 [heads,N]. */
export function massOf(rows: readonly string[], parts: readonly RecallSlots[]): Float32Array {
  const total = parts.reduce((sum, part) => sum + part.slots, 0);
  const mass = new Float32Array(KEY_HEAD_OF.length * total);
  KEY_HEAD_OF.forEach((keyHead, head) => {
    for (const row of rows) {
      const query = vectorOf(row, keyHead);
      const logits = parts.flatMap(part =>
        Array.from({ length: part.slots }, (_, slot) => {
          const cell = keyHead * part.slots + slot;
          let dot = 0;
          for (let at = 0; at < HEAD_SIZE; at++) dot += query[at]! * part.keys[cell * HEAD_SIZE + at]!;
          return SHARPNESS * dot * part.scales[cell]! + Math.log(part.counts[cell]!);
        }),
      );
      const most = Math.max(...logits);
      const weights = logits.map(logit => Math.exp(logit - most));
      const sum = weights.reduce((a, b) => a + b, 0);
      weights.forEach((weight, at) => (mass[head * total + at]! += weight / sum / rows.length));
    }
  });
  return mass;
}

/** Each row's log of mass, its softmax over all slots: float32 [heads,F]. */
export function spanScoresOf(
  rows: readonly string[],
  parts: readonly RecallSlots[],
  spans: SpanShares,
  { lengthExponent, logFloor }: RecallParameters,
): Float32Array {
  const total = parts.reduce((sum, { slots }) => sum + slots, 0);
  const scores = new Float32Array(KEY_HEAD_OF.length * spans.tokens.length);
  for (const mass of rows.map(row => massOf([row], parts))) {
    KEY_HEAD_OF.forEach((keyHead, head) => {
      const { start, slots, shares } = spans.keyHeads[keyHead]!;
      spans.tokens.forEach((tokens, span) => {
        let own = 0;
        for (let at = start[span]!; at < start[span + 1]!; at++) own += shares[at]! * mass[head * total + slots[at]!]!;
        const floored = own / tokens ** lengthExponent[head]! + Math.exp(logFloor[head]!);
        scores[head * spans.tokens.length + span]! += Math.log(floored) / rows.length;
      });
    });
  }
  return scores;
}
