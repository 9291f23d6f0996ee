/**
 * "Nothing leaves this machine", held against the real server process and its engine process while they read a folder,
 * recall, answer and forget: no socket to anywhere but the pipes between the processes. Watched twice: a preload in every
 * process notes each try to connect, listen or look up a name through Node; and on Linux the kernel's own tables of TCP and
 * UDP sockets are searched for the processes' descriptors, which native code could not hide from.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import type { AskReply, ReadReply } from '../../src/protocol/index.js';
import { method } from '../../src/protocol/index.js';
import { sharedTextModel } from '../engine/tiny-shared.js';

const PRELOAD = `
const { appendFileSync } = require('node:fs');
const note = what => appendFileSync(process.env.LONGVIEW_TEST_NETWORK, process.pid + ' ' + what + '\\n');
note('started');
const net = require('node:net'), dns = require('node:dns'), dgram = require('node:dgram');
for (const [owner, name] of [[net.Socket.prototype, 'connect'], [net.Server.prototype, 'listen'], [dns, 'lookup'], [dgram, 'createSocket']]) {
  const real = owner[name];
  owner[name] = function (...given) { note(name + ' ' + JSON.stringify(given[0])); return real.apply(this, given); };
}
`;

suite('no network', function () {
  this.timeout(120_000);
  let scratch: string;
  let journal: string;
  suiteSetup(() => {
    scratch = mkdtempSync(join(tmpdir(), 'longview-network-'));
    journal = join(scratch, 'journal');
    writeFileSync(join(scratch, 'preload.cjs'), PRELOAD);
  });
  setup(() => writeFileSync(journal, ''));
  suiteTeardown(() => rmSync(scratch, { recursive: true, force: true }));

  /** A process with the preload, and what `/proc` saw of its sockets and its children's. */
  function watched(...args: string[]): { child: ChildProcess; sockets: Set<string>; stop: () => void } {
    const child = spawn(process.execPath, args, {
      env: {
        ...process.env,
        NODE_OPTIONS: `--require ${join(scratch, 'preload.cjs')}`,
        LONGVIEW_TEST_NETWORK: journal,
      },
    });
    const sockets = new Set<string>();
    const timer = setInterval(() => {
      for (const pid of familyOf(child.pid!)) for (const socket of internetSockets(pid)) sockets.add(socket);
    }, 20);
    return { child, sockets, stop: () => clearInterval(timer) };
  }

  const tries = (): string[] =>
    readFileSync(journal, 'utf8')
      .split('\n')
      .filter(line => line !== '' && !line.endsWith(' started'));

  test('the watch sees a connection that is made', async () => {
    const server = createServer();
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const { child, sockets, stop } = watched('-e', `require('node:net').connect(${port}, '127.0.0.1')`);
    const ended = new Promise(done => child.once('exit', done));
    const seen = (): boolean => tries().length > 0 && (sockets.size > 0 || !existsSync('/proc/net/tcp'));
    while (!seen() && child.exitCode === null) await new Promise(done => setTimeout(done, 20));
    child.kill();
    await ended;
    stop();
    server.close();
    assert(seen(), `sockets: ${[...sockets].join()}`);
    assert.match(tries()[0]!, /^\d+ connect /);
  });

  test('reading, recalling, answering and forgetting open none', async () => {
    const data = join(scratch, 'data');
    const workspace = join(scratch, 'workspace');
    mkdirSync(workspace);
    for (let file = 0; file < 12; file++) {
      writeFileSync(join(workspace, `part-${file}.ts`), `export function part${file}() {\n  return ${file};\n}\n`);
    }
    cpSync(await sharedTextModel(), join(data, 'models', 'tiny'), { recursive: true });
    const { child, sockets, stop } = watched(resolve('out/src/server/main.js'), '--stdio');
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout!),
      new StreamMessageWriter(child.stdin!),
    );
    connection.listen();
    const initializationOptions = { data, model: 'tiny', threads: 1 };
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: {},
      initializationOptions,
    });
    const folder = pathToFileURL(workspace).toString();
    const send = <T>(name: string, params: object): Promise<T> =>
      request(connection, name, { id: name, folder, ...params });
    assert.equal((await send<ReadReply>(method.read, {})).filesRead, 12);
    const answer = await send<AskReply>(method.ask, { question: 'What does part3 return?', maxTokens: 8 });
    assert.equal(answer.coverage.read, 12);
    assert(answer.recalled.length > 0);
    await send(method.forget, { path: 'part-4.ts' });
    const ended = new Promise(done => child.once('exit', done));
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
    await ended;
    stop();
    connection.dispose();
    const processes = readFileSync(journal, 'utf8')
      .split('\n')
      .filter(line => line.endsWith(' started'));
    assert(processes.length >= 2, `server and engine were watched: ${String(processes)}`);
    assert.deepEqual(tries(), []);
    assert.deepEqual([...sockets], []);
  });
});

function request<T>(connection: MessageConnection, name: string, params: object): Promise<T> {
  return connection.sendRequest<T>(name, params);
}

/** A process and its descendants, as far as they live now. */
function familyOf(pid: number): number[] {
  const children = readText(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(familyOf)];
}

/** Descriptors of a process that are in the kernel's tables of TCP and UDP sockets. */
function internetSockets(pid: number): string[] {
  const inodes = new Set<string>();
  for (const table of ['tcp', 'tcp6', 'udp', 'udp6']) {
    for (const line of readText(`/proc/${pid}/net/${table}`).split('\n').slice(1)) {
      const inode = line.trim().split(/\s+/)[9];
      if (inode !== undefined && inode !== '0') inodes.add(inode);
    }
  }
  return descriptorsOf(pid).flatMap(descriptor => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1];
    return inode !== undefined && inodes.has(inode) ? [`${pid}: socket ${inode}`] : [];
  });
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // It has ended.
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
