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
    for (const row of rows) this.left -= tokensWithGist(partsOf(row));
  }

  /** `row`: what is known of the file so far. */
  isFor(row: LedgerRow | undefined): boolean {
    const hadGist = row !== undefined && partsOf(row).some(part => !part.noGist);
    return this.settings.stateTokens > 0 && (hadGist || this.left > 0);
  }

  /** The file's memory was of the parts `before`; now it is of `parts`. */
  changed(before: readonly FilePart[], parts: readonly FilePart[]): void {
    this.left += tokensWithGist(before) - tokensWithGist(parts);
  }
}

function tokensWithGist(parts: readonly FilePart[]): number {
  return parts.reduce((sum, { tokens, noGist }) => sum + (noGist ? 0 : tokens), 0);
}
