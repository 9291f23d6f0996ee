/**
 * `longview mcp` as a real process, spoken to by the SDK's own client, with the tiny text model (its texts are noise, its
 * recall is exact). What is expected of the protocol is the Model Context Protocol's specification; of the results, README.md.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { tinyTextModel } from '../engine/tiny-text-model.js';
import { isGone, isRunning } from '../engine/tiny-process.js';

const main = resolve('out/src/cli/main.js');
const retry = 'export function retryDelay(attempt) {\n  return 100 * attempt;\n}\n';
const question = 'How long is retryDelay for an attempt?';

suite('longview mcp', function () {
  this.timeout(60_000);
  let tiny: TinyFolder;
  let scratch: string;
  let work: string;
  const clients: Client[] = [];
  suiteSetup(async () => {
    tiny = new TinyFolder();
    await tinyTextModel(tiny);
  });
  suiteTeardown(() => tiny.dispose());
  setup(() => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-mcp-')));
    work = join(scratch, 'work');
    mkdirSync(join(work, 'lib'), { recursive: true });
    writeFileSync(join(work, 'lib', 'retry.js'), retry);
    writeFileSync(join(work, 'lib', 'paint.js'), 'export function paintWall(colour) {\n  return colour;\n}\n');
  });
  teardown(async () => {
    for (const client of clients.splice(0)) await client.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  const argumentsFor = (dirs: readonly string[], model = join(tiny.path, 'text-f32')): string[] => [
    main,
    'mcp',
    ...dirs,
    ...['--data', join(scratch, 'data'), '--model', model, '--threads', '1'],
  ];

  /** `roots` are what the client offers; without them it has no such capability. */
  async function connect(
    dirs: readonly string[],
    roots?: readonly string[],
    model?: string,
  ): Promise<{ client: Client; transport: StdioClientTransport; errors: Error[] }> {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: roots ? { roots: {} } : {} });
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map(uri => ({ uri })) }));
    const errors: Error[] = [];
    client.onerror = error => void errors.push(error); // Among others: a line on stdout that is not the protocol's.
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: argumentsFor(dirs, model),
      stderr: 'ignore',
    });
    await client.connect(transport);
    clients.push(client);
    return { client, transport, errors };
  }

  const call = async (client: Client, name: string, args: object): Promise<CallToolResult> =>
    (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;
  const textOf = ({ content }: CallToolResult): string => (content[0] as { text: string }).text;

  test('lists its tools, each with what it takes and gives, and tells agents how to begin', async () => {
    const { client, errors } = await connect([work]);
    const { tools } = await client.listTools();
    for (const name of ['longview_recall', 'longview_ask', 'longview_status']) {
      const tool = tools.find(it => it.name === name);
      assert.ok(tool, name);
      assert.ok((tool.description ?? '').length > 40);
      assert.equal(tool.inputSchema.type, 'object');
      assert.equal(tool.outputSchema?.type, 'object');
      assert.deepEqual([tool.annotations?.readOnlyHint, tool.annotations?.openWorldHint], [true, false]);
    }
    const recall = tools.find(it => it.name === 'longview_recall')!;
    assert.deepEqual(recall.inputSchema.required, ['question']);
    assert.match(client.getInstructions() ?? '', /longview_recall/);
    assert.equal(client.getServerVersion()?.name, 'longview');
    assert.deepEqual(errors, []);
  });

  test('recall, ask and status: structured and as text; ask reads first and reports progress that rises', async () => {
    const { client, errors } = await connect([work]);
    const nothing = await call(client, 'longview_recall', { question });
    assert.deepEqual(nothing.structuredContent, {
      folder: work,
      places: [],
      coverage: { total: 2, read: 0, stale: 0, waiting: 2, coarse: 0, skipped: 0 },
    });
    assert.match(textOf(nothing), /^Nothing was found\.\n\n0 of 2 files read, .*2 waiting.*longview_ask/s);

    const progress: number[] = [];
    const answer = await client.callTool({ name: 'longview_ask', arguments: { question, maxTokens: 8 } }, undefined, {
      onprogress: it => void progress.push(it.progress),
    });
    const asked = answer.structuredContent as { answer: string; coverage: { read: number }; recalled: unknown[] };
    assert.equal(asked.coverage.read, 2);
    assert.ok(asked.recalled.length > 0);
    assert.equal(textOf(answer as CallToolResult), asked.answer);
    assert.match(asked.answer, /2 of 2 files read, 0 stale, 0 skipped$/);
    assert.ok(progress.length > 0);
    assert.deepEqual(
      progress,
      [...new Set(progress)].sort((a, b) => a - b),
    );

    const found = await call(client, 'longview_recall', { question, limit: 3 });
    const { places } = found.structuredContent as { places: { path: string; startLine: number; text: string }[] };
    const place = places.find(it => it.path === 'lib/retry.js')!;
    assert.ok(retry.includes(place.text) && place.text !== '');
    assert.ok(textOf(found).includes(`lib/retry.js:${place.startLine}`));
    assert.ok(textOf(found).includes(place.text));

    const status = await call(client, 'longview_status', {});
    const { folders } = status.structuredContent as { folders: { folder: string; tokens: number }[] };
    assert.equal(folders.length, 1);
    assert.equal(folders[0]!.folder, work);
    assert.ok(folders[0]!.tokens > 0);
    assert.ok(textOf(status).startsWith(`${work}: 2 of 2 files read`));
    assert.deepEqual(errors, []);
  });

  test('bad parameters and unknown tools are results that say what is wrong; the server goes on', async () => {
    const { client } = await connect([work]);
    for (const [name, args, message] of [
      ['longview_recall', {}, /question/],
      ['longview_recall', { question: '' }, /question/],
      ['longview_recall', { question: 7 }, /question/],
      ['longview_recall', { question, limit: 0 }, /limit/],
      ['longview_ask', { question, readSeconds: -1 }, /readSeconds/],
      ['longview_nothing', {}, /longview_nothing/],
      ['longview_recall', { question: '  ' }, /question is empty/],
    ] as const) {
      const result = await call(client, name, args);
      assert.equal(result.isError, true, name);
      assert.match(textOf(result), message);
    }
    assert.notEqual((await call(client, 'longview_status', {})).isError, true);
  });

  test('what is outside of the folders is refused alike, whether it exists or not, links included', async () => {
    mkdirSync(join(scratch, 'secret'));
    writeFileSync(join(scratch, 'secret', 'key.txt'), 'retryDelay secret\n');
    symlinkSync(join(scratch, 'secret'), join(work, 'way-out'));
    const { client } = await connect([work]);
    for (const folder of [
      join(scratch, 'secret'),
      join(scratch, 'missing'),
      join(work, 'way-out'),
      join(work, '..', 'secret'),
      '../secret',
      '/',
      pathToFileURL(join(scratch, 'secret')).toString(),
      `${work}-other`,
    ]) {
      const result = await call(client, 'longview_recall', { question, folder });
      assert.equal(result.isError, true, folder);
      assert.equal(textOf(result), `${folder} is outside of what may be asked about: ${work}`);
    }
    for (const folder of [work, 'work', join(work, 'lib'), pathToFileURL(work).toString()]) {
      const result = await call(client, 'longview_recall', { question, folder });
      assert.equal((result.structuredContent as { folder: string }).folder, work, folder);
    }
  });

  test('without folders the client’s roots count; without either it says what to do', async () => {
    mkdirSync(join(scratch, 'second'));
    const uris = [work, join(scratch, 'second'), join(scratch, 'missing')].map(path => pathToFileURL(path).toString());
    const both = await connect([], [...uris, 'https://example.com/folder']);
    const unclear = await call(both.client, 'longview_recall', { question });
    assert.equal(
      textOf(unclear),
      `There are several folders, so name one in "folder": ${work}, ${join(scratch, 'second')}`,
    );
    const named = await call(both.client, 'longview_recall', { question, folder: 'second' });
    assert.equal((named.structuredContent as { folder: string }).folder, join(scratch, 'second'));
    const status = await call(both.client, 'longview_status', {});
    assert.equal((status.structuredContent as { folders: unknown[] }).folders.length, 2);

    const neither = await connect([]);
    const nothing = await call(neither.client, 'longview_recall', { question });
    assert.equal(nothing.isError, true);
    assert.match(textOf(nothing), /longview mcp DIR/);
  });

  test('folders named at the start win over the client’s roots', async () => {
    mkdirSync(join(scratch, 'second'));
    const { client } = await connect([work], [pathToFileURL(join(scratch, 'second')).toString()]);
    const result = await call(client, 'longview_recall', { question });
    assert.equal((result.structuredContent as { folder: string }).folder, work);
  });

  test('a cancelled call stops reading, keeps what was read, and the next one is served', async () => {
    for (let at = 0; at < 400; at++) writeFileSync(join(work, `part-${at}.js`), retry.repeat(3));
    const { client } = await connect([work]);
    const controller = new AbortController();
    const reading = client.callTool({ name: 'longview_ask', arguments: { question, readSeconds: 3000 } }, undefined, {
      signal: controller.signal,
      timeout: 3_000_000,
      // Reading has begun, and is far from its end.
      onprogress: ({ message }) => {
        if (/^Reading: [1-9]/.test(message ?? '')) controller.abort();
      },
    });
    await assert.rejects(reading, /abort/i);
    const status = await call(client, 'longview_status', {});
    const { folders } = status.structuredContent as { folders: { coverage: { read: number; total: number } }[] };
    assert.equal(folders[0]!.coverage.total, 402);
    assert.ok(folders[0]!.coverage.read < 402, 'it stopped');
    assert.notEqual((await call(client, 'longview_ask', { question, readSeconds: 0, maxTokens: 4 })).isError, true);
  });

  test('reading that takes longer than a call waits goes on between the calls', async () => {
    const { client } = await connect([work]);
    const ask = (readSeconds: number): Promise<CallToolResult> =>
      call(client, 'longview_ask', { question, readSeconds, maxTokens: 4 });
    assert.notEqual((await ask(0.001)).isError, true);
    const read = async (): Promise<number> => {
      const status = await call(client, 'longview_status', {});
      return (status.structuredContent as { folders: { coverage: { read: number } }[] }).folders[0]!.coverage.read;
    };
    // Nobody waits for it; without it this would never end.
    while ((await read()) < 2) await sleep(20);
  });

  test('changes where there is no git are refused before anything is read', async () => {
    const { client } = await connect([work]);
    const since = await call(client, 'longview_summarize', { since: 'HEAD', readSeconds: 3000 });
    assert.equal(since.isError, true);
    assert.match(textOf(since), /is in no git repository/);
    const status = await call(client, 'longview_status', {});
    const { folders } = status.structuredContent as { folders: { coverage: { read: number } }[] };
    assert.equal(folders[0]!.coverage.read, 0);
  });

  test('two clients at once on one folder: both are answered, and one’s reading serves the other', async () => {
    const [one, two] = [await connect([work]), await connect([work])];
    const ask = (client: Client): Promise<CallToolResult> => call(client, 'longview_ask', { question, maxTokens: 4 });
    for (const result of await Promise.all([ask(one.client), ask(two.client)])) {
      assert.notEqual(result.isError, true, textOf(result));
      assert.equal((result.structuredContent as { coverage: { read: number } }).coverage.read, 2);
    }
    assert.deepEqual([...one.errors, ...two.errors], []);
  });

  test('no model: recall and ask say how to get one, status works', async () => {
    const { client } = await connect([work], undefined, 'smollm2-135m');
    const asked = await call(client, 'longview_ask', { question });
    assert.equal(asked.isError, true);
    assert.match(textOf(asked), /longview model add/);
    assert.notEqual((await call(client, 'longview_status', {})).isError, true);
  });

  for (const how of ['stdin', 'SIGTERM', 'at once'] as const)
    test(`it ends with its engine while that starts: ${how}`, async function () {
      if (process.platform !== 'linux') this.skip();
      // An engine that loads for ever, and hears nothing.
      const slow = join(scratch, 'slow.cjs');
      writeFileSync(
        slow,
        `if (/engine-main/.test(process.argv[1])) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
      );
      const child = spawn(process.execPath, ['--require', slow, ...argumentsFor([work])], {
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      const exited = once(child, 'exit');
      const clientInfo = { name: 'test', version: '1' };
      const messages = [
        { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
        { method: 'notifications/initialized' },
        ...['longview_ask', 'longview_recall'].map((name, at) => ({
          id: 2 + at,
          method: 'tools/call',
          params: { name, arguments: { question } },
        })),
      ];
      for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      let engines: number[] = [];
      try {
        if (how !== 'at once') while ((engines = childrenOf(child.pid!)).length === 0) await sleep(5);
        if (how === 'SIGTERM') child.kill('SIGTERM');
        else child.stdin.end();
        assert.deepEqual(await exited, [0, null]);
        for (const pid of engines) assert.ok(await isGone(pid));
      } finally {
        child.kill('SIGKILL');
        for (const pid of engines.filter(isRunning)) process.kill(pid, 'SIGKILL');
      }
    });

  test('it ends when stdin does, in the middle of reading too, with exit code 0 and its engine', async function () {
    if (process.platform !== 'linux') this.skip();
    for (let at = 0; at < 400; at++) writeFileSync(join(work, `part-${at}.js`), retry.repeat(3));
    const child = spawn(process.execPath, argumentsFor([work]), { stdio: ['pipe', 'pipe', 'inherit'] });
    const send = (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'test', version: '1' };
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    send({ method: 'notifications/initialized' });
    const params = { name: 'longview_ask', arguments: { question, readSeconds: 3000 }, _meta: { progressToken: 1 } };
    send({ id: 2, method: 'tools/call', params });
    let out = '';
    for await (const chunk of child.stdout) {
      out += String(chunk);
      if (/"Reading: [1-9]/.test(out)) break;
    }
    const exited = once(child, 'exit');
    const engines = childrenOf(child.pid!);
    assert.ok(engines.length === 1 && engines.every(isRunning), 'its engine process runs');
    child.stdin.end();
    assert.deepEqual(await exited, [0, null]);
    for (const pid of engines) assert.ok(await isGone(pid));
    for (const line of out.trimEnd().split('\n').slice(0, -1)) {
      assert.equal((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0', 'only the protocol is on stdout');
    }
  });

  test('listing tools and status start no engine; SIGTERM ends it', async function () {
    if (process.platform !== 'linux') this.skip();
    const { client, transport } = await connect([work]);
    await client.listTools();
    await call(client, 'longview_status', {});
    const pid = transport.pid!;
    assert.deepEqual(childrenOf(pid), []);
    process.kill(pid, 'SIGTERM');
    assert.ok(await isGone(pid));
  });

  test('it takes what the editor passes of its settings, 0 tokens of a state too', async () => {
    const { client } = await connect([work, '--ram', '100', '--disk', '1000', '--state', '0']);
    assert.ok((await client.listTools()).tools.length > 0);
  });

  test('a folder that is not there is told at the start, on stderr', async () => {
    const child = spawn(process.execPath, argumentsFor([join(scratch, 'missing')]), {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', chunk => (out += String(chunk)));
    child.stderr.on('data', chunk => (err += String(chunk)));
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.equal(out, '');
    assert.equal(err, `longview: There is no folder ${join(scratch, 'missing')}\n`);
  });
});

/** Process ids of a process's children; Linux tells them. */
function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list === '' ? [] : list.split(' ').map(Number);
}
