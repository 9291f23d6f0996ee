/**
 * The two streams of a command: stdout carries the answer or the JSON and nothing else, stderr all that is said beside it.
 * Never decides what a command says; only where it goes, and that a progress bar does not get mixed into it.
 */
import { createInterface } from 'node:readline/promises';
import type { Log, ProgressListener } from '../base/index.js';
import { createProgressView } from './progress-view.js';

export interface Surface {
  /** Text of the answer, as it is. */
  out(text: string): void;
  /** One JSON document on stdout. */
  json(value: unknown): void;
  /** A line beside the answer. */
  note(line: string): void;
  readonly progress: ProgressListener;
  readonly log: Log;
  /** Asks for a yes on the terminal; false where there is none to ask. */
  confirm(question: string, signal: AbortSignal): Promise<boolean>;
  readonly canAsk: boolean;
}

export function createSurface(options: { readonly verbose: boolean }): Surface {
  const view = createProgressView(process.stderr);
  const note = (line: string): void => {
    view.clear();
    process.stderr.write(`${printable(line)}\n`);
  };
  const canAsk = process.stdin.isTTY && process.stderr.isTTY;
  return {
    out: text => {
      view.clear();
      process.stdout.write(printable(text));
    },
    json: value => {
      view.clear();
      process.stdout.write(`${JSON.stringify(value)}\n`);
    },
    note,
    progress: view.listener,
    log: (level, message) => {
      if (options.verbose || level === 'error' || level === 'warning') note(`${level}: ${message}`);
    },
    canAsk,
    confirm: async (question, signal) => {
      if (!canAsk) return false;
      view.clear();
      const reader = createInterface({ input: process.stdin, output: process.stderr });
      // While it reads, the terminal's interrupt key reaches readline instead of the process.
      reader.on('SIGINT', () => process.emit('SIGINT'));
      try {
        const answer = await reader.question(`${question} [y/N] `, { signal });
        return /^y(es)?$/i.test(answer.trim());
      } finally {
        reader.close();
      }
    },
  };
}

/** Names and texts of files are data: control characters in them must not steer the terminal. Lines and tabs stay. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
