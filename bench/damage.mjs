// `npm run bench -- damage [CASES [SEED]]`: what test/memory/store-damage.test.ts does with some cases, with as many as wanted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SetUpError, root } from '../scripts/set-up.mjs';

export async function damage(cases, seed) {
  const folder = mkdtempSync(join(tmpdir(), 'longview-damage-'));
  const began = performance.now();
  try {
    const script = join(root, 'out/test/memory/store-damage-child.js');
    const child = spawn(process.execPath, [script, folder, `${seed}`, `${cases}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    let [done, failed] = [0, 0];
    for await (const line of createInterface({ input: child.stdout })) {
      done++;
      if (!line.includes('"error"')) continue;
      failed++;
      process.stderr.write(`${line}\n`);
    }
    const [code] = await closed;
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    process.stdout.write(`${done} of ${cases} damaged stores (seed ${seed}) in ${seconds} s: ${failed} failed.\n`);
    if (failed > 0 || done < cases || code !== 0) throw new SetUpError('A damaged store was not mended; see above.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
