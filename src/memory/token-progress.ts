/** Progress of reading files, in tokens of a total that is estimated from their bytes. Never reads anything. */
import type { ProgressListener } from '../base/index.js';

/** Bytes of a token before anything is known; refined while reading. */
const BYTES_PER_TOKEN = 3.5;

export class TokenProgress {
  private readonly bytesAfter: number[];
  private tokens = 0;
  private bytes = 0;

  constructor(
    private readonly sizes: readonly number[],
    private readonly listener: ProgressListener | undefined,
  ) {
    this.bytesAfter = sizes.map(() => 0);
    for (let at = sizes.length - 2; at >= 0; at--) this.bytesAfter[at] = this.bytesAfter[at + 1]! + sizes[at + 1]!;
    this.report(
      sizes.reduce((sum, size) => sum + size, 0),
      0,
      0,
      undefined,
    );
  }

  within(at: number, tokens: number, item: string): void {
    const ofFile = this.sizes[at]! / this.bytesPerToken();
    this.report(this.bytesAfter[at]!, tokens, at, item, Math.max(0, ofFile - tokens));
  }

  after(at: number, tokens: number, item: string): void {
    if (tokens > 0) {
      this.tokens += tokens;
      this.bytes += this.sizes[at]!;
    }
    this.report(this.bytesAfter[at]!, 0, at + 1, item);
  }

  private report(
    bytesLeft: number,
    tokensOfFile: number,
    filesDone: number,
    item: string | undefined,
    leftOfFile = 0,
  ): void {
    const done = this.tokens + tokensOfFile;
    const total = Math.ceil(done + leftOfFile + bytesLeft / this.bytesPerToken());
    const files = { done: filesDone, total: this.sizes.length };
    this.listener?.({ task: 'Reading', done, total, unit: 'tokens', item, files });
  }

  private bytesPerToken(): number {
    return this.tokens > 1000 && this.bytes > 0 ? this.bytes / this.tokens : BYTES_PER_TOKEN;
  }
}
