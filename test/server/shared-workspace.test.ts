/**
 * Three servers, as editor windows have them, and command lines on one workspace: one reads, all answer meanwhile, and when
 * the one that reads is killed one of the others goes on with what is left. The engine of the one that reads is held still
 * while it reads, so that it is killed in the midst of it on any machine. Linux: there the engine's process can be found.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { method, type AskReply, type ReadReply, type RecallReply, type StatusReply } from '../../src/protocol/index.js';
import { startCli } from '../cli/cli-process.js';
import { ServerFolders, type ServerProcess } from './server-process.js';

const FILES = 30;
const QUESTION = 'What is part0?';

interface Answered {
  readonly recalled: readonly { readonly path: string }[];
  readonly coverage: { readonly total: number; readonly read: number };
}

suite('servers and command line on one workspace', function () {
  this.timeout(240_000);
  let folders: ServerFolders;
  let held: number | undefined;
  setup(async () => {
    folders = new ServerFolders();
    await folders.fill();
    for (let file = 0; file < FILES; file++) {
      const text = `export function part${file}() {\n  return ${file};\n}\n`.repeat(20);
      writeFileSync(join(folders.workspace, `part-${file}.ts`), text);
    }
  });
  teardown(() => {
    if (held !== undefined) process.kill(held, 'SIGKILL');
    held = undefined;
    folders.dispose();
  });

  async function cli<T>(...args: readonly string[]): Promise<T> {
    const more = ['--json', '--data', folders.data, '--model', 'tiny', '--threads', '1'];
    const { code, out, err } = await startCli([...args, ...more], folders.path).ended;
    assert.equal(code, 0, err);
    return JSON.parse(out) as T;
  }

  async function readSoFar(server: ServerProcess): Promise<number> {
    return (await server.request<StatusReply>(method.status)).coverage.read;
  }

  /** Holds its engine still after at least one file and before the last: it answers of what is in the store, and reads on never. */
  async function holdWhileReading(server: ServerProcess): Promise<number> {
    while ((await readSoFar(server)) < 1) await sleep(1);
    const engines = server.children();
    assert.equal(engines.length, 1, 'a server has one engine');
    held = engines[0]!;
    process.kill(held, 'SIGSTOP');
    return readSoFar(server);
  }

  test('one reads, all answer, and one of the others goes on when it is killed', async function () {
    if (process.platform !== 'linux') this.skip();
    const reader = await folders.start();
    reader.request<ReadReply>(method.read).catch(() => undefined);
    const before = await holdWhileReading(reader);
    assert.ok(before < FILES, 'it is held while it reads');

    const others = [await folders.start(), await folders.start()];
    const read = others.map(server => server.request<ReadReply>(method.read));
    const asked = { question: QUESTION, now: true, maxTokens: 4 };
    const askHere = (): Promise<Answered> => cli('ask', folders.workspace, QUESTION, '--now', '--max-tokens', '4');
    const answers: Answered[] = await Promise.all([
      ...others.map(server => server.request<AskReply>(method.ask, asked)),
      askHere(),
      askHere(),
    ]);
    for (const { recalled, coverage } of answers) {
      // One more may have been on its way when the engine was held.
      assert.ok(coverage.read >= before && coverage.read <= before + 1, `${coverage.read} after ${before}`);
      assert.equal(coverage.total, FILES);
      assert.ok(recalled.length > 0);
    }
    for (const server of others) {
      const { places } = await server.request<RecallReply>(method.recall, { question: QUESTION, limit: 3 });
      assert.ok(places.length > 0);
    }
    for (const server of [reader, ...others]) assert.ok((await readSoFar(server)) <= before + 1, 'nobody else reads');

    reader.child.kill('SIGKILL');
    const replies = await Promise.all(read);
    for (const { coverage } of replies) assert.equal(coverage.read, FILES);
    const after = replies.reduce((sum, { filesRead }) => sum + filesRead, 0);
    assert.ok(after > 0 && after <= FILES - before, `${after} files after ${before}`);

    const { coverage } = await cli<Answered>('status', folders.workspace);
    assert.deepEqual([coverage.total, coverage.read], [FILES, FILES]);
    assert.equal((await cli<ReadReply>('read', folders.workspace)).filesRead, 0, 'nothing is read twice');
  });
});
