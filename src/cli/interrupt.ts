/**
 * Ctrl-C: the first one cancels the work, which then ends by itself and keeps what it has; the second one ends the process.
 * Never treats one key press as two: npm passes on a signal that the terminal has already sent to the whole group.
 */

export const interruptedExitCode = 130;

/** Two signals closer than this are one key press. */
const samePressMs = 300;

export interface Interrupt {
  readonly signal: AbortSignal;
  dispose(): void;
}

export function watchInterrupts(note: (line: string) => void): Interrupt {
  const controller = new AbortController();
  let first: number | undefined;
  const onSignal = (): void => {
    const now = Date.now();
    if (first === undefined) {
      first = now;
      note('Stopping; what is done is kept. Press Ctrl-C again to end at once.');
      controller.abort();
    } else if (now - first > samePressMs) {
      note('Ended.'); // This also gives the terminal back as it was.
      process.exit(interruptedExitCode);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    dispose: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
