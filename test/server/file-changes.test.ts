/**
 * The real server process told of files that change: a storm, one save, and what changed while no server ran. Nothing is
 * read by it: it says what there is to read.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import {
  event,
  method,
  notice,
  type ChangedEvent,
  type FilesReply,
  type LogEvent,
  type PingReply,
  type ReadReply,
} from '../../src/protocol/index.js';
import { sharedTextModel } from '../engine/tiny-shared.js';

class Server {
  private readonly child: ChildProcess;
  readonly connection: MessageConnection;
  readonly looks: string[] = [];
  readonly changed: ChangedEvent[] = [];
  private onChanged: () => void = () => undefined;

  private constructor(private readonly folder: string) {
    this.child = spawn(process.execPath, [resolve('out/src/server/main.js'), '--stdio'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
    });
    this.connection = createMessageConnection(
      new StreamMessageReader(this.child.stdout!),
      new StreamMessageWriter(this.child.stdin!),
    );
    this.connection.onNotification(event.log, ({ message }: LogEvent) => {
      if (message.startsWith('Looked for changes')) this.looks.push(message);
    });
    this.connection.onNotification(event.changed, (it: ChangedEvent) => {
      this.changed.push(it);
      this.onChanged();
    });
    this.connection.listen();
  }

  static async start(workspace: string, data: string): Promise<Server> {
    const server = new Server(pathToFileURL(workspace).toString());
    await server.connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: {},
      initializationOptions: { data, model: 'tiny', threads: 1 },
    });
    return server;
  }

  send<T>(name: string, params: object = {}): Promise<T> {
    return this.connection.sendRequest<T>(name, { id: name, folder: this.folder, ...params });
  }

  tell(paths: readonly string[]): Promise<void> {
    const changes = paths.map(path => ({ uri: `${this.folder}/${path}`, type: 2 as const }));
    return this.connection.sendNotification(notice.changedFiles, { changes });
  }

  /** Until the server has said so many times that files changed. */
  async untilChanged(times: number): Promise<void> {
    while (this.changed.length < times) await new Promise<void>(done => (this.onChanged = done));
  }

  async stateOf(path: string): Promise<string | undefined> {
    const { files } = await this.send<FilesReply>(method.files);
    return files.find(file => file.path === path)?.state;
  }

  async stop(): Promise<void> {
    const ended = new Promise(done => this.child.once('exit', done));
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    await ended;
    this.connection.dispose();
  }
}

suite('files that change', function () {
  this.timeout(120_000);
  let scratch: string;
  let workspace: string;
  let server: Server;
  suiteSetup(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'longview-changes-'));
    workspace = join(scratch, 'workspace');
    mkdirSync(workspace);
    for (let file = 0; file < 12; file++) write(`part-${file}.ts`, `export const part${file} = ${file};\n`);
    cpSync(await sharedTextModel(), join(scratch, 'data', 'models', 'tiny'), { recursive: true });
    server = await Server.start(workspace, join(scratch, 'data'));
    assert.equal((await server.send<ReadReply>(method.read)).filesRead, 12);
  });
  suiteTeardown(async () => {
    await server.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  function write(path: string, text: string): void {
    writeFileSync(join(workspace, path), text);
  }

  test('a storm of 20,000 events: pings are answered meanwhile, then one look at everything; nothing is read', async () => {
    write('part-3.ts', 'export const part3 = "after the storm";\n');
    const looks = server.looks.length;
    for (let at = 0; at < 20_000; at += 500) {
      await server.tell(Array.from({ length: 500 }, (_, i) => `gone/file-${at + i}.ts`));
      const { waiting } = await server.connection.sendRequest<PingReply>(method.ping);
      assert.equal(waiting, 0);
    }
    await server.tell(['part-3.ts']);
    await server.untilChanged(1);
    assert.deepEqual(
      server.changed.map(({ waiting }) => waiting),
      [1],
    );
    assert.equal(server.looks.length - looks, 1);
    assert.equal(await server.stateOf('part-3.ts'), 'stale');
  });

  test('what changed is read without a walk: of two files that are new, the one the server was told of', async () => {
    write('told.ts', 'export const told = 1;\n');
    write('untold.ts', 'export const untold = 1;\n');
    await server.tell(['told.ts']);
    await server.untilChanged(2);
    assert.deepEqual([await server.stateOf('told.ts'), await server.stateOf('untold.ts')], ['waiting', undefined]);
    const changed = await server.send<ReadReply>(method.read, { walk: false, state: false });
    // With part-3.ts of the test before.
    assert.deepEqual([changed.filesRead, changed.coverage.read], [2, 13]);
    const all = await server.send<ReadReply>(method.read);
    assert.deepEqual([all.filesRead, all.coverage.read], [1, 14]);
  });

  test('a new server looks for itself once, reads nothing again, and says what changed while none ran', async () => {
    await server.stop();
    write('part-5.ts', 'export const part5 = "while nobody looked";\n');
    server = await Server.start(workspace, join(scratch, 'data'));
    assert.equal(await server.stateOf('part-5.ts'), 'read');
    await server.untilChanged(1);
    assert.equal(await server.stateOf('part-5.ts'), 'stale');
    assert.equal((await server.send<ReadReply>(method.read)).filesRead, 1);
  });
});
