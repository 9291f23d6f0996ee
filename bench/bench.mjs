// `npm run bench -- loss|speed …`: the figures of docs/measurements.md, made by the engine itself.
// Never part of the tests: these need a quiet machine and patience. Both use the installed default model.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureCommandLine, main, root } from '../scripts/set-up.mjs';

const usage = `npm run bench -- loss FILE...    loss of the first 4,096 tokens after 2,048, each file, by schedule
npm run bench -- speed FILE     tokens/s of reading and writing at 512, 2,048 and 8,192 tokens; beside llama.cpp where
                                node-llama-cpp can be imported and LLAMA_GGUF names the same model's file`;

await main(async () => {
  const [command, ...files] = process.argv.slice(2);
  if (!['loss', 'speed'].includes(command) || files.length === 0) {
    process.stderr.write(`${usage}\n`);
    process.exitCode = 2;
    return;
  }
  await ensureCommandLine();
  const from = process.env.INIT_CWD ?? process.cwd();
  const texts = files.map(file => readFileSync(resolve(from, file), 'utf8'));
  const { openEngine } = await import(join(root, 'out/src/engine/index.js'));
  const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
  const model = await findModel(dataFolder());
  const engine = await openEngine(model.folder, { threads: 2 });
  const { loss } = await import('./loss.mjs');
  const { speed } = await import('./speed.mjs');
  if (command === 'loss') await loss(engine, texts);
  else await speed(engine, texts[0]);
  await engine.dispose();
});
