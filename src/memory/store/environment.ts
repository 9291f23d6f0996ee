/**
 * Opens the LMDB environment of one store and says in one line what went wrong when it cannot. The only importer of
 * `lmdb`. Never looks into values: that is `store.ts`.
 */
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';
import { LongviewError, codeOf, messageOf } from '../../base/index.js';
import type { ErrorCode, Log } from '../../base/index.js';
import { inspectDataFile } from './data-file.js';
import { othersOpen, putMark, removeMarks } from './open-marks.js';
import type { OpenMark } from './open-marks.js';

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

export interface Environment extends Databases {
  close(): Promise<void>;
}

export const DATA_FILE = 'data.mdb';
export const LOCK_FILE = 'lock.mdb';
export const ASIDE_FILE = 'damaged.mdb';
/** How long opening waits for a process that compacts the store. */
const MOST_WAIT_MS = 30_000;
const WAIT_MS = 50;
/** Only the owner reads what the store says about their files. */
const OWNER_ONLY = 0o600;

/**
 * Opens or makes the environment in `folder`. A damaged data file is moved to `damaged.mdb` (a former one is replaced)
 * and a new environment takes its place. After a process that did not close the store, all pages are checked before LMDB
 * maps them: had a broken page ended that process, it would end this one too. Throws `LongviewError` (`permission`,
 * `disk-full`, `unsupported`, `internal`).
 */
export async function openEnvironment(folder: string, log: Log): Promise<Environment> {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
    throw new LongviewError('unsupported', 'The store needs a little-endian processor.');
  }
  let mark: OpenMark | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    mark = await markOpen(folder);
    await replaceIfDamaged(folder, mark, log);
    const { path } = mark;
    const databases = openDatabases(folder);
    const close = async (): Promise<void> => {
      await databases.root.close();
      await removeMarks([path]);
    };
    return { ...databases, close };
  } catch (error) {
    if (mark !== undefined) await removeMarks([mark.path]).catch(() => undefined);
    throw storeError(error, folder);
  }
}

/** Puts the mark of an open store, once no process that must be alone is at work. */
async function markOpen(folder: string): Promise<OpenMark> {
  for (let waited = 0; ; waited += WAIT_MS) {
    const mark = await putMark(folder, 'open');
    if (!(await othersOpen(folder, mark)).alone) return mark;
    await removeMarks([mark.path]);
    if (waited >= MOST_WAIT_MS) {
      throw new LongviewError('locked', `The store in ${folder} is being compacted. Try again in a minute.`);
    }
    await sleep(WAIT_MS);
  }
}

async function replaceIfDamaged(folder: string, mark: OpenMark, log: Log): Promise<void> {
  const data = join(folder, DATA_FILE);
  const before = await othersOpen(folder, mark);
  const found = await inspectDataFile(data, before.left.length > 0 && !before.live);
  // Beside a writer pages change while they are followed: only what both meta pages say counts then.
  const others = await othersOpen(folder, mark);
  if (found.state === 'damaged' && (found.byMeta === true || !others.live)) {
    log('warning', `The store in ${folder} is damaged (${found.reason ?? 'unknown'}); it is kept as ${ASIDE_FILE}.`);
    await rename(data, join(folder, ASIDE_FILE));
    await rm(join(folder, LOCK_FILE), { force: true });
  }
  await removeMarks(before.left);
}

/** Opens all databases of a folder that holds a sound data file or none. */
export function openDatabases(folder: string): Databases {
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
  const advice = 'If that stays so, delete this folder: the files are read again.';
  return new LongviewError(code, `The store in ${folder} failed (${messageOf(error)}). ${advice}`, options);
}
