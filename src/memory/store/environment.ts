/**
 * Opens the environment of one store: alone, after a look at all of its pages, or beside the processes that have it open;
 * to read only, where nothing may be written. What is damaged is built anew from what is left of it (`salvage.ts`). Never
 * looks into values: that is `store.ts`.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongviewError, codeOf, makeFolder, messageOf } from '../../base/index.js';
import type { Log } from '../../base/index.js';
import { COPY_FOLDER, compactAlone, isMarkedForCompaction } from './compact.js';
import { inspectDataFile } from './data-file.js';
import { ASIDE_FILE, DATA_FILE, LOCK_FILE, openDatabases, storeError } from './databases.js';
import type { Databases } from './databases.js';
import { othersOpen, putMark, removeDrafts, removeMarks } from './open-marks.js';
import type { OpenMark } from './open-marks.js';
import { SALVAGE_FOLDER, salvage } from './salvage.js';

/** Why nothing can be written. */
export interface ReadOnly {
  readonly code: 'permission' | 'disk-full';
  readonly reason: string;
}

export interface Environment extends Databases {
  /** `undefined` where it can be written. */
  readonly readOnly: ReadOnly | undefined;
  close(): Promise<void>;
}

export interface OpenEnvironmentOptions {
  readonly log: Log;
  /** LMDB met a broken page: open nothing before all pages were looked at. */
  readonly isDamaged?: boolean;
}

/** How long opening waits for a process that checks or compacts the store, in milliseconds. */
const MOST_WAIT_MS = 30_000;
const WAIT_MS = 50;
/** There from when a process met a broken page until all pages were looked at. */
const DAMAGE_MARK = 'damaged';

/**
 * Opens or makes the environment in `folder`. Throws `LongviewError` (`permission`, `disk-full`, `locked`, `unsupported`,
 * `bad-format` for a damaged store that cannot be written, `internal`).
 */
export async function openEnvironment(folder: string, options: OpenEnvironmentOptions): Promise<Environment> {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
    throw new LongviewError('unsupported', 'The store needs a little-endian processor.');
  }
  let mark: OpenMark | undefined;
  try {
    makeFolder(folder, { existsSync, mkdirSync, dirname }, 0o700);
    mark = await enter(folder, options);
    const { path } = mark;
    const databases = openDatabases(folder);
    const close = async (): Promise<void> => {
      await databases.root.close();
      await removeMarks([path]);
    };
    return { ...databases, readOnly: undefined, close };
  } catch (error) {
    if (mark !== undefined) await removeMarks([mark.path]).catch(() => undefined);
    const failure = storeError(error, folder);
    const code = codeOf(failure);
    if ((code !== 'permission' && code !== 'disk-full') || !existsSync(join(folder, DATA_FILE))) throw failure;
    return openToRead(folder, { code, reason: reasonOf(error, code) }, failure);
  }
}

function reasonOf(error: unknown, code: ReadOnly['code']): string {
  if (code === 'disk-full') return 'the disk is full';
  const isDisk = ['EROFS', 30].includes((error as { code?: string | number }).code ?? '');
  return isDisk ? 'the disk is read-only' : 'this user may not write there';
}

/** The mark of an open store, put after all pages were looked at or beside others that have it open. */
async function enter(folder: string, options: OpenEnvironmentOptions): Promise<OpenMark> {
  if (options.isDamaged === true) await putDamageMark(folder);
  for (let waited = 0; ;) {
    const alone = await putMark(folder, 'alone');
    try {
      const others = await othersOpen(folder, alone);
      if (!others.live && !others.alone) {
        await makeSound(folder, options.log);
        await removeMarks([...others.left, join(folder, DAMAGE_MARK)]);
        await removeDrafts(folder);
        await compactIfMarked(folder, options.log);
        return await putMark(folder, 'open');
      }
    } finally {
      await removeMarks([alone.path]);
    }
    const open = await putMark(folder, 'open');
    const others = await othersOpen(folder, open);
    if (others.live && !others.alone) {
      try {
        await checkBesideOthers(folder);
        return open;
      } catch (error) {
        await removeMarks([open.path]);
        throw error;
      }
    }
    await removeMarks([open.path]);
    if (waited >= MOST_WAIT_MS) {
      throw new LongviewError('locked', `The store in ${folder} is being checked or compacted. Try again in a minute.`);
    }
    // Two that try at once step back both; not for the same time.
    const pause = WAIT_MS * (0.5 + Math.random());
    waited += pause;
    await sleep(pause);
  }
}

/** What another process forgot while this store was open elsewhere, or before it was killed. */
async function compactIfMarked(folder: string, log: Log): Promise<void> {
  if (!isMarkedForCompaction(folder)) return;
  try {
    await compactAlone(folder);
  } catch (error) {
    log('info', `The store was not compacted: ${messageOf(error)}`);
  }
}

async function checkBesideOthers(folder: string): Promise<void> {
  const found = await inspectDataFile(join(folder, DATA_FILE), false);
  if (found.state !== 'damaged' && !existsSync(join(folder, DAMAGE_MARK))) return;
  throw new LongviewError(
    'locked',
    `The store in ${folder} is damaged and another Longview has it open. Close the other windows and runs and try again.`,
  );
}

/** Looks at all pages of a store that nobody has open, and builds it anew where one is broken. */
async function makeSound(folder: string, log: Log): Promise<void> {
  const [data, aside] = [join(folder, DATA_FILE), join(folder, ASIDE_FILE)];
  // Killed while a damaged file was replaced, on a disk that knows no links.
  if (!existsSync(data) && existsSync(aside)) await rename(aside, data);
  for (const leftOver of [SALVAGE_FOLDER, COPY_FOLDER]) {
    await rm(join(folder, leftOver), { recursive: true, force: true });
  }
  const found = await inspectDataFile(data, true);
  if (found.state !== 'damaged') return;
  log('warning', `The store in ${folder} is damaged (${found.reason}); what is sound of it is kept.`);
  const { memories, isWhole } = await salvage(folder).catch(async (error: unknown) => {
    // Half of a copy would only fill the disk.
    await rm(join(folder, SALVAGE_FOLDER), { recursive: true, force: true });
    throw error;
  });
  await rm(aside, { force: true });
  if (!isWhole) await link(data, aside).catch(() => rename(data, aside));
  await rename(join(folder, SALVAGE_FOLDER, DATA_FILE), data);
  await rm(join(folder, LOCK_FILE), { force: true });
  await rm(join(folder, SALVAGE_FOLDER), { recursive: true, force: true });
  const rest = isWhole ? 'nothing was lost' : `the rest is read again, and the damaged file is kept as ${ASIDE_FILE}`;
  log('warning', `The store in ${folder} is sound again with ${memories} file memories; ${rest}.`);
}

/** Opens what may be read and not be written. */
async function openToRead(folder: string, readOnly: ReadOnly, failure: Error): Promise<Environment> {
  try {
    const others = await othersOpen(folder);
    const found = await inspectDataFile(join(folder, DATA_FILE), !others.live && !others.alone);
    if (found.state === 'fresh') throw failure;
    if (found.state === 'damaged') {
      throw new LongviewError(
        'bad-format',
        `The memory in ${folder} is damaged (${found.reason}) and cannot be repaired where it cannot be written.`,
      );
    }
    const databases = openDatabases(folder, true);
    return { ...databases, readOnly, close: () => databases.root.close() };
  } catch (error) {
    throw storeError(error, folder);
  }
}

async function putDamageMark(folder: string): Promise<void> {
  await rename((await putMark(folder, 'open')).path, join(folder, DAMAGE_MARK));
}
