/**
 * Three servers, as editor windows have them, and two command lines on one workspace: one reads, all answer meanwhile, and
 * when the one that reads is killed one of the others goes on with what is left.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { method, type AskReply, type ReadReply, type StatusReply } from '../../src/protocol/index.js';
import { startCli } from '../cli/cli-process.js';
import { ServerFolders, type ServerProcess } from './server-process.js';

const FILES = 100;
const QUESTION = 'What is part0?';

interface Answered {
  readonly recalled: readonly { readonly path: string }[];
  readonly coverage: { readonly total: number; readonly read: number };
}

suite('servers and command line on one workspace', function () {
  this.timeout(240_000);
  let folders: ServerFolders;
  setup(async () => {
    folders = new ServerFolders();
    await folders.fill();
    for (let file = 0; file < FILES; file++) {
      const text = `export function part${file}() {\n  return ${file};\n}\n`.repeat(20);
      writeFileSync(join(folders.workspace, `part-${file}.ts`), text);
    }
  });
  teardown(() => folders.dispose());

  async function cli<T>(...args: readonly string[]): Promise<T> {
    const more = ['--json', '--data', folders.data, '--model', 'tiny', '--threads', '1'];
    const { code, out, err } = await startCli([...args, ...more], folders.path).ended;
    assert.equal(code, 0, err);
    return JSON.parse(out) as T;
  }

  async function readSoFar(server: ServerProcess): Promise<number> {
    return (await server.request<StatusReply>(method.status)).coverage.read;
  }

  test('one reads, all answer, and one of the others goes on when it is killed', async function () {
    if (process.platform === 'win32') this.skip();
    const reader = await folders.start();
    const others = [await folders.start(), await folders.start()];
    const cut = reader.request<ReadReply>(method.read);
    cut.catch(() => undefined);
    while ((await readSoFar(reader)) < 3) await new Promise(done => setTimeout(done, 20));
    const read = others.map(server => server.request<ReadReply>(method.read));

    const asked = { question: QUESTION, now: true, maxTokens: 4 };
    const askHere = (): Promise<Answered> => cli('ask', folders.workspace, QUESTION, '--now', '--max-tokens', '4');
    const answers: Answered[] = await Promise.all([
      ...[reader, ...others].map(server => server.request<AskReply>(method.ask, asked)),
      askHere(),
      askHere(),
    ]);
    for (const { recalled, coverage } of answers) {
      assert.ok(coverage.read >= 3 && coverage.total === FILES, JSON.stringify(coverage));
      assert.ok(recalled.length > 0);
    }

    const before = await readSoFar(reader);
    assert.ok(before < FILES, 'it is killed while it reads');
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
