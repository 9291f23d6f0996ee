// Export and import of a large made-up memory: bytes a second, peak memory of the process, what zlib would make of it.
// Shapes are the default model's; numbers are random, but for the recall and gist of 1,000 tokens a file. Never needs a model.
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../scripts/set-up.mjs';

const model = { name: 'made up', fingerprint: 'made up' };
const TOKENS = 1000;
const FILE_BYTES = 332_000;

export async function portable(megabytes) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'longview-bench-')));
  try {
    const files = Math.ceil((megabytes * 1e6) / FILE_BYTES);
    for (const phase of ['fill', 'export', 'import', 'import again']) {
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), phase, top, String(files)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (child.status !== 0) throw new Error(`${phase} failed (${child.status})`);
      const { ms, rss, held } = JSON.parse(child.stdout);
      const { size } = statSync(join(top, 'x.longview-memory'), { throwIfNoEntry: false }) ?? { size: 0 };
      const speed = size > 0 ? `, ${(size / 1000 / ms).toFixed(0)} MB/s` : '';
      process.stdout.write(
        `${phase.padEnd(13)} ${files} files, ${(size / 1e6).toFixed(0)} MB: ${(ms / 1000).toFixed(1)} s${speed}; ` +
          `heap and buffers ${held} MB at most, resident ${rss} MB with the store's mapped pages\n`,
      );
    }
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}

/** One phase in a process of its own. */
async function run(phase, top, files) {
  const { openWorkspaceMemory } = await import(join(root, 'out/src/memory/index.js'));
  const folder = phase.startsWith('import') ? 'there' : 'here';
  const [work, data] = [join(top, folder, 'work'), join(top, folder, 'data')];
  mkdirSync(join(work, 'src'), { recursive: true });
  if (phase !== 'import again')
    for (let at = 0; at < files && phase !== 'export'; at++) writeFileSync(join(work, pathOf(at)), textOf(at));
  if (phase === 'fill') await fill(work, data, files);
  const open = { root: work, data, model, engine: () => Promise.reject(new Error('no engine')) };
  const memory = await openWorkspaceMemory(open);
  let held = 0;
  const look = () => {
    const { heapUsed, external } = process.memoryUsage();
    held = Math.max(held, Math.round((heapUsed + external) / 1e6));
  };
  const began = performance.now();
  const file = join(top, 'x.longview-memory');
  if (phase === 'export') await memory.exportTo(file, { onProgress: look });
  if (phase.startsWith('import')) {
    const { coverage } = await memory.importFrom([file], { onProgress: look });
    if (coverage.read !== files) throw new Error(JSON.stringify(coverage));
  }
  const ms = performance.now() - began;
  await memory.dispose();
  process.stdout.write(JSON.stringify({ ms, held, rss: Math.round(process.resourceUsage().maxRSS / 1000) }));
}

const pathOf = at => `src/file-${at}.ts`;
const textOf = at => `export const value${at} = ${at};\n`;

async function fill(work, data, files) {
  const { openStore, storeFolder, fileMemoryKey } = await import(join(root, 'out/src/memory/store/index.js'));
  const store = await openStore(storeFolder(data, work), { workspace: work });
  for (let at = 0; at < files; at++) {
    const memory = memoryOf(pathOf(at), createHash('sha256').update(textOf(at)).digest('hex'));
    const key = fileMemoryKey({ ...memory, model: model.fingerprint, settings: 'recall=4' });
    const { path, contentHash, tokens, recall } = memory;
    const parts = [{ key, firstLine: 1, tokens, slots: recall.slots }];
    await store.batch(write => {
      write.putMemory(key, memory);
      write.putRow({ path, size: 1, mtimeMs: 1, contentHash, state: 'read', parts });
    });
  }
  await store.dispose();
}

function memoryOf(path, contentHash) {
  const [groups, slots, headSize, heads, recallSlots] = [90, 16, 64, 7, TOKENS / 4];
  const int8 = length => new Int8Array(randomBytes(length).buffer.slice(0, length));
  const floats = length => Float32Array.from({ length }, Math.random);
  const cells = groups * slots;
  const pairs = heads * recallSlots;
  return {
    path,
    contentHash,
    tokens: TOKENS,
    gist: {
      ...{ groups, slots, headSize, keys: int8(cells * headSize), values: int8(cells * headSize) },
      ...{ keyScales: floats(cells), valueScales: floats(cells), counts: floats(cells) },
      ...{ keyRadii: floats(cells), valueRadii: floats(cells) },
    },
    recall: {
      ...{ heads, slots: recallSlots, headSize, keys: int8(pairs * headSize) },
      ...{ scales: floats(pairs), counts: floats(pairs) },
    },
    provenance: {
      slotStart: Uint32Array.from(
        { length: heads * (recallSlots + 1) },
        (_, at) => at - Math.floor(at / (recallSlots + 1)),
      ),
      lines: Uint32Array.from({ length: pairs }, (_, at) => 1 + (at % recallSlots)),
      weights: new Uint16Array(pairs).fill(4),
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [phase, top, files] = process.argv.slice(2);
  await run(phase, top, Number(files));
}
