/**
 * One call of the command line: parses, runs the command, turns whatever went wrong into one line and an exit code.
 * The only place of the command line that catches everything.
 */
import { CommanderError } from 'commander';
import { LongviewError, advised, codeOf, messageOf } from '../base/index.js';
import { interruptedExitCode, watchInterrupts } from './interrupt.js';
import { buildProgram } from './program.js';
import { createSurface } from './surface.js';

export const exitCode = { done: 0, failed: 1, wrongUsage: 2, interrupted: interruptedExitCode } as const;

/** `args` without the program's own name. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const surface = createSurface({ verbose: args.includes('--verbose') });
  const interrupt = watchInterrupts(line => surface.note(line));
  const fail = (code: string, message: string): void => {
    surface.note(`longview: ${message}`);
    // A program that reads the output gets the failure where it looks for the result.
    if (args.includes('--json')) surface.json({ error: { code, message } });
  };
  try {
    await buildProgram({ surface, signal: interrupt.signal }).parseAsync(args, { from: 'user' });
    return exitCode.done;
  } catch (thrown) {
    const error = advised(thrown);
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCode.done;
      if (error.code === 'commander.help') return exitCode.wrongUsage; // No command: the help says it all.
      fail('usage', `${error.message.replace(/^error: /, '')} (see longview --help)`);
      return exitCode.wrongUsage;
    }
    if (interrupt.signal.aborted) {
      fail('cancelled', 'Stopped.');
      return exitCode.interrupted;
    }
    fail(codeOf(error), messageOf(error));
    if (!(error instanceof LongviewError) && args.includes('--verbose')) surface.note(String((error as Error).stack));
    return codeOf(error) === 'usage' ? exitCode.wrongUsage : exitCode.failed;
  } finally {
    interrupt.dispose();
  }
}
