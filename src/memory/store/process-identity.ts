/** Which process is which, and whether it still lives. Never signals a process. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Tells a process from all others, also from a later one with its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Boot and start tick on Linux; empty where the host does not say. */
  readonly started: string;
  /** What gives process numbers: the host, and on Linux the container on it. */
  readonly host: string;
}

export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid), host: hostOfNumbers() };
}

/** `undefined` for a process of another host. */
export function isRunning(identity: ProcessIdentity): boolean | undefined {
  if (identity.host !== hostOfNumbers()) return undefined;
  if (!exists(identity.pid)) return false;
  const started = startOf(identity.pid);
  return started === '' || identity.started === '' || started === identity.started;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

export function hostOfNumbers(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** `dead` for a process that only waits to be reaped. */
function startOf(pid: number): string {
  if (process.platform !== 'linux') return '';
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in brackets, may hold anything; state is the first field after it, the start tick the twentieth.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'dead' : `${boot}:${fields[19] ?? ''}`;
  } catch {
    return '';
  }
}
