/**
 * Damage to a store's file (wrong bits, overwritten pages, a lost end) in a process of its own: the store opens, gives back
 * what was written or nothing, keeps what lies on untouched pages, and is equal to an undisturbed one once the rest was
 * written again. The cases are in store-damage-child.ts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('./store-damage-child.js', import.meta.url));
const SEEDS = [1, 2];
/** Each seed. `npm run bench -- damage` tries thousands. */
const CASES = 40;
/** Where nothing waits for a disk. */
const MEMORY = '/dev/shm';

suite('store: damage', () => {
  let folder: string;
  setup(async () => {
    folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'longview-damage-'));
  });
  teardown(() => rm(folder, { recursive: true, force: true }));

  for (const seed of SEEDS) {
    test(`${CASES} damaged stores open, keep what is sound, and are whole after reading again (seed ${seed})`, async function () {
      this.timeout(240_000);
      const args = [CHILD, folder, `${seed}`, `${CASES}`];
      const { code, out } = await new Promise<{ code: unknown; out: string }>(done => {
        execFile(process.execPath, args, { maxBuffer: 10_000_000 }, (error, stdout) =>
          done({ code: error?.signal ?? error?.code ?? 0, out: stdout }),
        );
      });
      const lines = out.trim().split('\n');
      const failed = lines.filter(line => line.includes('"error"'));
      assert.deepEqual(failed.slice(0, 1), []);
      assert.deepEqual([code, lines.length], [0, CASES], `ended after ${lines.at(-1)}`);
    });
  }
});
