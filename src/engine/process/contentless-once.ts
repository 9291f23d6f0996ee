/**
 * What the contentless question finds is the same for every question about a memory, and as large as what the question
 * finds: it crosses from the engine process once. Never changes a score.
 */
import type { RecallScores, SlotMass } from '../engine.js';

/** Scores as they cross: without `nullMass` where it is the one that crossed last. */
export type CrossingScores = Omit<RecallScores, 'nullMass'> & { readonly nullMass?: SlotMass };

/** In the engine process. Scores are sent one after another, in the order of the calls. */
export class ContentlessSender {
  private last: SlotMass | undefined;

  crossing(scores: RecallScores): CrossingScores {
    const { nullMass, ...others } = scores;
    if (nullMass === this.last) return others;
    this.last = nullMass;
    return scores;
  }
}

/** On the other side; one for each process that is started. */
export class ContentlessReceiver {
  private last: SlotMass | undefined;

  /** The same object as long as it is the same mass. */
  complete(scores: CrossingScores): RecallScores {
    const nullMass = scores.nullMass ?? this.last;
    if (nullMass === undefined) throw new Error('the contentless question’s masses never crossed');
    this.last = nullMass;
    return { ...scores, nullMass };
  }
}
