// A lock file between processes: one holder, the others wait. Never trusts a lock whose holder is gone.
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
  linkSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** The holder touches its lock this often; a lock untouched for `staleMs` has no holder. */
const touchMs = 2000;
const staleMs = 30_000;

/** Runs `work` while holding the lock file `path`; `onWait` is called once if another process holds it. */
export async function withLock(path, work, onWait) {
  let waited = false;
  while (!tryTake(path)) {
    if (isAbandoned(path)) {
      removeAbandoned(path);
      continue;
    }
    if (!waited) onWait?.();
    waited = true;
    await sleep(300);
  }
  const touch = setInterval(() => touchFile(path), touchMs);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    rmSync(path, { force: true });
  }
}

const self = () => `${hostname()} ${process.pid}`;

function tryTake(path) {
  try {
    const file = openSync(path, 'wx');
    writeSync(file, self());
    closeSync(file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function isAbandoned(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs > staleMs) return true;
    const [host, pid] = readFileSync(path, 'utf8').split(' ');
    return host === hostname() && pid !== undefined && !isAlive(Number(pid));
  } catch (error) {
    if (error.code === 'ENOENT') return false; // Released in between.
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Moves the lock aside before deleting it, so that a lock which another waiter has just taken is put back. */
function removeAbandoned(path) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another waiter was faster.
  }
  try {
    if (!isAbandoned(aside)) linkSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}

function touchFile(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // Removed by hand: nothing to keep alive.
  }
}
