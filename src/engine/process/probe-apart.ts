/**
 * Tries a provider in a process that is thrown away: one that crashes or hangs takes nothing with it. Never decides what
 * the outcome means for the engine.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LongviewError } from '../../base/index.js';
import type { ProbeReport } from '../provider-probe.js';
import { LOSS_TOLERANCE, MASS_TOLERANCE } from '../provider-tolerance.js';
import type { FromProbe, ProbeArguments } from './messages.js';

/** A report, or why the provider can't be used. */
export type ProbeOutcome = { readonly report: ProbeReport } | { readonly failure: string };

export interface ProbeSettings {
  /** The process's script, where it does not lie beside this one. */
  readonly script?: string;
  /** Default 2 minutes: a provider that takes longer for some 3,000 tokens is of no use. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 120_000;

/** The process is gone when this has settled. Throws `cancelled`. */
export async function probeApart(given: ProbeArguments, settings: ProbeSettings = {}): Promise<ProbeOutcome> {
  const { signal, timeoutMs = TIMEOUT_MS } = settings;
  const child = fork(settings.script ?? fileURLToPath(new URL('./probe-main.js', import.meta.url)), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
  });
  const kill = (): boolean => child.kill('SIGKILL');
  let late = false;
  const timer = setTimeout(() => (late = kill()), timeoutMs);
  signal?.addEventListener('abort', kill);
  if (signal?.aborted) kill();
  try {
    return await new Promise<ProbeOutcome>((resolve, reject) => {
      let answer: ProbeOutcome | undefined;
      child.on('message', (message: FromProbe) => {
        answer = message.kind === 'report' ? outcomeOf(message.report) : { failure: message.message };
        kill();
      });
      child.on('error', reject);
      child.on('close', (code, ended) => {
        if (signal?.aborted) reject(new LongviewError('cancelled', 'Cancelled.'));
        else if (answer) resolve(answer);
        else if (late) resolve({ failure: `its probe did not end in ${Math.round(timeoutMs / 1000)} s` });
        else resolve({ failure: `its probe ended the process (${ended ?? `exit code ${code}`})` });
      });
      child.send(given, error => {
        // Its end says more.
        if (error) kill();
      });
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', kill);
  }
}

/** Written so that NaN is wrong too. */
function outcomeOf(report: ProbeReport): ProbeOutcome {
  const { lossDifference, massDifference } = report;
  if (lossDifference <= LOSS_TOLERANCE && massDifference <= MASS_TOLERANCE) return { report };
  const figure = (value: number): string => value.toPrecision(2);
  return {
    failure:
      `it computes otherwise than the CPU (loss by ${figure(lossDifference)} nats, allowed ${LOSS_TOLERANCE}; ` +
      `attention by ${figure(massDifference)}, allowed ${MASS_TOLERANCE})`,
  };
}
