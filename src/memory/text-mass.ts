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
    return this.sum(block, ({ tokens }, own) => sumOf(tokens, 0, tokens.length, own));
  }

  /** The question's mass of one query head on a block. */
  on(head: number, block: Block): number {
    return this.sum(block, ({ mass }, own) => mass.on(head, own));
  }

  /** The contentless question's. */
  nullOn(head: number, block: Block): number {
    return this.sum(block, ({ mass }, own) => mass.nullOn(head, own));
  }

  private sum({ startLine, endLine }: Block, of: (part: PartMass, own: Block) => number): number {
    let sum = 0;
    for (const part of this.parts) {
      const before = part.firstLine - 1;
      sum += of(part, { startLine: Math.max(1, startLine - before), endLine: endLine - before });
    }
    return sum;
  }
}

/** The last line of the file that has a token of this part. */
export function lastLineOf({ firstLine, tokens }: Pick<PartMass, 'firstLine' | 'tokens'>): number {
  return firstLine + tokens.length - 2;
}
