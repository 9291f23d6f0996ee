/**
 * Which files are read with a gist: those of the first so many tokens of a workspace, and those that had one before. The
 * others are read for recall alone, where that is faster (engine/model, `lower`). Never reads files.
 */
import type { MemorySettings } from './settings.js';
import { partsOf, type FilePart, type LedgerRow } from './store/index.js';

export class GistRoom {
  /** Tokens that still fit. */
  private left: number;

  constructor(
    rows: readonly LedgerRow[],
    private readonly settings: Pick<MemorySettings, 'stateTokens'>,
  ) {
    this.left = settings.stateTokens;
    for (const row of rows) for (const part of partsOf(row)) this.take(part);
  }

  /** `row`: what is known of the file so far. */
  isFor(row: LedgerRow | undefined): boolean {
    const hadGist = row !== undefined && partsOf(row).some(part => !part.noGist);
    return this.settings.stateTokens > 0 && (hadGist || this.left > 0);
  }

  take({ tokens, noGist }: Pick<FilePart, 'tokens' | 'noGist'>): void {
    if (!noGist) this.left -= tokens;
  }
}
