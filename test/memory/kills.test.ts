/** The memory under `kill -9`: a few of the runs of `npm run bench -- kills`, which makes hundreds. */
import assert from 'node:assert/strict';
import { runKills } from './kills.js';

suite('memory: kills', () => {
  test('killed 6 times while it reads, composes, forgets and exports: in the end as if never disturbed', async function () {
    if (process.platform === 'win32') this.skip();
    this.timeout(300_000);
    const { phases, lost } = await runKills({ count: 6, seed: 3, files: 24 });
    // The file being read when it was killed, and nothing else.
    assert.equal(lost, phases.get('reading') ?? 0);
  });
});
