/**
 * The Longview server as a child process: started at the first request, again after a crash (at most 4 times in 3 minutes).
 * Never loads a model and never reads the workspace: this process only passes messages on.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { CancellationToken, Disposable, LogOutputChannel } from 'vscode';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import {
  event,
  type LogEvent,
  type ProgressEvent,
  type RecalledEvent,
  type ServerOptions,
  type TextEvent,
} from '../protocol/index.js';

const maxStarts = 4;
const startsWithinMs = 180_000;
/** How long a server may take to end by itself. */
const shutdownMs = 3000;

/** What the server says while it works on one request. */
export interface WorkListener {
  readonly onProgress?: (progress: ProgressEvent) => void;
  readonly onRecalled?: (recalled: RecalledEvent['recalled']) => void;
  readonly onText?: (text: string) => void;
}

interface Running {
  readonly child: ChildProcess;
  readonly connection: MessageConnection;
}

export class ServerClient implements Disposable {
  private running: Promise<Running> | undefined;
  private readonly starts: number[] = [];
  private readonly listeners = new Map<string, WorkListener>();
  private lastId = 0;

  constructor(
    private readonly serverFile: string,
    private readonly options: () => ServerOptions,
    private readonly log: LogOutputChannel,
  ) {}

  /** Sends a request; `params` get an id, under which `listener` hears of the work. */
  async request<T>(method: string, params: object, token: CancellationToken, listener: WorkListener = {}): Promise<T> {
    const { connection } = await (this.running ??= this.start());
    const id = `${++this.lastId}`;
    this.listeners.set(id, listener);
    try {
      return await connection.sendRequest<T>(method, { id, ...params }, token);
    } finally {
      this.listeners.delete(id);
    }
  }

  /** Ends the server; the next request starts one with the settings of then. */
  async stop(): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    this.running = undefined;
    if (!running) return;
    const { child, connection } = running;
    const killing = setTimeout(() => child.kill('SIGKILL'), shutdownMs);
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

  private async start(): Promise<Running> {
    const now = Date.now();
    while (this.starts.length > 0 && now - this.starts[0]! > startsWithinMs) this.starts.shift();
    if (this.starts.length >= maxStarts) {
      this.running = undefined;
      throw new Error('The Longview server keeps ending. See "Longview: Show Log".');
    }
    this.starts.push(now);
    const child = spawn(process.execPath, [this.serverFile, '--stdio'], {
      // In the desktop editor the executable is Electron's.
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', ORT_DISABLE_TELEMETRY: '1' },
      stdio: 'pipe',
    });
    child.once('error', error => this.log.error(`The server does not start: ${error.message}`));
    child.once('exit', (code, signal) => {
      this.log.info(`The server ended (${signal ?? `code ${code ?? 'unknown'}`}).`);
      connection.dispose();
      this.running = undefined;
    });
    createInterface({ input: child.stderr }).on('line', line => this.log.warn(line));
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.onNotification(event.progress, (it: ProgressEvent) => this.listeners.get(it.id)?.onProgress?.(it));
    connection.onNotification(event.recalled, (it: RecalledEvent) =>
      this.listeners.get(it.id)?.onRecalled?.(it.recalled),
    );
    connection.onNotification(event.text, (it: TextEvent) => this.listeners.get(it.id)?.onText?.(it.text));
    connection.onNotification(event.log, (it: LogEvent) => this.show(it));
    connection.listen();
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: {},
      initializationOptions: this.options(),
    });
    await connection.sendNotification('initialized', {});
    this.log.info(`Server started (process ${child.pid ?? 'unknown'}).`);
    return { child, connection };
  }

  private show({ level, message }: LogEvent): void {
    if (level === 'error') this.log.error(message);
    else if (level === 'warning') this.log.warn(message);
    else if (level === 'info') this.log.info(message);
    else this.log.debug(message);
  }
}
