/**
 * The Longview server as a child process: started at the first request, again after a crash (at most 4 times in 3 minutes).
 * Never loads a model and never reads the workspace: this process only passes messages on.
 */
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { CancellationToken, Disposable, LogOutputChannel } from 'vscode';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { visibleText } from './visible-text.js';
import {
  event,
  notice,
  type ChangedEvent,
  type ChangedFilesParams,
  type LogEvent,
  type Method,
  type NoticeEvent,
  type ParamsOf,
  type ProgressEvent,
  type RecalledEvent,
  type ReplyOf,
  type SentenceEvent,
  type ServerOptions,
  type SummarySentence,
  type TextEvent,
} from '../protocol/index.js';

const maxStarts = 4;
const startsWithinMs = 180_000;
/** How long a server may take to end by itself. */
const shutdownMs = 3000;
/** Characters of a complaint that a message takes up. */
const mostComplaint = 200;

/** What the server says while it works on one request. */
export interface WorkListener {
  readonly onProgress?: (progress: ProgressEvent) => void;
  readonly onRecalled?: (recalled: RecalledEvent['recalled']) => void;
  readonly onText?: (text: string) => void;
  readonly onSentence?: (sentence: SummarySentence) => void;
}

/** The process went away while a request waited; the next request starts another one. */
export class ServerEnded extends Error {
  constructor(cause: unknown) {
    super('The Longview server ended. Try again; "Longview: Show Log" says why.', { cause });
  }
}

interface Running {
  readonly child: ChildProcess;
  readonly connection: MessageConnection;
  /** Aborted when the process is gone. */
  readonly ended: AbortSignal;
}

export class ServerClient implements Disposable {
  private running: Promise<Running> | undefined;
  private readonly starts: number[] = [];
  private readonly listeners = new Map<string, WorkListener>();
  private readonly changeListeners = new Set<(change: ChangedEvent) => void>();
  private current: ChildProcess | undefined;
  private lastId = 0;
  /** What a server said last of an error. */
  private complaint: string | undefined;

  constructor(
    private readonly serverFile: string,
    private readonly options: () => ServerOptions,
    private readonly log: LogOutputChannel,
    /** Told what the user is to see. */
    private readonly onNotice: (message: string) => void = () => undefined,
  ) {}

  /** Whether a server was started and has not ended. */
  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Sends a request; `params` get an id, under which `listener` hears of the work. */
  async request<M extends Method>(
    method: M,
    params: Omit<ParamsOf<M>, 'id'>,
    token: CancellationToken,
    listener: WorkListener = {},
  ): Promise<ReplyOf<M>> {
    const { connection, ended } = await this.connected();
    const id = `${++this.lastId}`;
    this.listeners.set(id, listener);
    try {
      return await connection.sendRequest<ReplyOf<M>>(method, { id, ...params }, token);
    } catch (error) {
      throw ended.aborted ? new ServerEnded(error) : error;
    } finally {
      this.listeners.delete(id);
    }
  }

  /** Says what changed on the disk to a server that runs; one that starts looks for itself. */
  async changedFiles(changes: ChangedFilesParams['changes']): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    if (!running || running.ended.aborted) return;
    await running.connection.sendNotification(notice.changedFiles, { changes } satisfies ChangedFilesParams);
  }

  /** Hears when the ledger of a folder has changed with its files. */
  onDidChangeFiles(listener: (change: ChangedEvent) => void): { dispose(): void } {
    this.changeListeners.add(listener);
    return { dispose: () => void this.changeListeners.delete(listener) };
  }

  /** Ends the server; the next request starts one with the settings of then. */
  async stop(): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    this.running = undefined;
    this.starts.length = 0; // This end was wanted.
    if (!running) return;
    const { child, connection } = running;
    const killing = setTimeout(() => child.kill('SIGKILL'), shutdownMs);
    killing.unref();
    child.once('exit', () => clearTimeout(killing));
    try {
      await connection.sendRequest('shutdown');
      await connection.sendNotification('exit');
    } catch {
      child.kill(); // It has ended or does not listen any more.
    }
  }

  dispose(): void {
    void this.stop();
  }

  private async connected(): Promise<Running> {
    const running = (this.running ??= this.start());
    try {
      return await running;
    } catch (error) {
      if (this.running === running) this.running = undefined;
      throw error;
    }
  }

  private async start(): Promise<Running> {
    const now = Date.now();
    while (this.starts.length > 0 && now - this.starts[0]! > startsWithinMs) this.starts.shift();
    if (this.starts.length >= maxStarts) {
      const why = this.complaint === undefined ? '' : ` (${this.complaint})`;
      throw new Error(`The Longview server keeps ending${why}. See "Longview: Show Log", then reload the window.`);
    }
    this.starts.push(now);
    const child = spawn(process.execPath, [this.serverFile, '--stdio'], {
      // In the desktop editor the executable is Electron's.
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', ORT_DISABLE_TELEMETRY: '1' },
      stdio: 'pipe',
    });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    const ended = this.watch(child, connection);
    this.listen(connection);
    try {
      await connection.sendRequest('initialize', {
        processId: process.pid,
        rootUri: null,
        capabilities: {},
        initializationOptions: this.options(),
      });
      await connection.sendNotification('initialized', {});
    } catch (cause) {
      throw new ServerEnded(cause);
    }
    this.log.info(`Server started (process ${child.pid ?? 'unknown'}).`);
    return { child, connection, ended };
  }

  /** Logs what the process says and its end, which fails the requests that wait for it. */
  private watch(child: ChildProcessWithoutNullStreams, connection: MessageConnection): AbortSignal {
    const ended = new AbortController();
    const onEnd = (how: string): void => {
      if (ended.signal.aborted) return;
      ended.abort();
      this.log.info(`The server ended (${how}).`);
      connection.dispose();
      if (this.current === child) this.running = undefined;
    };
    this.current = child;
    child.once('error', error => onEnd(error.message));
    child.once('exit', (code, signal) => onEnd(signal ?? `code ${code ?? 'unknown'}`));
    createInterface({ input: child.stderr }).on('line', line => {
      if (/error/i.test(line)) this.complaint = visibleText(line).slice(0, mostComplaint);
      this.log.warn(line);
    });
    return ended.signal;
  }

  private listen(connection: MessageConnection): void {
    connection.onNotification(event.progress, (it: ProgressEvent) => this.listeners.get(it.id)?.onProgress?.(it));
    connection.onNotification(event.recalled, (it: RecalledEvent) =>
      this.listeners.get(it.id)?.onRecalled?.(it.recalled),
    );
    connection.onNotification(event.text, (it: TextEvent) => this.listeners.get(it.id)?.onText?.(it.text));
    connection.onNotification(event.sentence, (it: SentenceEvent) =>
      this.listeners.get(it.id)?.onSentence?.(it.sentence),
    );
    connection.onNotification(event.notice, (it: NoticeEvent) => this.onNotice(it.message));
    connection.onNotification(event.changed, (it: ChangedEvent) => {
      for (const listener of this.changeListeners) listener(it);
    });
    connection.onNotification(event.log, (it: LogEvent) => this.show(it));
    // A write to a process that has just ended; its end is dealt with where it is noticed.
    connection.onError(() => undefined);
    connection.listen();
  }

  private show({ level, message }: LogEvent): void {
    if (level === 'error') this.log.error(message);
    else if (level === 'warning') this.log.warn(message);
    else if (level === 'info') this.log.info(message);
    else this.log.debug(message);
  }
}
