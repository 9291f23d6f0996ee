/** Blocks and terms of texts that were looked at, so that the next question reads no file again. Bounded. */
import type { Block } from './block.js';
import type { TermIndex } from './lexical.js';

export interface CutText {
  readonly blocks: readonly Block[];
  readonly terms: TermIndex;
}

export class TextCache {
  private readonly texts = new Map<string, CutText>();
  private bytes = 0;

  constructor(private readonly maxBytes = 192_000_000) {}

  get(key: string): CutText | undefined {
    const found = this.texts.get(key);
    if (found) {
      this.texts.delete(key);
      this.texts.set(key, found);
    }
    return found;
  }

  put(key: string, cut: CutText): CutText {
    this.texts.set(key, cut);
    this.bytes += sizeOf(cut);
    for (const [oldest, value] of this.texts) {
      if (this.bytes <= this.maxBytes || oldest === key) break;
      this.texts.delete(oldest);
      this.bytes -= sizeOf(value);
    }
    return cut;
  }
}

function sizeOf(cut: CutText): number {
  return cut.terms.bytes + cut.blocks.length * 64;
}
