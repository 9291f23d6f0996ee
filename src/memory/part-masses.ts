/**
 * A question's masses on the lines of all parts, made when they are first asked for and kept as far as they are not too
 * large; what the contentless question finds is kept for the next one too. Never scores and never reads files.
 */
import type { RecallScores, SlotMass } from '../engine/index.js';
import { LineMass, lineSums } from './line-mass.js';
import type { IndexedPart } from './recall-index.js';
import type { PartMass } from './text-mass.js';

/** Of the masses on all lines, for the question and as much for the contentless one. Those of 50 million tokens take gigabytes. */
const MOST_BYTES = 64_000_000;
/** Parts that are kept where all are too large: neighbouring stretches of a file share one. */
const KEPT_PARTS = 4;

/** Sums on the lines of each part, while the engine says that the contentless question finds the same. */
const contentless = new WeakMap<SlotMass, Map<number, Float64Array>>();

export class PartMasses {
  private readonly known = new Map<number, PartMass>();
  private readonly nullSums: Map<number, Float64Array> | undefined;
  private readonly most: number;

  constructor(
    private readonly parts: readonly IndexedPart[],
    private readonly scores: RecallScores,
    private readonly keyHeadOf: readonly number[],
    mostBytes = MOST_BYTES,
  ) {
    const lines = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const all = lines * keyHeadOf.length * Float64Array.BYTES_PER_ELEMENT <= mostBytes;
    this.most = all ? Infinity : KEPT_PARTS;
    if (!all) return;
    this.nullSums = contentless.get(scores.nullMass) ?? new Map<number, Float64Array>();
    contentless.set(scores.nullMass, this.nullSums);
  }

  of(at: number): PartMass {
    const known = this.known.get(at);
    if (known) return known;
    const { scores, keyHeadOf } = this;
    const { firstLine, provenance, slots, tokens } = this.parts[at]!;
    const sums = (mass: SlotMass): Float64Array =>
      lineSums(provenance, slots, tokens, mass, scores.slotStart[at]!, keyHeadOf);
    const nullSums = this.nullSums?.get(at) ?? sums(scores.nullMass);
    this.nullSums?.set(at, nullSums);
    const made = { firstLine, tokens, mass: new LineMass(sums(scores.mass), nullSums, keyHeadOf.length) };
    this.known.set(at, made);
    if (this.known.size > this.most) this.known.delete(this.known.keys().next().value!);
    return made;
  }
}
