/**
 * Opens the LMDB environment of one store and says in one line what went wrong when it cannot. The only importer of
 * `lmdb`. Never looks into values: that is `store.ts`.
 */
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';
import { LongviewError, codeOf, messageOf } from '../../base/index.js';
import type { ErrorCode, Log } from '../../base/index.js';
import { inspectDataFile } from './data-file.js';

/** A database of bytes under keys of bytes, ordered by the keys' bytes. */
export type ByteDatabase = Database<Buffer, Uint8Array>;

export interface Environment {
  readonly root: RootDatabase<Buffer, Uint8Array>;
  readonly format: ByteDatabase;
  readonly ledger: ByteDatabase;
  readonly memories: ByteDatabase;
  readonly stamps: ByteDatabase;
  readonly blobs: ByteDatabase;
  readonly lease: ByteDatabase;
}

const DATA_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';
const ASIDE_FILE = 'damaged.mdb';
/** Only the owner reads what the store says about their files. */
const OWNER_ONLY = 0o600;

/**
 * Opens or makes the environment in `folder`. A damaged data file is moved to `damaged.mdb` (a former one is replaced)
 * and a new environment takes its place. Throws `LongviewError` (`permission`, `disk-full`, `unsupported`, `internal`).
 */
export async function openEnvironment(folder: string, log: Log): Promise<Environment> {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
    throw new LongviewError('unsupported', 'The store needs a little-endian processor.');
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await inspectDataFile(join(folder, DATA_FILE));
    if (found.state === 'damaged') {
      log('warning', `The store in ${folder} is damaged (${found.reason ?? 'unknown'}); it is kept as ${ASIDE_FILE}.`);
      await rename(join(folder, DATA_FILE), join(folder, ASIDE_FILE));
      await rm(join(folder, LOCK_FILE), { force: true });
    }
    return openDatabases(folder);
  } catch (error) {
    throw storeError(error, folder);
  }
}

function openDatabases(folder: string): Environment {
  const options = {
    path: folder,
    noSubdir: false,
    maxDbs: 8,
    encoding: 'binary' as const,
    keyEncoding: 'binary' as const,
    // A commit returns once it is on the disk; kill -9 and a power cut lose nothing that was acknowledged.
    overlappingSync: false,
    permissionsMode: OWNER_ONLY,
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
  return new LongviewError(code, `The store in ${folder} failed: ${messageOf(error)}`, options);
}
