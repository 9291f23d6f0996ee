/**
 * Puts this process behind whatever else wants the processor: the editor, a build, the user's own programs. Where nothing
 * else does, it costs nothing. Never undone: Linux and macOS let no user raise a priority again, so what answers and what
 * reads ahead share one.
 */
import { readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** Niceness 10 on Linux and macOS; the class below normal on Windows. */
const BELOW_NORMAL = constants.priority.PRIORITY_BELOW_NORMAL;

/** To be called before a model is loaded: threads that are made later take over the priority of their maker. */
export function runBelowNormal(): void {
  for (const id of ownThreads()) {
    try {
      if (getPriority(id) < BELOW_NORMAL) setPriority(id, BELOW_NORMAL);
    } catch {
      // A thread that has ended, or a machine that allows it to nobody: the work goes on as it is.
    }
  }
}

/** On Linux a priority is one thread's, and 0 is the main one; elsewhere it is the process's. */
function ownThreads(): readonly number[] {
  if (process.platform !== 'linux') return [0];
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0];
  }
}
