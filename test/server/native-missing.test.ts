/**
 * A platform without a native library: the compiled server and command line run in a copy of the clone whose onnxruntime or
 * lmdb has no binary. They have to start, and to say in one line what is missing and what to do.
 */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StreamMessageReader, StreamMessageWriter, createMessageConnection } from 'vscode-jsonrpc/node';
import { method, type FilesReply, type ModelReply, type PingReply } from '../../src/protocol/index.js';
import { sharedTextModel } from '../engine/tiny-shared.js';

const here = `${process.platform}-${process.arch}`;
const advice = /Install the package made for this machine/;

suite('native library missing', function () {
  this.timeout(60_000);
  let clone: string;
  let data: string;
  let workspace: string;
  const children: ChildProcess[] = [];
  setup(async () => {
    clone = mkdtempSync(join(tmpdir(), 'longview-native-'));
    data = join(clone, 'data');
    workspace = join(clone, 'workspace');
    cpSync('out/src', join(clone, 'out', 'src'), { recursive: true });
    for (const part of ['package.json', 'models']) cpSync(part, join(clone, part), { recursive: true });
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'a.ts'), 'export const a = 1;\n');
    cpSync(await sharedTextModel(), join(data, 'models', 'tiny'), { recursive: true });
  });
  teardown(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(clone, { recursive: true, force: true });
  });

  /** The packages of this clone, but those named; and of these the scripts alone. */
  function linkPackagesWithout(binaries: 'onnxruntime-node' | '@lmdb'): void {
    const packages = realpathSync('node_modules');
    mkdirSync(join(clone, 'node_modules'));
    for (const name of readdirSync(packages)) {
      if (name === binaries || name === 'lmdb') continue;
      symlinkSync(join(packages, name), join(clone, 'node_modules', name));
    }
    // Not linked: it looks for its binary from where it lies.
    cpSync(join(packages, 'lmdb'), join(clone, 'node_modules', 'lmdb'), {
      recursive: true,
      filter: path => !/[/\\](build|prebuilds)$/.test(path),
    });
    if (binaries === '@lmdb') return;
    for (const part of ['package.json', 'dist']) {
      cpSync(join(packages, binaries, part), join(clone, 'node_modules', binaries, part), { recursive: true });
    }
  }

  /** Sends requests to a server of the copy. */
  async function server(): Promise<<T>(name: string, more?: object) => Promise<T>> {
    const child = spawn(process.execPath, [join(clone, 'out/src/server/main.js'), '--stdio']);
    children.push(child);
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.listen();
    const initializationOptions = { data, model: 'tiny', threads: 1 };
    await connection.sendRequest('initialize', {
      processId: null,
      rootUri: null,
      capabilities: {},
      initializationOptions,
    });
    const folder = pathToFileURL(workspace).toString();
    return <T>(name: string, more = {}) => connection.sendRequest<T>(name, { id: name, folder, ...more });
  }

  async function longview(...args: string[]): Promise<{ code: number | null; stderr: string }> {
    const main = join(clone, 'out/src/cli/main.js');
    const child = execFile(process.execPath, [main, ...args, '--data', data, '--model', 'tiny']);
    let stderr = '';
    child.stderr?.on('data', (text: string) => (stderr += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stderr };
  }

  test('no onnxruntime: the server runs, shows what it remembers, and says why it cannot read', async () => {
    linkPackagesWithout('onnxruntime-node');
    const request = await server();
    assert.equal((await request<ModelReply>(method.model)).installed, true);
    assert.deepEqual((await request<FilesReply>(method.files)).files, []);
    // Twice: the first failure must not leave anything behind.
    for (const name of [method.read, method.ask, method.read]) {
      await assert.rejects(request(name, { question: 'What is a?' }), (error: Error & { data?: { code: string } }) => {
        assert.ok(error.message.startsWith(`Longview's part onnxruntime does not load on ${here} (`), error.message);
        assert.match(error.message, /onnxruntime_binding\.node/);
        assert.match(error.message, advice);
        assert.equal(error.message.split('\n').length, 1);
        assert.equal(error.data?.code, 'unsupported');
        return true;
      });
    }
    assert.equal((await request<PingReply>(method.ping)).waiting, 0);
  });

  test('no lmdb: the server runs, and every request says why it cannot be answered', async () => {
    linkPackagesWithout('@lmdb');
    const request = await server();
    for (const name of [method.model, method.status, method.read, method.files, method.read]) {
      await assert.rejects(request(name), (error: Error & { data?: { code: string } }) => {
        assert.ok(error.message.startsWith(`Longview's part lmdb does not load on ${here} (`), error.message);
        assert.match(error.message, advice);
        assert.equal(error.data?.code, 'unsupported');
        return true;
      });
    }
    assert.equal((await request<PingReply>(method.ping)).waiting, 0);
  });

  for (const [part, binaries] of [
    ['onnxruntime', 'onnxruntime-node'],
    ['lmdb', '@lmdb'],
  ] as const) {
    test(`no ${part}: the command line says so in one line and exits with 1`, async () => {
      linkPackagesWithout(binaries);
      const { code, stderr } = await longview('read', workspace, '--yes');
      assert.equal(code, 1);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.ok(stderr.startsWith(`longview: Longview's part ${part} does not load on ${here} (`), stderr);
      assert.match(stderr, advice);
    });
  }
});
