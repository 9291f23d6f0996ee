// `npm run bench -- kills [COUNT [SEED]]`: `kill -9` at so many random moments of reading, composing, forgetting and exporting
// a generated folder, with the engine of the tests; each time the store is opened and checked, in the end compared.
import { join } from 'node:path';
import { root } from '../scripts/set-up.mjs';

export async function kills(count, seed) {
  const { runKills } = await import(join(root, 'out/test/memory/kills.js'));
  const began = performance.now();
  const onKill = done => done % 20 === 0 && process.stderr.write(`${done} of ${count}\n`);
  const { phases, lost } = await runKills({ count, seed, files: 60, onKill });
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const by = [...phases].sort(([, a], [, b]) => b - a).map(([phase, kills]) => `${phase} ${kills}`);
  process.stdout.write(
    `${count} kills (seed ${seed}) in ${seconds} s: ${by.join(', ')}. Lost: ${lost} times the file being read, nothing else. ` +
      'Every store opened undamaged; the last one equals that of an undisturbed run.\n',
  );
}
