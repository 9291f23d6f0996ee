/**
 * Writes a store anew, entry by entry, and puts the new file in place of the old one: what was deleted leaves no byte behind
 * (LMDB keeps it in free pages and in gaps of pages), and the file shrinks. Never works on a store that anyone has open.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BulkWriter } from './bulk-writer.js';
import { inspectDataFile } from './data-file.js';
import { ASIDE_FILE, CONTENT, DATA_FILE, LOCK_FILE, openDatabases, storeError } from './databases.js';
import { othersOpen, putMark, removeMarks } from './open-marks.js';

export const COPY_FOLDER = 'compacting';
/** There as long as the data file may hold bytes of what was forgotten. */
const COMPACT_MARK = 'compact';
/** Two that want to be alone at once step back both; not for the same time (milliseconds). */
const WAIT_MS = 50;
const TRIES = 20;

/** Has the store compacted by whoever closes it last, or opens it next. To be called before the deletions are committed. */
export function markForCompaction(folder: string): void {
  writeFileSync(join(folder, COMPACT_MARK), '');
}

export function isMarkedForCompaction(folder: string): boolean {
  return existsSync(join(folder, COMPACT_MARK));
}

/**
 * Compacts the closed store in `folder`. `in use`: some process, perhaps this one, has it open; nothing was done. Processes that
 * open it meanwhile wait. A copy that was damaged earlier and set aside goes too. Killed half-way it leaves the store as it
 * was. Throws a `LongviewError` (`disk-full`: it needs room for a second copy; `permission`; `internal`).
 */
export async function compactStore(folder: string): Promise<'compacted' | 'in use'> {
  try {
    for (let tries = 1; ; tries++) {
      const done = await tryToCompact(folder);
      if (done !== 'not alone') return done;
      if (tries === TRIES) return 'in use';
      await sleep(WAIT_MS * (0.5 + Math.random()));
    }
  } catch (error) {
    throw storeError(error, folder);
  }
}

async function tryToCompact(folder: string): Promise<'compacted' | 'in use' | 'not alone'> {
  const mark = await putMark(folder, 'alone');
  try {
    const others = await othersOpen(folder, mark);
    if (others.live) return 'in use';
    if (others.alone) return 'not alone';
    await compactAlone(folder);
    return 'compacted';
  } finally {
    await removeMarks([mark.path]);
  }
}

/** The same under a mark that keeps all others out. */
export async function compactAlone(folder: string): Promise<void> {
  const copy = join(folder, COPY_FOLDER);
  try {
    const found = await inspectDataFile(join(folder, DATA_FILE), true);
    await rm(copy, { recursive: true, force: true });
    // A damaged file is left to `openStore`, which says so.
    if (found.state === 'sound') {
      await copyAll(folder, copy);
      await rename(join(copy, DATA_FILE), join(folder, DATA_FILE));
      await rm(join(folder, LOCK_FILE), { force: true });
    }
    await rm(join(folder, ASIDE_FILE), { force: true });
    if (found.state !== 'damaged') await rm(join(folder, COMPACT_MARK), { force: true });
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function copyAll(from: string, to: string): Promise<void> {
  const source = openDatabases(from);
  try {
    const target = openDatabases(to);
    try {
      const copy = new BulkWriter(target);
      for (const name of CONTENT) for (const { key, value } of source[name].getRange()) copy.put(name, key, value);
      copy.flush();
    } finally {
      await target.root.close();
    }
  } finally {
    await source.root.close();
  }
}
