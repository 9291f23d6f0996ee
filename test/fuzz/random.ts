/** Random choices of one numbered case: the same for the same seed and number, whatever ran before. */
import { seededRandom } from '../reference/tiny-model.js';

export class Random {
  private readonly next: () => number;

  constructor(seed: number, number: number) {
    this.next = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
    // The first numbers of neighbouring seeds are alike.
    this.next();
    this.next();
  }

  /** 0 to n - 1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(of: number): boolean {
    return this.next() < of;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}
