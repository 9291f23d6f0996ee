/**
 * From the softmax of each question row at some recall slots to what the rows find of spans of lines. Knows slots and
 * shares, not files; never asks the model.
 */
import type { SpanShares } from './engine.js';

/** N recall slots of one key head: int8 [N,d] mean keys, float32 [N] their units, float32 [N]. */
export interface HeadSlots {
  readonly keys: Int8Array;
  readonly scales: Float32Array;
  readonly logCounts: Float32Array;
}

/** The slots that some span has a share of, each once: M of them. */
export interface TouchedSlots {
  readonly slots: HeadSlots;
  readonly own: SpanShares['keyHeads'][number];
  /** uint32 [P]: which of the M slots each pair is about. */
  readonly place: Uint32Array;
}

export function touchedSlots(own: SpanShares['keyHeads'][number], all: HeadSlots, headSize: number): TouchedSlots {
  const places = new Map<number, number>();
  const place = own.slots.map(slot => {
    const known = places.get(slot) ?? places.size;
    places.set(slot, known);
    return known;
  });
  const keys = new Int8Array(places.size * headSize);
  for (const [slot, at] of places) keys.set(all.keys.subarray(slot * headSize, (slot + 1) * headSize), at * headSize);
  const touched = Uint32Array.from(places.keys());
  const of = (values: Float32Array): Float32Array => Float32Array.from(touched, slot => values[slot]!);
  return { own, place, slots: { keys, scales: of(all.scales), logCounts: of(all.logCounts) } };
}

export interface RowMasses {
  /** float32 [R,M]. */
  readonly rowMass: Float32Array;
  /** float32 [R]. */
  readonly weights: Float32Array;
  readonly touched: TouchedSlots;
  readonly spans: SpanShares;
  readonly lengthExponent: number;
  readonly floor: number;
}

/** float32 [F]: sum over the rows of weight · log(mass of the row / n^a + floor). */
export function spanScores({ rowMass, weights, touched, spans, lengthExponent, floor }: RowMasses): Float32Array {
  const { own, place, slots } = touched;
  const width = slots.scales.length;
  const scores = new Float32Array(spans.tokens.length);
  for (let span = 0; span < scores.length; span++) {
    const length = Math.max(1, spans.tokens[span]!) ** lengthExponent;
    let score = 0;
    for (let row = 0; row < weights.length; row++) {
      let mass = 0;
      for (let at = own.start[span]!; at < own.start[span + 1]!; at++) {
        mass += own.shares[at]! * rowMass[row * width + place[at]!]!;
      }
      score += weights[row]! * Math.log(mass / length + floor);
    }
    scores[span] = score;
  }
  return scores;
}
