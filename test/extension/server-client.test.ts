/** The extension's end of the wire, with small servers of this test in real processes: start, crash, restart, limit. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LogOutputChannel } from 'vscode';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { ServerClient } from '../../src/extension/server-client.js';

const jsonRpc = pathToFileURL(createRequire(import.meta.url).resolve('vscode-jsonrpc/node')).toString();
const { token } = new CancellationTokenSource();

suite('server client', function () {
  this.timeout(30_000);
  let folder: string;
  let lines: string[];
  let client: ServerClient;
  setup(() => {
    folder = mkdtempSync(join(tmpdir(), 'longview-client-'));
    lines = [];
  });
  teardown(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A client of a server whose body is `program`; there `connection` is the wire and initialize is answered already. */
  function clientOf(program: string): ServerClient {
    const file = join(folder, 'server.mjs');
    writeFileSync(
      file,
      `import rpc from ${JSON.stringify(jsonRpc)};
       const connection = rpc.createMessageConnection(
         new rpc.StreamMessageReader(process.stdin), new rpc.StreamMessageWriter(process.stdout));
       let options;
       connection.onRequest('initialize', params => { options = params.initializationOptions; return { capabilities: {} }; });
       connection.onRequest('shutdown', () => null);
       connection.onNotification('exit', () => process.exit(0));
       ${program}
       connection.listen();`,
    );
    const note = (message: string): void => void lines.push(message);
    const log = { info: note, warn: note, error: note, debug: note } as unknown as LogOutputChannel;
    client = new ServerClient(file, () => ({ threads: 2 }), log);
    return client;
  }

  test('options arrive, requests get ids of their own, notifications reach their request’s listener only', async () => {
    clientOf(`connection.onRequest('longview/ask', async ({ id, question: word }) => {
      await connection.sendNotification('longview/text', { id, text: word });
      return { id, options };
    });`);
    const heard: [string, string][] = [];
    const ask = (word: string): Promise<unknown> =>
      client.request('longview/ask', { folder, question: word }, token, { onText: text => heard.push([word, text]) });
    assert.deepEqual(await Promise.all([ask('a'), ask('b')]), [
      { id: '1', options: { threads: 2 } },
      { id: '2', options: { threads: 2 } },
    ]);
    assert.deepEqual(heard.sort(), [
      ['a', 'a'],
      ['b', 'b'],
    ]);
  });

  test('a crash fails the request that runs with what to do, and the next request starts a server', async () => {
    clientOf(`connection.onRequest('longview/ask', () => process.exit(7));
      connection.onRequest('longview/read', () => process.pid);`);
    const first = await client.request('longview/read', { folder }, token);
    await assert.rejects(
      client.request('longview/ask', { folder, question: 'crash' }, token),
      /The Longview server ended\. Try again/,
    );
    const second = await client.request('longview/read', { folder }, token);
    assert.notEqual(first, second);
    assert.ok(lines.includes('The server ended (code 7).'), lines.join('\n'));
  });

  test('a server that always ends is started four times, then no more until it is stopped on purpose', async () => {
    clientOf(`console.error('Error: no room\\nNode.js v20'); process.exit(3);`);
    for (let start = 0; start < 4; start++) {
      await assert.rejects(client.request('longview/read', { folder }, token), /The Longview server ended/);
    }
    await assert.rejects(client.request('longview/read', { folder }, token), /keeps ending \(Error: no room\)/);
    await assert.rejects(client.request('longview/read', { folder }, token), /keeps ending \(Error: no room\)/);
    assert.equal(lines.filter(line => line === 'Error: no room').length, 4);
    await client.stop();
    await assert.rejects(client.request('longview/read', { folder }, token), /The Longview server ended/);
  });

  test('stop asks the server to end', async () => {
    clientOf(`connection.onRequest('longview/read', () => 1);`);
    await client.request('longview/read', { folder }, token);
    await client.stop();
    for (let waited = 0; waited < 5000 && !lines.includes('The server ended (code 0).'); waited += 20) {
      await new Promise(done => setTimeout(done, 20));
    }
    assert.ok(lines.includes('The server ended (code 0).'), lines.join('\n'));
  });
});
