/** How many threads a model gets where nobody says so. Never starts one. */
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const MOST_THREADS = 8;

export interface Cores {
  /** What this process may run on at once. */
  readonly available: number;
  /** Undefined where they are not known. Two threads of one core share what the model needs of it. */
  readonly physical: number | undefined;
}

/** One a core, at most 8; of more than two cores one is left to the editor. */
export function automaticThreads(cores: Cores = coresHere()): number {
  const usable = Math.min(cores.available, cores.physical ?? Infinity);
  return Math.min(MOST_THREADS, usable > 2 ? usable - 1 : usable);
}

function coresHere(): Cores {
  return { available: availableParallelism(), physical: process.platform === 'linux' ? physicalCores() : undefined };
}

/** By the groups of threads that share a core; `system` is Linux's folder of processors. */
export function physicalCores(system = '/sys/devices/system/cpu'): number | undefined {
  const cores = new Set<string>();
  try {
    for (const name of readdirSync(system)) {
      if (!/^cpu\d+$/.test(name)) continue;
      const siblings = siblingsOf(join(system, name));
      if (siblings !== undefined) cores.add(siblings);
    }
  } catch {
    return undefined;
  }
  return cores.size > 0 ? cores.size : undefined;
}

/** Undefined for a processor that is switched off. */
function siblingsOf(processor: string): string | undefined {
  try {
    return readFileSync(join(processor, 'topology', 'thread_siblings_list'), 'utf8').trim();
  } catch {
    return undefined;
  }
}
