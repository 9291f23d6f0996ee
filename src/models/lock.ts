/**
 * A lock between processes: a file that names its holder. A holder that is gone loses it. Not for threads of one process,
 * and not across machines (a holder on another host is waited for).
 */
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { throwIfCancelled } from '../base/index.js';

export interface LockOptions {
  readonly signal?: AbortSignal;
  /** Called once, where another process holds the lock. */
  readonly onWait?: (holder: number) => void;
  /** Milliseconds between tries; 500. */
  readonly poll?: number;
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly id: string;
}

/** Runs `work` while no other process runs under the lock `path`, whose folder exists. Throws `cancelled`. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { signal, onWait, poll = 500 } = options;
  const mine: Holder = { pid: process.pid, host: hostname(), id: randomUUID() };
  for (let waited = false; !(await take(path, mine));) {
    throwIfCancelled(signal);
    const holder = await holderOf(path);
    if (holder === 'gone') continue;
    if (holder === 'unreadable' || (holder.host === hostname() && !isAlive(holder.pid))) {
      await breakLock(path, holder);
      continue;
    }
    if (!waited) onWait?.(holder.pid);
    waited = true;
    await sleep(poll, undefined, { signal }).catch(() => undefined);
  }
  try {
    return await work();
  } finally {
    const holder = await holderOf(path);
    if (typeof holder === 'object' && holder.id === mine.id) await rm(path, { force: true });
  }
}

/** The file appears with its content, or not at all: written beside, then linked. */
async function take(path: string, mine: Holder): Promise<boolean> {
  const draft = `${path}.${mine.id}`;
  await writeFile(draft, JSON.stringify(mine));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    return await takeDirectly(path, mine);
  } finally {
    await rm(draft, { force: true });
  }
}

/** For disks without links. */
async function takeDirectly(path: string, mine: Holder): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(mine), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function holderOf(path: string): Promise<Holder | 'gone' | 'unreadable'> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return 'gone';
  }
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    if (typeof holder?.pid === 'number' && typeof holder.host === 'string' && typeof holder.id === 'string') {
      return holder as Holder;
    }
  } catch {
    // Not ours.
  }
  return 'unreadable';
}

/** Takes a dead holder's file away; if it was another's by then, puts it back. */
async function breakLock(path: string, dead: Holder | 'unreadable'): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return; // Someone else was faster.
  }
  const found = await holderOf(aside);
  const isDead = typeof found === 'object' ? typeof dead === 'object' && found.id === dead.id : dead === 'unreadable';
  if (!isDead) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

/** Whether a process of this machine exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
