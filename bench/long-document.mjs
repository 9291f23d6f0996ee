// `npm run bench -- long-document [--tokens N] [--real]`: one text of so many tokens (default 1,000,000) is read in parts by a
// process that is killed after a third of it and started again; then a question is asked for a sentence in each tenth. With
// the tiny model of the tests, whose tokens are bytes, or with the installed default model. Memory is resident, all in one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../scripts/set-up.mjs';

const built = path => import(join(root, 'out', path));

export async function longDocument(tokens, real) {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-document-')));
  const { plantedText } = await built('test/memory/planted-text.js');
  const { TinyFolder } = await built('test/engine/tiny-engine.js');
  const models = new TinyFolder();
  try {
    const { model, parts, bytesPerToken } = real ? await realModel() : await tinyModel(models);
    print(
      'tokens | seconds | resident MB at most | read twice after kill -9, tokens | found in tenths | ms a question',
    );
    for (const wanted of [tokens / 10, tokens]) {
      const folder = join(scratch, `${wanted}`);
      const [work, data] = [join(folder, 'work'), join(folder, 'data')];
      mkdirSync(work, { recursive: true });
      const { text, planted } = plantedText(wanted * bytesPerToken);
      writeFileSync(join(work, 'long.txt'), text);
      const args = [model, work, data, String(parts.least), String(parts.most)];
      const killed = await read(args, wanted / 3);
      const rest = await read(args, Infinity);
      const asked = await ask(model, work, data, parts, planted);
      const twice = killed.tokens + rest.report.tokensRead - asked.tokens;
      const seconds = killed.seconds + rest.seconds;
      const memory = Math.max(killed.rss, rest.report.rss);
      const found = `${asked.found} of ${planted.length}`;
      print([asked.tokens, seconds.toFixed(0), memory, twice, found, asked.milliseconds.toFixed(0)].join(' | '));
    }
  } finally {
    await models.dispose();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function tinyModel(models) {
  const { PREFIX, tinyTextModel } = await built('test/engine/tiny-text-model.js');
  const { tinyReading } = await built('test/reference/tiny-model.js');
  await tinyTextModel(models, 'text', { kvm: { ...tinyReading, chunk: 256, prefix: PREFIX } });
  // As many tokens in a part as usual, which has 3.5 bytes to a token.
  return { model: join(models.path, 'text-f32'), parts: { least: 17_000, most: 46_000 }, bytesPerToken: 1 };
}

async function realModel() {
  const { DEFAULT_SETTINGS } = await built('src/memory/index.js');
  const { dataFolder, findModel } = await built('src/models/index.js');
  return { model: (await findModel(dataFolder())).folder, parts: DEFAULT_SETTINGS.parts, bytesPerToken: 2.5 };
}

/** Reads until the end, or until it is killed after so many tokens. */
async function read(args, until) {
  const began = performance.now();
  const child = spawn(process.execPath, [join(root, 'out', 'test', 'memory', 'read-child.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let [tokens, rss, report] = [0, 0, undefined];
  for await (const line of createInterface({ input: child.stdout })) {
    const progress = /^tokens (\d+) MB (\d+)$/.exec(line);
    if (progress) [tokens, rss] = progress.slice(1).map(Number);
    else report = JSON.parse(line);
    if (tokens >= until) child.kill('SIGKILL');
  }
  await ended;
  return { tokens, rss, report, seconds: (performance.now() - began) / 1000 };
}

async function ask(model, work, data, parts, planted) {
  const { openEngine } = await built('src/engine/index.js');
  const { openWorkspaceMemory } = await built('src/memory/index.js');
  const engine = await openEngine(model, { threads: 2 });
  const memory = await openWorkspaceMemory({ root: work, data, engine, settings: { parts } });
  try {
    let found = 0;
    let milliseconds = 0;
    for (const { question, line } of planted) {
      const began = performance.now();
      const spans = await memory.recall(question, { limit: 8 });
      milliseconds += (performance.now() - began) / planted.length;
      if (spans.some(span => span.startLine <= line && span.endLine >= line)) found++;
    }
    return { found, milliseconds, tokens: memory.status().tokens };
  } finally {
    await memory.dispose();
    await engine.dispose();
  }
}

function print(line) {
  process.stdout.write(`${line}\n`);
}
