/** Why a file is not read, and what the walk says of one file. Types only. */

export type SkipReason =
  | 'ignored'
  | 'binary'
  | 'generated'
  | 'minified'
  | 'lock file'
  | 'too large'
  | 'encoding'
  | 'secret'
  | 'unreadable'
  | 'outside workspace'
  | 'link'
  | 'empty';

export type Verdict =
  | { readonly read: true }
  /** `detail` is for people: the rule, the marker, the error. */
  | { readonly read: false; readonly reason: SkipReason; readonly detail?: string };

export const READ: Verdict = { read: true };

export function skip(reason: SkipReason, detail?: string): Verdict {
  return detail === undefined ? { read: false, reason } : { read: false, reason, detail };
}

/** One row of the walk: a file, or a folder that is skipped as a whole. */
export interface WalkedFile {
  /** Relative to the root, with `/`, spelled as the file system spells it. A folder ends with `/`. */
  readonly path: string;
  readonly absolutePath: string;
  /** Bytes; 0 for a folder. */
  readonly size: number;
  /** Milliseconds since 1970; 0 if not known. */
  readonly mtimeMs: number;
  readonly verdict: Verdict;
}
