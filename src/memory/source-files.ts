/**
 * What the memory asks of the folder: which files there are, and the text of one. `open.ts` makes it of the walker;
 * tests may make their own. Paths are relative to the folder, with `/`.
 */
import type { Result } from '../base/index.js';

/** A file or folder that was seen. */
export interface SeenFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** Why it is not read, when it is not. */
  readonly skipped?: string;
}

export interface SourceText {
  readonly text: string;
  /** SHA-256 of the bytes, hex. */
  readonly contentHash: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export interface SourceFiles {
  /** All files of the folder, the skipped too, in the order in which they are best read. */
  walk(signal?: AbortSignal): AsyncIterable<SeenFile>;
  /** Text and hash of one file, or why it has none. Never throws for a bad file. */
  read(path: string, signal?: AbortSignal): Promise<Result<SourceText>>;
}
