/**
 * The record that says whose store this is and which format its values have. Never migrates: a store of another format
 * is cleared by `openStore` and filled again by reading the files.
 *
 * Databases of one environment (names in LMDB's unnamed database), all values in envelopes (`frame.ts`):
 *
 *   NAME      KEY                                   VALUE
 *   format    "store"                               this record, kind 4
 *   ledger    path (`ledger-row.ts`)                one row, kind 2
 *   memories  `fileMemoryKey` (`file-memory.ts`)    one file memory, kind 1
 *   stamps    `fileMemoryKey`                       when, how large, which path (`stamp.ts`), kind 6
 *   blobs     name                                  bytes of the caller, kind 3
 *   lease     "reader"                              who reads the workspace (`reader-lease.ts`), kind 5
 *
 * Payload of this record, numbers little-endian:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     format of the store: `STORE_FORMAT`
 *   4       4     N, bytes of the path
 *   8       N     real path of the workspace, UTF-8
 *
 * `STORE_FORMAT` goes up whenever a reader of the former format could misread any value, key or database name.
 */
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { FrameKind, frame, unframe } from './frame.js';

export const STORE_FORMAT = 1;

export interface FormatRecord {
  readonly format: number;
  /** Real path of the workspace. */
  readonly workspace: string;
}

/** Layout of the record itself; it stays so that any version can tell which format it has before it. */
const RECORD_LAYOUT = 1;

export function encodeFormatRecord(record: FormatRecord): Uint8Array {
  const path = Buffer.from(record.workspace, 'utf8');
  const payload = Buffer.alloc(8 + path.byteLength);
  payload.writeUInt32LE(record.format, 0);
  payload.writeUInt32LE(path.byteLength, 4);
  payload.set(path, 8);
  return frame(FrameKind.format, RECORD_LAYOUT, payload);
}

export function decodeFormatRecord(bytes: Uint8Array): Result<FormatRecord> {
  const unframed = unframe(FrameKind.format, RECORD_LAYOUT, bytes);
  if (!unframed.ok) return unframed;
  const payload = Buffer.from(unframed.value);
  if (payload.byteLength < 8 || payload.readUInt32LE(4) !== payload.byteLength - 8) return failed('wrong length');
  return ok({ format: payload.readUInt32LE(0), workspace: payload.toString('utf8', 8) });
}
