/**
 * The LMDB environment of a store and its databases, and what went wrong with them in one line. The only importer of `lmdb`.
 * Never looks into values, and never opens a file that was not looked at (`environment.ts`).
 */
import { createRequire } from 'node:module';
import type * as Lmdb from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';
import { LongviewError, codeOf, messageOf, nativeFailure, systemReason } from '../../base/index.js';
import type { ErrorCode } from '../../base/index.js';

const { open } = load();

/** Says in one line where the native part is missing. */
function load(): typeof Lmdb {
  try {
    return createRequire(import.meta.url)('lmdb') as typeof Lmdb;
  } catch (error) {
    throw nativeFailure('lmdb', `${process.platform}-${process.arch}`, error);
  }
}

/** A database of bytes under keys of bytes, ordered by the keys' bytes. */
export type ByteDatabase = Database<Buffer, Uint8Array>;

export interface Databases {
  readonly root: RootDatabase<Buffer, Uint8Array>;
  readonly format: ByteDatabase;
  readonly ledger: ByteDatabase;
  readonly memories: ByteDatabase;
  readonly stamps: ByteDatabase;
  readonly blobs: ByteDatabase;
  readonly lease: ByteDatabase;
}

/** The databases whose entries are the store's content. */
export const CONTENT = ['format', 'ledger', 'memories', 'stamps', 'blobs'] as const;
export type ContentName = (typeof CONTENT)[number];

export const DATA_FILE = 'data.mdb';
export const LOCK_FILE = 'lock.mdb';
/** What is left of a damaged data file that could not be saved whole. */
export const ASIDE_FILE = 'damaged.mdb';
/** Only the owner reads what the store says about their files. */
const OWNER_ONLY = 0o600;

/** Opens all databases of a folder that holds a sound data file or, unless `readOnly`, none. */
export function openDatabases(folder: string, readOnly = false): Databases {
  const options = {
    path: folder,
    noSubdir: false,
    maxDbs: 8,
    encoding: 'binary' as const,
    keyEncoding: 'binary' as const,
    // A commit returns once it is on the disk; kill -9 and a power cut lose nothing that was acknowledged.
    overlappingSync: false,
    permissionsMode: OWNER_ONLY,
    readOnly,
  };
  const root = open<Buffer, Uint8Array>(options);
  const database = (name: string): ByteDatabase =>
    root.openDB<Buffer, Uint8Array>({ name, encoding: 'binary', keyEncoding: 'binary' });
  return {
    root,
    format: database('format'),
    ledger: database('ledger'),
    memories: database('memories'),
    stamps: database('stamps'),
    blobs: database('blobs'),
    lease: database('lease'),
  };
}

/** LMDB's numbers for what only damaged pages bring about: from MDB_PANIC to MDB_PAGE_NOTFOUND, and MDB_BAD_TXN. */
const DAMAGE = [-30795, -30796, -30797, -30793, -30782, -30779];

/** Numbers that LMDB gives besides names: errno of the host, and its own. */
const NUMBERED: Readonly<Record<number, ErrorCode>> =
  process.platform === 'win32'
    ? { 5: 'permission', 19: 'permission', 39: 'disk-full', 112: 'disk-full', [-30792]: 'disk-full' }
    : {
        1: 'permission',
        13: 'permission',
        30: 'permission',
        // EIO: LMDB's word for a write that was cut short, which a full disk or a quota does.
        5: 'disk-full',
        27: 'disk-full',
        28: 'disk-full',
        122: 'disk-full',
        [-30792]: 'disk-full',
      };

/** Whether LMDB failed on a page that is not what it must be. */
export function isDamage(error: unknown): boolean {
  const number = (error as { code?: unknown } | null)?.code;
  return typeof number === 'number' && DAMAGE.includes(number);
}

/** Any failure of the store as a `LongviewError` of one line; bugs of the caller (`RangeError`, `TypeError`) as they are. */
export function storeError(error: unknown, folder: string): Error {
  if (error instanceof LongviewError || error instanceof RangeError || error instanceof TypeError) return error;
  const number = (error as { code?: unknown } | null)?.code;
  const code = (typeof number === 'number' ? NUMBERED[number] : undefined) ?? codeOf(error);
  const options = { cause: error };
  if (code === 'disk-full') {
    return new LongviewError(
      code,
      `Could not write to ${folder}: the disk is full or fails. Free some space.`,
      options,
    );
  }
  if (code === 'permission') {
    return new LongviewError(code, `May not write to ${folder}. Allow it or choose another data folder.`, options);
  }
  const reason = systemReason(error);
  if (reason !== undefined) return new LongviewError(code, `The store ${folder} ${reason}.`, options);
  const advice = 'If that stays so, delete this folder: the files are read again.';
  return new LongviewError(code, `The store in ${folder} failed (${messageOf(error)}). ${advice}`, options);
}
