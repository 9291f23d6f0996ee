// What each quantisation costs: bytes on disk, memory, loss of 2,048 tokens under full attention against float32.
// Converts the checkpoint once a kind into a temporary folder (about 540 MB free for the default model); each model is
// measured in a process of its own, so that one's memory is not the next one's.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../scripts/set-up.mjs';

const kinds = ['f32', 'f16', 'q8', 'q4'];
const tokens = 2048;
/** Tokens before it count for nothing: they have too little to look at. */
const from = 64;

export async function quantisation(checkpoint, file = join(root, 'node_modules/mocha/lib/runner.js')) {
  const { convertModel } = await import(join(root, 'out/src/convert/index.js'));
  const { runGraphs } = await import(join(root, 'out/src/engine/index.js'));
  const folder = mkdtempSync(join(tmpdir(), 'longview-quantisation-'));
  let reference;
  console.log(
    `${'kind'.padEnd(5)} ${'MB on disk'.padStart(10)} ${'MB in memory'.padStart(13)}    loss  to f32   check`,
  );
  try {
    for (const kind of kinds) {
      const model = join(folder, kind);
      const entry = { name: 'bench', origin: 'bench', licence: 'bench' };
      const manifest = await convertModel(checkpoint, model, { quantisation: kind, entry, run: runGraphs });
      const bytes = manifest.files.reduce((sum, each) => sum + each.bytes, 0);
      const { loss, memory } = measuredApart(model, file);
      reference ??= loss;
      const figures = [(bytes / 1e6).toFixed(1).padStart(10), (memory / 1e6).toFixed(0).padStart(13)];
      const difference = `${loss >= reference ? '+' : ''}${(loss - reference).toFixed(4)}`;
      console.log(
        `${kind.padEnd(5)} ${figures.join(' ')}  ${loss.toFixed(4)} ${difference} ${manifest.verification.difference.toPrecision(2)}`,
      );
      rmSync(model, { recursive: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measuredApart(model, file) {
  const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), model, file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.status !== 0) throw new Error(`The measurement of ${model} failed.`);
  return JSON.parse(child.stdout);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [model, file] = process.argv.slice(2);
  const { openEngine } = await import(join(root, 'out/src/engine/index.js'));
  const engine = await openEngine(model, { threads: 2 });
  const { loss } = await engine.loss(readFileSync(file, 'utf8'), { schedule: { kind: 'full' }, from, limit: tokens });
  // Kibibytes, the most there ever were.
  console.log(JSON.stringify({ loss, memory: process.resourceUsage().maxRSS * 1024 }));
  await engine.dispose();
}
