/**
 * `runGraphs` in a process of its own: onnxruntime blocks the thread that loads a graph, half a minute for a large model. Here
 * the caller's thread stays free, and a cancelled check ends at once, for its process is killed.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LongviewError, throwIfCancelled } from '../../base/index.js';
import type { ProgressListener } from '../../base/index.js';
import type { Manifest } from '../graph-contract.js';
import type { CheckedLogits } from '../verify.js';
import type { CheckArguments, FromCheck } from './messages.js';

/** As `runGraphs`. Throws also `engine-crashed` where the process ends before it has answered. */
export function runGraphsApart(
  folder: string,
  draft: Manifest,
  prompt: readonly number[],
  signal?: AbortSignal,
  onProgress?: ProgressListener,
): Promise<CheckedLogits> {
  return askCheck(new URL('./check-main.js', import.meta.url), { folder, draft, prompt }, signal, onProgress);
}

/** What the process of `script` answers. It is gone when this has settled, whatever came of it. */
export async function askCheck(
  script: URL,
  given: CheckArguments,
  signal?: AbortSignal,
  onProgress?: ProgressListener,
): Promise<CheckedLogits> {
  throwIfCancelled(signal);
  const child = fork(fileURLToPath(script), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-1000)));
  const kill = (): boolean => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  try {
    return await new Promise<CheckedLogits>((resolve, reject) => {
      let answer = (): void => undefined;
      child.on('message', (message: FromCheck) => {
        if (message.kind === 'progress') {
          onProgress?.(message.progress);
          return;
        }
        answer = () =>
          message.kind === 'logits'
            ? resolve(message.logits)
            : reject(new LongviewError(message.code, message.message));
        kill();
      });
      child.on('error', reject);
      child.on('close', (code, ended) => {
        answer();
        if (signal?.aborted) reject(new LongviewError('cancelled', 'Cancelled.'));
        const how = `${ended ?? `exit code ${code}`}${complaint === '' ? '' : `: ${complaint.trim().split('\n').at(-1)}`}`;
        reject(
          new LongviewError(
            'engine-crashed',
            `The check of the model ended before its time (${how}); is there memory?`,
          ),
        );
      });
      child.send(given, error => {
        // Its end says more.
        if (error) kill();
      });
    });
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}
