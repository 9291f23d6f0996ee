/** What a call is told whose engine process ended. Never starts one. */
import { LongviewError } from '../../base/index.js';

/** What the system does to a process that takes too much memory, and what a process does that gets none. */
const OUT_OF_MEMORY = /SIGKILL|SIGABRT|code 134/;

/** `how`: a signal or an exit code, in brackets. */
export function crashed(how: string): LongviewError {
  const message = OUT_OF_MEMORY.test(how)
    ? `The engine process ended ${how}, most likely for want of memory; it is started again. ` +
      `If it ends once more, close other programs or choose a smaller model.`
    : `The engine process ended ${how}; it is started again.`;
  return new LongviewError('engine-crashed', message);
}
