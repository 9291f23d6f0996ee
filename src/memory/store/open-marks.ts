/**
 * Marks of the processes that have a store open: one small file each, written before the store is opened and removed when it
 * is closed. A mark of a process that is gone tells that it did not close the store. A process that must be alone (to
 * replace the data file) puts an exclusive mark. Each puts its mark first and looks for others then, so of two at least one
 * sees the other and steps back.
 */
import { randomUUID } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

export async function putMark(folder: string, kind: MarkKind): Promise<OpenMark> {
  const path = join(folder, `${kind}-${randomUUID()}`);
  await writeFile(path, JSON.stringify(thisProcess()), { mode: 0o600 });
  return { path };
}

export async function removeMarks(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

export async function othersOpen(folder: string, own: OpenMark): Promise<OthersOpen> {
  const left: string[] = [];
  let live = false;
  let alone = false;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!MARK.test(name) || path === own.path) continue;
    const identity = await readFile(path, 'utf8').then(parseMark, () => undefined);
    // A mark that is not yet written belongs to a process that lives; one of another host may.
    if (identity !== undefined && isRunning(identity) === false) left.push(path);
    else if (name.startsWith('alone')) alone = true;
    else live = true;
  }
  return { live, alone, left };
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
