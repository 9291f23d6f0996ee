/** The server over a real connection (two streams), with a backend of this test: what goes over the wire, in which order. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import {
  CancellationTokenSource,
  StreamMessageReader,
  StreamMessageWriter,
  createMessageConnection,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { createConnection } from 'vscode-languageserver/node';
import { LongviewError, throwIfCancelled } from '../../src/base/index.js';
import { event, method, type AskReply, type PingReply, type SummaryReply } from '../../src/protocol/index.js';
import type { Backend } from '../../src/server/backend.js';
import { serve } from '../../src/server/serve.js';

const root = join(process.cwd(), 'some folder');
const folder = pathToFileURL(root).toString();
const reply: AskReply = {
  answer: 'In a.ts.',
  recalled: [{ path: 'a.ts', startLine: 1, endLine: 2, score: 3 }],
  citations: [{ path: 'a.ts', startLine: 1, endLine: 1, ok: true }],
  unknownNames: [],
  coverage: { total: 1, read: 1, stale: 0, waiting: 0, coarse: 0, skipped: 0 },
  timing: { readMs: 1, firstTokenMs: 2, totalMs: 3, readTokens: 4, writtenTokens: 5 },
  model: 'tiny',
  provider: 'cpu',
};

/** Every request fails unless the test gives it. */
function backendWith(parts: Partial<Backend>): Backend {
  const missing = (): Promise<never> => Promise.reject(new LongviewError('internal', 'not in this test'));
  const given = { dispose: () => undefined, ...parts };
  return new Proxy(given, { get: (target, name): unknown => Reflect.get(target, name) ?? missing }) as Backend;
}

async function connect(backend: Backend, onOpen?: (options: unknown) => void): Promise<MessageConnection> {
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const server = createConnection(new StreamMessageReader(toServer), new StreamMessageWriter(toClient));
  const open = (options: unknown): Backend => {
    onOpen?.(options);
    return backend;
  };
  serve(server, open, { name: 'longview', version: '0' });
  const client = createMessageConnection(new StreamMessageReader(toClient), new StreamMessageWriter(toServer));
  client.listen();
  const initialize = { processId: null, rootUri: null, capabilities: {}, initializationOptions: { threads: 3 } };
  assert.deepEqual(await client.sendRequest('initialize', initialize), {
    capabilities: { textDocumentSync: 0 },
    serverInfo: { name: 'longview', version: '0' },
  });
  return client;
}

