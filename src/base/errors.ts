/**
 * Errors with codes. A bad or stale input is a value (`Result`); an exception is a bug or ends the user's request.
 * Never formats for one surface: the CLI and the editor print `message`, which is one line and says what to do.
 */

/** Machine-readable kinds of failure; the CLI prints them in `--json`, tests assert them. */
export type ErrorCode =
  | 'cancelled'
  | 'usage'
  | 'not-found'
  | 'bad-format'
  | 'unsupported'
  | 'hash-mismatch'
  | 'network'
  | 'disk-full'
  | 'permission'
  | 'locked'
  | 'stale'
  | 'out-of-memory'
  | 'engine-crashed'
  | 'internal';

/** A failure the user may see: one line, with what to do. */
export class LongviewError extends Error {
  override readonly name = 'LongviewError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** A value or the reason why there is none. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export function ok<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/** Throws a `cancelled` error if the signal is aborted. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new LongviewError('cancelled', 'Cancelled.');
}

// eslint-disable-next-line no-control-regex -- what no line of text may hold
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const FOREIGN_LENGTH = 250;

/** One line of text for any thrown value; that of others' errors, which quote what they choke on, is cut. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = (text.split('\n', 1)[0] ?? text).replace(UNPRINTABLE, '\ufffd');
  return error instanceof LongviewError || line.length <= FOREIGN_LENGTH ? line : `${line.slice(0, FOREIGN_LENGTH)}…`;
}

const QUOTED_LENGTH = 80;

/** A value out of somebody's file for a message: one line, at most some 80 characters, whatever it holds. */
export function quoted(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  const text = JSON.stringify(value.slice(0, QUOTED_LENGTH + 1)).replace(UNPRINTABLE, '\ufffd');
  return text.length <= QUOTED_LENGTH + 2 ? text : `${text.slice(0, QUOTED_LENGTH)}…"`;
}

/** The code of any thrown value; anything unknown is `internal`. */
export function codeOf(error: unknown): ErrorCode {
  if (error instanceof LongviewError) return error.code;
  const code = (error as { code?: unknown } | null)?.code;
  if (code === 'ENOSPC') return 'disk-full';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'permission';
  if (code === 'ENOENT') return 'not-found';
  if (error instanceof Error && error.name === 'AbortError') return 'cancelled';
  return 'internal';
}
