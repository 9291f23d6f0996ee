/** What the server's engine leaves to others. Linux: there the engine's process can be found. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { method, type ReadReply } from '../../src/protocol/index.js';
import { ServerFolders, type ServerProcess } from './server-process.js';

suite("manners of the server's engine", function () {
  this.timeout(60_000);
  let folders: ServerFolders;
  let server: ServerProcess;
  setup(async function () {
    folders = new ServerFolders();
    if (process.platform !== 'linux') this.skip();
    await folders.fill();
    writeFileSync(join(folders.workspace, 'a.ts'), 'export const a = 1;\n');
    server = await folders.start();
  });
  teardown(() => folders.dispose());

  test('it runs below normal priority, the server itself does not', async () => {
    assert.equal((await server.request<ReadReply>(method.read)).filesRead, 1);
    const own = getPriority();
    assert.equal(getPriority(server.child.pid), own);
    const lowered = Math.max(own, constants.priority.PRIORITY_BELOW_NORMAL);
    assert.deepEqual(server.children().map(getPriority), [lowered]);
  });
});
