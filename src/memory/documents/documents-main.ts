/**
 * The process of `DocumentReader`: takes text out of documents that may be made to harm who reads them. A thread of its own
 * watches it: whoever takes more memory (bytes, the argument) or more time between two steps than allowed is ended from within,
 * whatever the parent does. Never opens a file, and never writes to stdout.
 */
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { failed, type Result } from '../../base/index.js';
import type { DocumentKind, DocumentText } from './document-text.js';
import { MOST_STEP_MS } from './limits.js';
import type { FromDocuments, ToDocuments } from './messages.js';

/** Bytes from which the process does not take another document. */
const SPENT = 400_000_000;
const LOOK_EVERY_MS = 50;

interface Watched {
  /** Time of the last step; 0 while there is nothing to do. */
  readonly steps: Float64Array;
  /** Bytes. */
  readonly mostMemory: number;
}

if (isMainThread) serve(Number(process.argv[2]));
else watch(workerData as Watched);

function serve(mostMemory: number): void {
  const steps = new Float64Array(new SharedArrayBuffer(8));
  const watched: Watched = { steps, mostMemory };
  new Worker(fileURLToPath(import.meta.url), { workerData: watched, stdout: true, stderr: true }).unref();
  const send = (message: FromDocuments): void => {
    if (process.connected) process.send!(message);
  };
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C reaches the whole group; the parent decides when this process ends.
  process.on('SIGINT', () => undefined);
  process.on('message', ({ id, kind, bytes }: ToDocuments) => {
    steps[0] = Date.now();
    const onStep = (): void => {
      steps[0] = Date.now();
      send({ kind: 'step', id });
    };
    void textOf(kind, bytes, onStep)
      .catch((): Result<DocumentText> => failed('damaged'))
      .then(text => {
        steps[0] = 0;
        send({ kind: 'text', id, text, spent: process.memoryUsage.rss() > SPENT });
      });
  });
  send({ kind: 'ready' });
}

/** Each kind's code is loaded when it is needed. */
async function textOf(kind: DocumentKind, bytes: Uint8Array, onStep: () => void): Promise<Result<DocumentText>> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf-text.js')).pdfText(bytes, onStep);
    case 'docx':
      return (await import('./docx-text.js')).docxText(bytes);
    case 'notebook':
      return (await import('./notebook-text.js')).notebookText(bytes);
  }
}

function watch({ steps, mostMemory }: Watched): void {
  setInterval(() => {
    const since = steps[0]!;
    const isLate = since > 0 && Date.now() - since > MOST_STEP_MS;
    if (isLate || process.memoryUsage.rss() > mostMemory) process.kill(process.pid, 'SIGKILL');
  }, LOOK_EVERY_MS);
}