suite('server wire', () => {
  test('ask: recalled places, then the words, then the reply; the folder arrives as a path', async () => {
    const heard: unknown[] = [];
    const opened: unknown[] = [];
    const backend = backendWith({
      ask: (at, question, { onRecalled, onText }) => {
        heard.push(at, question);
        onRecalled(reply.recalled);
        onText('In ');
        onText('a.ts.');
        return Promise.resolve(reply);
      },
    });
    const client = await connect(backend, options => opened.push(options));
    client.onNotification(event.recalled, it => void heard.push(it));
    client.onNotification(event.text, it => void heard.push(it));
    const answer = await client.sendRequest(method.ask, { id: '7', folder, question: 'Where?', maxTokens: 9 });
    assert.deepEqual(answer, reply);
    assert.deepEqual(heard, [
      root,
      { question: 'Where?', now: false, maxTokens: 9, selection: undefined },
      { id: '7', recalled: reply.recalled },
      { id: '7', text: 'In ' },
      { id: '7', text: 'a.ts.' },
    ]);
    assert.deepEqual(opened, [{ threads: 3 }], 'the backend is opened once, with the options of initialize');
    client.dispose();
  });

  test('summarize: sentence after sentence, then the reply; the target arrives as it was sent', async () => {
    const heard: unknown[] = [];
    const sentences = [1, 2].map(line => ({
      text: `Line ${line}.`,
      places: [{ path: 'a.ts', startLine: line, endLine: line }],
      quoted: false,
    }));
    const summary: SummaryReply = {
      summary: sentences,
      notes: ['Deleted: `b.ts`.'],
      coverage: reply.coverage,
      basis: '1 of 1 files read',
      timing: { totalMs: 3, readTokens: 4, writtenTokens: 5 },
      model: 'tiny',
    };
    const backend = backendWith({
      summarize: (at, request, { onSentence }) => {
        heard.push(at, request);
        sentences.forEach(onSentence);
        return Promise.resolve(summary);
      },
    });
    const client = await connect(backend);
    client.onNotification(event.sentence, it => void heard.push(it));
    const target = { kind: 'changes', since: 'main' } as const;
    const params = { id: '3', folder, target, maxSentences: 2 };
    assert.deepEqual(await client.sendRequest(method.summarize, params), summary);
    assert.deepEqual(heard, [root, { target, maxSentences: 2 }, ...sentences.map(sentence => ({ id: '3', sentence }))]);
    client.dispose();
  });

  test('a commit is looked up beside what runs; what git does not know is an error with its code', async () => {
    const backend = backendWith({
      read: (_root, _how, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      commitOf: (at, since) =>
        at === root && since === 'main'
          ? Promise.resolve('4f2a')
          : Promise.reject(new LongviewError('not-found', `There is no commit "${since}".`)),
    });
    const client = await connect(backend);
    client.sendRequest(method.read, { id: '1', folder }).catch(() => undefined);
    assert.deepEqual(await client.sendRequest(method.commit, { id: '2', folder, since: 'main' }), { commit: '4f2a' });
    await assert.rejects(client.sendRequest(method.commit, { id: '3', folder, since: 'no' }), {
      message: 'There is no commit "no".',
      data: { code: 'not-found' },
    });
    client.dispose();
  });

  test('a ping is answered while a read runs, and cancelling ends the read with its code', async () => {
    let began = (): void => undefined;
    const reading = new Promise<void>(done => (began = done));
    const backend = backendWith({
      read: async (_root, _how, { signal }) => {
        began();
        await new Promise(done => signal.addEventListener('abort', done));
        throwIfCancelled(signal);
        return Promise.reject(new Error('unreachable'));
      },
    });
    const client = await connect(backend);
    const source = new CancellationTokenSource();
    const read = client.sendRequest(method.read, { id: '1', folder }, source.token);
    const waiting = client.sendRequest(method.read, { id: '2', folder }, source.token);
    await reading;
    assert.deepEqual(await client.sendRequest<PingReply>(method.ping), {
      process: process.pid,
      task: 'read',
      waiting: 1,
    });
    source.cancel();
    await assert.rejects(read, { data: { code: 'cancelled' } });
    await assert.rejects(waiting, { data: { code: 'cancelled' } });
    assert.deepEqual(await client.sendRequest<PingReply>(method.ping), { process: process.pid, waiting: 0 });
    client.dispose();
  });

  test('the ledger’s files are answered while a read runs', async () => {
    let began = (): void => undefined;
    const reading = new Promise<void>(done => (began = done));
    const status = {
      coverage: reply.coverage,
      tokens: 4,
      state: { slots: 1, bytes: 2 },
      recall: { slots: 1, bytes: 2 },
      store: { path: '/data', bytes: 3 },
    };
    const backend = backendWith({
      read: async (_root, _how, { signal }) => {
        began();
        await new Promise(done => signal.addEventListener('abort', done));
        throwIfCancelled(signal);
        return Promise.reject(new Error('unreachable'));
      },
      files: at => Promise.resolve({ files: [{ path: at, state: 'read', tokens: 4 }], status }),
    });
    const client = await connect(backend);
    const source = new CancellationTokenSource();
    const read = client.sendRequest(method.read, { id: '1', folder }, source.token);
    await reading;
    assert.deepEqual(await client.sendRequest(method.files, { id: '2', folder }), {
      files: [{ path: root, state: 'read', tokens: 4 }],
      status,
    });
    source.cancel();
    await assert.rejects(read, { data: { code: 'cancelled' } });
    client.dispose();
  });

  test('a failure is that request’s error, with code and one line; the server goes on', async () => {
    const backend = backendWith({
      forget: () => Promise.reject(new LongviewError('not-found', 'b.ts is not in the memory.')),
      status: () => Promise.reject(new Error('first line\nsecond line')),
    });
    const client = await connect(backend);
    await assert.rejects(client.sendRequest(method.forget, { id: '1', folder, path: 'b.ts' }), {
      message: 'b.ts is not in the memory.',
      data: { code: 'not-found' },
    });
    await assert.rejects(client.sendRequest(method.status, { id: '2', folder }), {
      message: 'first line',
      data: { code: 'internal' },
    });
    await assert.rejects(client.sendRequest(method.status, { id: '3', folder: 'vscode-vfs://github/a/b' }), {
      data: { code: 'unsupported' },
    });
    assert.equal((await client.sendRequest<PingReply>(method.ping)).waiting, 0);
    client.dispose();
  });

  test('export and import: folder and files arrive as paths; an import ends what is being read', async () => {
    const heard: unknown[] = [];
    const exported = { files: 1, tokens: 2, bytes: 3, leftOut: 0 };
    const imported = { files: 1, added: 1, known: 0, coverage: reply.coverage };
    const backend = backendWith({
      read: (_, _request, { signal }) =>
        new Promise((_, reject) => {
          heard.push('reading');
          signal.addEventListener('abort', () => reject(new LongviewError('cancelled', 'Cancelled.')));
        }),
      exportMemory: (at, file) => {
        heard.push([at, file]);
        return Promise.resolve(exported);
      },
      importMemory: (at, files) => {
        heard.push([at, files]);
        return Promise.resolve(imported);
      },
    });
    const client = await connect(backend);
    const reading = client.sendRequest(method.read, { id: '1', folder });
    assert.deepEqual(await client.sendRequest(method.exportMemory, { id: '2', folder, file: '/x' }), exported);
    const ended = assert.rejects(reading, { data: { code: 'cancelled' } });
    assert.deepEqual(await client.sendRequest(method.importMemory, { id: '3', folder, files: ['/x', '/y'] }), imported);
    await ended;
    assert.deepEqual(heard, ['reading', [root, '/x'], [root, ['/x', '/y']]]);
    client.dispose();
  });

  test('recall: question and limit arrive, places come with their text', async () => {
    const places = [{ path: 'a.ts', startLine: 1, endLine: 1, score: 2, text: 'let a;' }];
    const heard: unknown[] = [];
    const backend = backendWith({
      recall: (at, question, limit) => {
        heard.push(at, question, limit);
        return Promise.resolve({ places, coverage: reply.coverage });
      },
    });
    const client = await connect(backend);
    const found = await client.sendRequest(method.recall, { id: '1', folder, question: 'Where?', limit: 5 });
    assert.deepEqual(found, { places, coverage: reply.coverage });
    assert.deepEqual(heard, [root, 'Where?', 5]);
    client.dispose();
  });

  test('generate streams its text and can be cancelled; tokens are counted meanwhile', async () => {
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    const backend = backendWith({
      generate: async (request, { signal, onText }) => {
        assert.deepEqual(request.messages, messages);
        onText('Good ');
        await new Promise(done => signal.addEventListener('abort', done));
        return { text: 'Good ', promptTokens: 7, writtenTokens: 1, stopReason: 'cancelled' };
      },
      countTokens: text => Promise.resolve(text.length),
    });
    const client = await connect(backend);
    const source = new CancellationTokenSource();
    const text = new Promise(done => client.onNotification(event.text, done));
    const writing = client.sendRequest(method.generate, { id: '5', messages, maxTokens: 9 }, source.token);
    assert.deepEqual(await text, { id: '5', text: 'Good ' });
    assert.deepEqual(await client.sendRequest(method.countTokens, { id: '6', text: 'four' }), { tokens: 4 });
    source.cancel();
    // What was written so far is the reply.
    assert.deepEqual(await writing, { text: 'Good ', promptTokens: 7, writtenTokens: 1, stopReason: 'cancelled' });
    client.dispose();
  });

  test('a name is recalled while a read runs, with what the client knows of its place', async () => {
    const nothing = { candidates: [], certainty: 'none', how: 'unknown', filesRead: 2 } as const;
    let finish = (): void => undefined;
    const heard: unknown[] = [];
    const backend = backendWith({
      read: async () => {
        await new Promise<void>(done => (finish = done));
        return { filesRead: 0, filesForgotten: 0, filesFailed: 0, tokensRead: 0, readMs: 0, coverage: reply.coverage };
      },
      recallAt: (at, use) => {
        heard.push(at, use);
        return Promise.resolve(nothing);
      },
    });
    const client = await connect(backend);
    const read = client.sendRequest(method.read, { id: '1', folder });
    const place = { path: 'a.ts', identifier: 'send', line: 3, column: 5, before: 'x.send', languageId: 'typescript' };
    assert.deepEqual(await client.sendRequest(method.recallAt, { id: '2', folder, ...place }), nothing);
    assert.deepEqual(heard, [root, { id: '2', folder, ...place }]);
    finish();
    await read;
    client.dispose();
  });

  test('progress of one task is thinned out, its end always comes', async () => {
    const backend = backendWith({
      read: (_root, _how, { onProgress }) => {
        for (let done = 0; done <= 1000; done++) onProgress({ task: 'Reading', done, total: 1000, unit: 'tokens' });
        return Promise.resolve({
          filesRead: 1,
          filesForgotten: 0,
          filesFailed: 0,
          tokensRead: 1000,
          readMs: 5,
          coverage: reply.coverage,
        });
      },
    });
    const client = await connect(backend);
    const heard: { id: string; done: number }[] = [];
    client.onNotification(event.progress, (it: { id: string; done: number }) => void heard.push(it));
    await client.sendRequest(method.read, { id: '4', folder });
    assert.ok(heard.length < 20, `${heard.length} notifications`);
    assert.deepEqual(heard.at(-1), { id: '4', task: 'Reading', done: 1000, total: 1000, unit: 'tokens' });
    client.dispose();
  });

  test('shutdown disposes the backend', async () => {
    let disposed = 0;
    const backend = backendWith({
      model: () => Promise.reject(new Error('no')),
      dispose: () => (disposed++, undefined),
    });
    const client = await connect(backend);
    await assert.rejects(client.sendRequest(method.model, {}), /no/);
    await client.sendRequest('shutdown');
    assert.equal(disposed, 1);
    client.dispose();
  });
});
