/** A working day on a small Git repository: what is read at each step is exactly what changed in content and was never read. */
import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';
import { GitFolder } from './git-events.js';

suite('git', () => {
  test('edits, renames, branches, stashes: only new content is read, and content that comes back is a lookup', async function () {
    this.timeout(60_000);
    const top = await realpath(await mkdtemp(join(tmpdir(), 'longview-git-')));
    const folder = new GitFolder(join(top, 'work'), { files: 24, differing: 5 });
    await folder.make();
    const engine = new FakeEngine();
    const memory = await openWorkspaceMemory({ root: folder.root, data: join(top, 'data'), engine });
    try {
      let reads = 0;
      for await (const event of folder.events(memory)) {
        const { name, read, expectedRead, missed, known, expectedKnown } = event;
        assert.deepEqual(
          { name, read, missed, known, engine: engine.reads.length - reads },
          { name, read: expectedRead, missed: 0, known: expectedKnown, engine: expectedRead },
        );
        reads = engine.reads.length;
      }
    } finally {
      await memory.dispose();
      await rm(top, { recursive: true, force: true });
    }
  });
});
