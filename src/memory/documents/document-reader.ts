/**
 * Text of documents, taken out in a process of its own, one document at a time: nothing in a document can block or end the
 * process that asks. The process is started when it is needed, ended when it has had nothing to do for a while, and killed
 * when a document takes too long or its reading is cancelled. Never opens a file.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { failed, throwIfCancelled, type Result } from '../../base/index.js';
import type { DocumentKind, DocumentText } from './document-text.js';
import { MOST_HEAP_MB, MOST_MEMORY, MOST_MS, MOST_STEP_MS } from './limits.js';
import type { FromDocuments, ToDocuments } from './messages.js';

const IDLE_MS = 10_000;
/** Characters of texts that are kept, so that a question does not take them out again. */
const MOST_KEPT = 32_000_000;

export interface ReaderOptions {
  /** The process's script, where it does not lie beside this one. */
  readonly script?: string;
  /** Milliseconds between two steps, and in all. */
  readonly mostStepMs?: number;
  readonly mostMs?: number;
  /** Bytes of the process. */
  readonly mostMemory?: number;
}

interface Process {
  readonly child: ChildProcess;
  /** False where it ended before it could take a document. */
  readonly ready: Promise<boolean>;
}

export class DocumentReader {
  private process: Process | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private idle: NodeJS.Timeout | undefined;
  private nextId = 1;
  private readonly kept = new Map<string, Result<DocumentText>>();
  private keptCharacters = 0;

  constructor(private readonly options: ReaderOptions = {}) {}

  /**
   * Text of a document's bytes, whose SHA-256 is `hash`. Reasons: `encrypted`, `no text`, `damaged`, `too large`,
   * `too complex` (it took too much time or memory), `unreadable` (there was no process). Throws `cancelled`.
   */
  async read(kind: DocumentKind, hash: string, bytes: Uint8Array, signal?: AbortSignal): Promise<Result<DocumentText>> {
    const key = `${kind} ${hash}`;
    const run = this.last.then(async () => {
      throwIfCancelled(signal);
      const text = this.known(key) ?? (await this.run(kind, bytes, signal));
      throwIfCancelled(signal);
      this.keep(key, text);
      return text;
    });
    this.last = run.catch(() => undefined);
    return run;
  }

  private async run(
    kind: DocumentKind,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Result<DocumentText>> {
    clearTimeout(this.idle);
    const started = this.start();
    if (!(await started.ready)) return failed('unreadable');
    const { child } = started;
    child.ref();
    child.channel?.ref();
    const id = this.nextId++;
    const kill = (): boolean => child.kill('SIGKILL');
    let onMessage: (message: FromDocuments) => void = () => undefined;
    let onExit = (): void => undefined;
    const whole = setTimeout(kill, this.options.mostMs ?? MOST_MS);
    let step = setTimeout(kill, this.options.mostStepMs ?? MOST_STEP_MS);
    signal?.addEventListener('abort', kill);
    try {
      return await new Promise<Result<DocumentText>>(resolve => {
        onMessage = message => {
          if (message.kind === 'ready' || message.id !== id) return;
          clearTimeout(step);
          if (message.kind === 'step') {
            step = setTimeout(kill, this.options.mostStepMs ?? MOST_STEP_MS);
            return;
          }
          if (message.spent) this.drop(started);
          resolve(message.text);
        };
        onExit = () => resolve(failed('too complex'));
        child.on('message', onMessage).on('exit', onExit);
        child.send({ id, kind, bytes } satisfies ToDocuments, error => {
          // Its end says more.
          if (error) kill();
        });
        if (signal?.aborted) kill();
      });
    } finally {
      clearTimeout(whole);
      clearTimeout(step);
      signal?.removeEventListener('abort', kill);
      child.off('message', onMessage).off('exit', onExit);
      this.rest();
    }
  }

  private start(): Process {
    if (this.process) return this.process;
    const script = this.options.script ?? fileURLToPath(new URL('./documents-main.js', import.meta.url));
    const child = fork(script, [String(this.options.mostMemory ?? MOST_MEMORY)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [`--max-old-space-size=${MOST_HEAP_MB}`],
    });
    const ready = new Promise<boolean>(resolve => {
      child.once('message', () => resolve(true));
      child.once('exit', () => resolve(false));
      child.on('error', () => {
        this.drop(started);
        resolve(false);
      });
    });
    const started: Process = { child, ready };
    this.process = started;
    child.once('exit', () => this.drop(started));
    return started;
  }

  /** Ends a process; the next document gets another. */
  private drop(old: Process): void {
    old.child.kill('SIGKILL');
    if (this.process === old) this.process = undefined;
  }

  /** What has nothing to do keeps nobody from ending. */
  private rest(): void {
    const resting = this.process;
    if (!resting) return;
    resting.child.unref();
    resting.child.channel?.unref();
    this.idle = setTimeout(() => this.drop(resting), IDLE_MS).unref();
  }

  private known(key: string): Result<DocumentText> | undefined {
    const found = this.kept.get(key);
    if (found) {
      this.kept.delete(key);
      this.kept.set(key, found);
    }
    return found;
  }

  private keep(key: string, text: Result<DocumentText>): void {
    if (this.kept.has(key) || (!text.ok && text.reason === 'unreadable')) return;
    this.kept.set(key, text);
    this.keptCharacters += charactersOf(text);
    for (const [oldest, value] of this.kept) {
      if (this.keptCharacters <= MOST_KEPT || oldest === key) break;
      this.kept.delete(oldest);
      this.keptCharacters -= charactersOf(value);
    }
  }
}

function charactersOf(text: Result<DocumentText>): number {
  return text.ok ? text.value.text.length + 100 : 100;
}
