/** Masses and tokens on the lines of a file, put together from its parts. Lines are the file's. Never reads files. */
import type { Block } from './block.js';
import { sumOf, type LineMass } from './line-mass.js';

export interface PartMass {
  /** The file's line that is line 1 of the part. */
  readonly firstLine: number;
  /** float64 [L+1]: tokens of the part's lines, running sums. */
  readonly tokens: Float64Array;
  readonly mass: LineMass;
}

export class TextMass {
  constructor(private readonly parts: readonly PartMass[]) {}

  tokensOn(block: Block): number {
    let sum = 0;
    this.each(block, ({ tokens }, startLine, endLine) => (sum += sumOf(tokens, { startLine, endLine })));
    return sum;
  }

  /** The question's mass on a block, float64 [heads]. */
  on(block: Block, heads: number): Float64Array {
    const sums = new Float64Array(heads);
    this.each(block, ({ mass }, startLine, endLine) => mass.addOn(sums, startLine, endLine));
    return sums;
  }

  /** The contentless question's. */
  nullOn(block: Block, heads: number): Float64Array {
    const sums = new Float64Array(heads);
    this.each(block, ({ mass }, startLine, endLine) => mass.addNullOn(sums, startLine, endLine));
    return sums;
  }

  private each({ startLine, endLine }: Block, visit: (part: PartMass, first: number, last: number) => void): void {
    for (const part of this.parts) {
      const before = part.firstLine - 1;
      visit(part, Math.max(1, startLine - before), endLine - before);
    }
  }
}

/** The last line of the file that has a token of this part. */
export function lastLineOf({ firstLine, tokens }: Pick<PartMass, 'firstLine' | 'tokens'>): number {
  return firstLine + tokens.length - 2;
}
