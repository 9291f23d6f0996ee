/** The real server in a process of its own, over a data folder with the tiny model: what tests of its failures share. */
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { sharedTextModel } from '../engine/tiny-shared.js';

/** Folders of one test: `data` with the model `tiny`, and `workspace`, which is empty. */
export class ServerFolders {
  readonly path = mkdtempSync(join(tmpdir(), 'longview-server-'));
  readonly data = join(this.path, 'data');
  readonly workspace = join(this.path, 'workspace');
  private readonly children: ChildProcess[] = [];

  async fill(): Promise<void> {
    mkdirSync(this.workspace);
    cpSync(await sharedTextModel(), join(this.data, 'models', 'tiny'), { recursive: true });
  }

  /** `command`: what runs the server, given as its arguments. */
  start(command: readonly string[] = []): Promise<ServerProcess> {
    const [program, ...args] = [...command, process.execPath, resolve('out/src/server/main.js'), '--stdio'];
    const child = spawn(program, args, { env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' } });
    this.children.push(child);
    return ServerProcess.over(child, this.data, this.workspace);
  }

  dispose(): void {
    for (const child of this.children.splice(0)) child.kill('SIGKILL');
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

export class ServerProcess {
  private constructor(
    readonly child: ChildProcess,
    readonly connection: MessageConnection,
    private readonly folder: string,
  ) {}

  static async over(child: ChildProcessWithoutNullStreams, data: string, workspace: string): Promise<ServerProcess> {
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.listen();
    await connection.sendRequest('initialize', {
      processId: null,
      rootUri: null,
      capabilities: {},
      initializationOptions: { data, model: 'tiny', threads: 1 },
    });
    return new ServerProcess(child, connection, pathToFileURL(workspace).toString());
  }

  request<T>(name: string, more: object = {}): Promise<T> {
    return this.connection.sendRequest<T>(name, { id: name, folder: this.folder, ...more });
  }

  /** Ids of the processes it has started. Linux. */
  children(): number[] {
    const list = `/proc/${this.child.pid}/task/${this.child.pid}/children`;
    return existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean).map(Number) : [];
  }
}
