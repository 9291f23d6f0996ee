/**
 * Of what a small model writes about some lines, the sentences whose words come from those lines, told as each one is whole:
 * what it adds of its own is mostly made up. Never changes a sentence.
 */
import { isFaithful, wordsKey } from './faithful.js';

/** The least share of a sentence's words that stand in the lines or the question. */
const LEAST_SHARE = 0.7;

/** Where a sentence ends and another begins; a line is one too. */
const boundary = /(?<=[.!?。！？]["'`)\]]*)\s+|\n+|(?<=[。！？])/u;

export class KeptSentences {
  private readonly said = new Set<string>();
  private readonly kept: string[] = [];
  private rest = '';
  private inBlock = false;

  /** `shown`: the lines and the question; `begin`: what the answer was begun with; `onText` hears what is kept. */
  constructor(
    private readonly shown: string,
    private readonly begin: string,
    private readonly onText?: (text: string) => void,
  ) {}

  /** More of the model's text. */
  push(text: string): void {
    const parts = (this.rest + text).split(boundary);
    this.rest = parts.pop()!;
    for (const part of parts) this.judge(part);
  }

  /** All that was kept; the last sentence counts if it `isWhole`. */
  end(isWhole: boolean): string {
    if (isWhole || /[.!?。！？]["'`)\]]*$/u.test(this.rest)) this.judge(this.rest);
    this.rest = '';
    return this.kept.join(' ');
  }

  private judge(part: string): void {
    const sentence = part.trim();
    const isFence = sentence.startsWith('```');
    if (isFence) this.inBlock = !this.inBlock;
    if (sentence === '' || isFence || this.inBlock) return;
    const begin = sentence.startsWith(this.begin) ? this.begin : '';
    if (!isFaithful(sentence.slice(begin.length), this.shown, begin, LEAST_SHARE)) return;
    const key = wordsKey(sentence);
    if (this.said.has(key)) return;
    this.said.add(key);
    this.onText?.(this.kept.length === 0 ? sentence : ` ${sentence}`);
    this.kept.push(sentence);
  }
}
