/**
 * One row of the coverage ledger, its key and its bytes: a JSON object in an envelope (`frame.ts`), kind 2, layout 1.
 * Never touches the disk.
 */
import { createHash } from 'node:crypto';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { FrameKind, frame, unframe } from './frame.js';

export const LEDGER_STATES = ['waiting', 'reading', 'read', 'stale', 'coarse', 'skipped'] as const;
export type LedgerState = (typeof LEDGER_STATES)[number];

/** What is known of one file that was seen. */
export interface LedgerRow {
  /** Relative to the workspace, with `/`. A folder that is skipped as a whole ends with `/`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
  /** SHA-256 of the file's bytes, 64 hex digits; empty while the file was never read. */
  readonly contentHash: string;
  readonly state: LedgerState;
  /** Why it is skipped, or what went wrong. */
  readonly reason?: string;
  /** Tokens read, the prefix included. */
  readonly tokens?: number;
  /** Recall slots of each head. */
  readonly slots?: number;
  /** Milliseconds since 1970. */
  readonly readAt?: number;
  /** Key of the file memory this row stands on; such memories are never collected. */
  readonly memoryKey?: string;
}

const LAYOUT_VERSION = 1;
/** Longest path that is a key as it is, in bytes; LMDB's own limit is 1,978. */
const MOST_KEY_BYTES = 1024;

/** Key of a row: the path in UTF-8; a longer one is cut and continued by 0xff (never in UTF-8) and its SHA-256. */
export function ledgerKey(path: string): Uint8Array {
  const bytes = Buffer.from(path, 'utf8');
  if (bytes.byteLength <= MOST_KEY_BYTES) return bytes;
  const hash = createHash('sha256').update(bytes).digest();
  return Buffer.concat([bytes.subarray(0, MOST_KEY_BYTES - 33), Buffer.from([0xff]), hash]);
}

export function encodeLedgerRow(row: LedgerRow): Uint8Array {
  return frame(FrameKind.ledgerRow, LAYOUT_VERSION, Buffer.from(JSON.stringify(row), 'utf8'));
}

export function decodeLedgerRow(bytes: Uint8Array): Result<LedgerRow> {
  const unframed = unframe(FrameKind.ledgerRow, LAYOUT_VERSION, bytes);
  if (!unframed.ok) return unframed;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(unframed.value).toString('utf8'));
  } catch {
    return failed('not JSON');
  }
  return isLedgerRow(value) ? ok(value) : failed('not a ledger row');
}

function isLedgerRow(value: unknown): value is LedgerRow {
  if (typeof value !== 'object' || value === null) return false;
  const row = value as Record<string, unknown>;
  return (
    typeof row.path === 'string' &&
    typeof row.size === 'number' &&
    typeof row.mtimeMs === 'number' &&
    typeof row.contentHash === 'string' &&
    LEDGER_STATES.includes(row.state as LedgerState) &&
    ['tokens', 'slots', 'readAt'].every(name => row[name] === undefined || typeof row[name] === 'number') &&
    ['reason', 'memoryKey'].every(name => row[name] === undefined || typeof row[name] === 'string')
  );
}
