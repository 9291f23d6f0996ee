/** What the editor is told when the store or the engine fails under the real server: one line with what to do, and it goes on. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  event,
  method,
  type AskReply,
  type FilesReply,
  type PingReply,
  type ReadReply,
} from '../../src/protocol/index.js';
import { ServerFolders } from './server-process.js';

interface Refusal extends Error {
  readonly data?: { readonly code: string };
}

suite('server when something fails', function () {
  this.timeout(120_000);
  let folders: ServerFolders;
  setup(async () => {
    folders = new ServerFolders();
    await folders.fill();
  });
  teardown(() => folders.dispose());

  function writeFiles(count: number): void {
    for (let file = 0; file < count; file++) {
      const text = `export function part${file}() {\n  return ${file};\n}\n`.repeat(10);
      writeFileSync(join(folders.workspace, `part-${file}.ts`), text);
    }
  }

  test('a data folder that cannot be written: what to do, with every request, and the server stays', async function () {
    // Not even root makes folders there.
    if (!existsSync('/sys/kernel')) this.skip();
    symlinkSync('/sys/kernel', join(folders.data, 'workspaces'));
    writeFiles(1);
    const server = await folders.start();
    for (const name of [method.read, method.files, method.ask]) {
      await assert.rejects(server.request(name, { question: 'What is part0?' }), (error: Refusal) => {
        assert.match(error.message, /^May not write to .+\. Allow it or choose another data folder\.$/);
        assert.equal(error.data?.code, 'permission');
        return true;
      });
    }
    assert.equal((await server.request<PingReply>(method.ping)).waiting, 0);
  });

  test('a full disk: reading ends with what to do, what was read stays and answers', async function () {
    if (process.platform === 'win32') this.skip();
    writeFiles(60);
    // A limit on the size of a file stands for the disk; its signal is ignored.
    const server = await folders.start(['sh', '-c', `trap '' XFSZ; ulimit -f 300; exec "$@"`, 'sh']);
    await assert.rejects(server.request(method.read), (error: Refusal) => {
      assert.match(error.message, /^Could not write to .+: the disk is full or fails\. Free some space\.$/);
      assert.equal(error.data?.code, 'disk-full');
      return true;
    });
    const { status } = await server.request<FilesReply>(method.files);
    assert.ok(status.coverage.read > 0 && status.coverage.read < 60, JSON.stringify(status.coverage));
    const reply = await server.request<AskReply>(method.ask, { question: 'What is part0?', now: true, maxTokens: 4 });
    assert.equal(reply.coverage.read, status.coverage.read);
    // With room on the disk again the next server reads the rest.
    server.child.kill('SIGKILL');
    const next = await folders.start();
    assert.equal((await next.request<ReadReply>(method.read)).filesRead, 60 - status.coverage.read);
  });

  test('an engine that is killed again and again while it answers: memory is named, and the next question is answered', async function () {
    if (!existsSync('/proc/self/task')) this.skip();
    writeFiles(2);
    const server = await folders.start();
    await server.request(method.read);
    // As the system does where memory is short: each engine, from the answer's first text on. The first one is made good
    // without a message.
    let killing: ReturnType<typeof setInterval> | undefined;
    server.connection.onNotification(event.text, () => {
      killing ??= setInterval(() => {
        for (const engine of server.children()) process.kill(engine, 'SIGKILL');
      }, 50);
    });
    const question = { question: 'What is part1?', maxTokens: 200 };
    await assert
      .rejects(server.request(method.ask, question), (error: Refusal) => {
        assert.match(error.message, /^The engine process ended \(SIGKILL\), most likely for want of memory;/);
        assert.match(error.message, /close other programs or choose a smaller model\.$/);
        assert.equal(error.data?.code, 'engine-crashed');
        return true;
      })
      .finally(() => clearInterval(killing));
    const reply = await server.request<AskReply>(method.ask, question);
    assert.ok(reply.recalled.some(({ path }) => path === 'part-1.ts'));
  });

  test('many files: pings are answered while the folder is looked through, and all files are in the ledger', async () => {
    // 100,000 with LONGVIEW_FILES=100000, which takes a minute and more.
    const files = Number(process.env['LONGVIEW_FILES'] ?? 3000);
    for (let file = 0; file < files; file++) {
      const folder = join(folders.workspace, `folder-${Math.floor(file / 500)}`);
      if (file % 500 === 0) mkdirSync(folder);
      writeFileSync(join(folder, `part-${file}.ts`), `export const part${file} = ${file};\n`);
    }
    const server = await folders.start();
    let looking = true;
    const isLooking = (): boolean => looking;
    const began = performance.now();
    const status = server.request<FilesReply['status']>(method.status).finally(() => (looking = false));
    let pings = 0;
    let slowest = 0;
    while (isLooking()) {
      const asked = performance.now();
      const { task } = await server.request<PingReply>(method.ping);
      slowest = Math.max(slowest, performance.now() - asked);
      if (task === 'status') pings++;
      await new Promise(done => setTimeout(done, 10));
    }
    const { coverage } = await status;
    assert.deepEqual([coverage.total, coverage.waiting], [files, files]);
    assert.ok(pings >= 2, `${pings} pings were answered meanwhile`);
    if (files > 3000) {
      console.log(
        `${files} files in ${Math.round(performance.now() - began)} ms, slowest ping ${Math.round(slowest)} ms`,
      );
    }
  });
});
