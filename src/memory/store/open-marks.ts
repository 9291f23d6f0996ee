/**
 * Marks of the processes that have a store open: one small file each, written before the store is opened and removed when it
 * is closed. A mark of a process that is gone tells that it did not close the store. A process that must be alone (to
 * replace the data file) puts an exclusive mark. Each puts its mark first and looks for others then, so of two at least one
 * sees the other and steps back.
 */
import { randomUUID } from 'node:crypto';
import { readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../base/index.js';
import { isRunning, thisProcess } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';

export type MarkKind = 'open' | 'alone';

export interface OpenMark {
  /** Full path of this process's mark. */
  readonly path: string;
}

export interface OthersOpen {
  /** Another store object, of this process or of one that may still run, has the store open. */
  readonly live: boolean;
  /** One that must be alone is at work. */
  readonly alone: boolean;
  /** Marks of processes that are gone. */
  readonly left: readonly string[];
}

const MARK = /^(open|alone)-/;
/** Being written: no mark yet. */
const DRAFT = 'mark-';
const TRIES = 3;
/** Being alone takes seconds; a process of another host that has been for so long (milliseconds) is gone. */
const LONGEST_ALONE = 3_600_000;

export async function putMark(folder: string, kind: MarkKind): Promise<OpenMark> {
  const name = randomUUID();
  const draft = join(folder, DRAFT + name);
  const path = join(folder, `${kind}-${name}`);
  // A process that is killed here leaves no mark that nobody can read.
  for (let tries = 1; ; tries++) {
    await writeFile(draft, JSON.stringify(thisProcess()), { mode: 0o600 });
    try {
      await rename(draft, path);
      return { path };
    } catch (error) {
      // `removeDrafts` of another process was faster.
      if (codeOf(error) !== 'not-found' || tries === TRIES) throw error;
    }
  }
}

export async function removeMarks(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

/** `own` is not looked at; without one, all marks are. */
export async function othersOpen(folder: string, own?: OpenMark): Promise<OthersOpen> {
  const left: string[] = [];
  let live = false;
  let alone = false;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!MARK.test(name) || path === own?.path) continue;
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) continue; // Just removed.
    const identity = parseMark(text);
    const isExclusive = name.startsWith('alone');
    const runs = identity && (isRunning(identity) ?? !(isExclusive && (await isOld(path, own))));
    if (!runs) left.push(path);
    else if (isExclusive) alone = true;
    else live = true;
  }
  return { live, alone, left };
}

/** Drafts of marks that their processes did not finish. Only for one that is alone: another may be writing one. */
export async function removeDrafts(folder: string): Promise<void> {
  const names = await readdir(folder);
  await removeMarks(names.filter(name => name.startsWith(DRAFT)).map(name => join(folder, name)));
}

/** By the clock of the disk that both marks lie on. */
async function isOld(path: string, own: OpenMark | undefined): Promise<boolean> {
  const [other, mine] = await Promise.all([path, own?.path ?? path].map(name => stat(name).catch(() => undefined)));
  return other !== undefined && mine !== undefined && mine.mtimeMs - other.mtimeMs > LONGEST_ALONE;
}

function parseMark(text: string): ProcessIdentity | undefined {
  try {
    const value = JSON.parse(text) as Partial<ProcessIdentity>;
    return typeof value.pid === 'number' && typeof value.started === 'string' && typeof value.host === 'string'
      ? { pid: value.pid, started: value.started, host: value.host }
      : undefined;
  } catch {
    return undefined;
  }
}
