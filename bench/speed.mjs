// Reading a prompt and writing after it: Longview, full attention and plain window in the same engine, and llama.cpp, in
// turn. Each cell is a process of its own, so that its memory is its own, and is kept in the results file when it is done:
// an interrupted run goes on where it was. Longview's rows are fed the text's own next tokens, which gives their loss.
// Each has read `warmUp` tokens before the clock starts, as an engine that runs has: what memory the allocator keeps at hand
// grows with the first chunks. `memory` and `memory+gist` read the text as a file of a folder, into recall slots alone or with a gist, and write nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { root } from '../scripts/set-up.mjs';
import { speedPlot } from './speed-plot.mjs';

const written = 64;
const warmUp = 512;
export function speedOptions(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      lengths: { type: 'string', default: '512,2048,8192' },
      threads: { type: 'string', default: '2' },
      engines: { type: 'string', default: 'longview,full,window,memory,memory+gist,llama.cpp' },
      json: { type: 'string' },
      plot: { type: 'string' },
    },
  });
  return { ...values, file: positionals[0] };
}

export async function speed(modelFolder, { file, lengths, threads, engines, json, plot }, from) {
  const results = json && resolve(from, json);
  const cells = results && existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : [];
  const peer = process.env.LLAMA_GGUF !== undefined;
  const names = engines.split(',').filter(name => name !== 'llama.cpp' || peer);
  for (const length of lengths.split(',').map(Number)) {
    for (const engine of names) {
      if (cells.some(cell => cell.engine === engine && cell.length === length && cell.threads === Number(threads)))
        continue;
      const cell = { engine, length, threads: Number(threads), file: resolve(from, file), modelFolder };
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(cell)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (child.status !== 0) throw new Error(`${engine} at ${length} tokens failed.`);
      const { file: _, modelFolder: __, ...kept } = cell;
      cells.push({ ...kept, ...JSON.parse(child.stdout.trim().split('\n').at(-1)) });
      if (results) writeFileSync(results, JSON.stringify(cells, undefined, 1));
    }
    print(cells.filter(cell => cell.length === length && cell.threads === Number(threads)));
  }
  if (plot) writeFileSync(resolve(from, plot), speedPlot(cells.filter(cell => cell.threads === Number(threads))));
}

/** Ratios are Longview's figure over that row's. */
function print(cells) {
  const own = cells.find(cell => cell.engine === 'longview');
  console.log(
    'tokens | engine | reading/s (cpu) ratio | writing/s (cpu) ratio | first token ms | MB resident | MB kept | loss',
  );
  for (const cell of cells) {
    const rate = (tokens, ms) => (1000 * tokens) / ms;
    const column = (tokens, ms, cpu) =>
      cell[tokens] === undefined
        ? ''
        : `${rate(cell[tokens], cell[ms]).toFixed(1)} (${rate(cell[tokens], cell[cpu]).toFixed(1)}) ` +
          (own ? (rate(own[tokens], own[ms]) / rate(cell[tokens], cell[ms])).toFixed(2) : '');
    console.log(
      [
        cell.tokens,
        cell.engine,
        column('tokens', 'readMs', 'readCpuMs'),
        column('written', 'writeMs', 'writeCpuMs'),
        cell.readMs.toFixed(0),
        (cell.resident / 1e6).toFixed(0),
        (cell.kept / 1e6).toFixed(1),
        cell.loss?.toFixed(4) ?? '',
      ].join(' | '),
    );
  }
}

/** A clock of wall and processor time of this process: gives both since the last call. */
function clock() {
  let [wall, cpu] = [performance.now(), process.cpuUsage()];
  return () => {
    const spent = process.cpuUsage(cpu);
    const lap = [performance.now() - wall, (spent.user + spent.system) / 1000];
    [wall, cpu] = [performance.now(), process.cpuUsage()];
    return lap;
  };
}

async function longviewCell({ engine, length, threads, file, modelFolder }) {
  const { Model } = await import(join(root, 'out/src/engine/model.js'));
  const { KvmSession, prefill } = await import(join(root, 'out/src/engine/session.js'));
  const { writingOptions } = await import(join(root, 'out/src/engine/writer.js'));
  const { loadTokenizer } = await import(join(root, 'out/src/engine/token-counter.js'));
  const model = await Model.load(modelFolder, { threads });
  const tokenizer = await loadTokenizer(modelFolder, model.manifest.name);
  const { chunk } = model.manifest.kvm;
  const options = {
    longview: writingOptions(model, length),
    full: { schedule: { kind: 'keepEverything' }, windowChunks: Math.ceil((length + written) / chunk) + 1 },
    window: { schedule: { kind: 'windowOnly' } },
  }[engine];
  if (!options) throw new Error(`There is no engine "${engine}".`);
  const ids = repeated([...tokenizer.encode(readFileSync(file, 'utf8')).ids], length + written);
  const read = async count => {
    const session = await KvmSession.start(model, options);
    let logits;
    await prefill(
      session,
      ids.slice(0, count),
      (first, own) => ({ logitRows: first + own === count ? [own - 1] : [] }),
      pass => {
        logits = pass.logits;
      },
    );
    return { session, logits };
  };
  const first = Math.min(warmUp, length);
  await (await read(first)).session.pass([ids[first]], { logitRows: [0] });
  const lap = clock();
  const readAll = await read(length);
  const { session } = readAll;
  let { logits } = readAll;
  const [readMs, readCpuMs] = lap();
  let loss = 0;
  let [writeMs, writeCpuMs] = [0, 0];
  for (const id of ids.slice(length)) {
    loss += Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - logits[id]), 0));
    lap();
    ({ logits } = await session.pass([id], { logitRows: [0] }));
    const [passMs, passCpuMs] = lap();
    writeMs += passMs;
    writeCpuMs += passCpuMs;
  }
  const { headSize } = model.manifest.architecture;
  const windowRows = session.windowBlocks().reduce((sum, block) => sum + block.keys.length / headSize, 0);
  return {
    ...{ tokens: length, readMs, readCpuMs, written, writeMs, writeCpuMs },
    ...{
      resident: process.resourceUsage().maxRSS * 1024,
      kept: 4 * 2 * (session.slotsHeld + windowRows) * headSize,
      loss: loss / written,
    },
  };
}

/** As a file of a folder is read: through a window, into recall slots and, where `withGist`, a gist. */
async function memoryCell({ length, threads, file, modelFolder }, withGist) {
  const { Model } = await import(join(root, 'out/src/engine/model.js'));
  const { engineOf } = await import(join(root, 'out/src/engine/local-engine.js'));
  const { loadTokenizer } = await import(join(root, 'out/src/engine/token-counter.js'));
  const model = await Model.load(modelFolder, { threads });
  const engine = await engineOf(model);
  const tokenizer = await loadTokenizer(modelFolder, model.manifest.name);
  const whole = readFileSync(file, 'utf8');
  const { ends } = tokenizer.encode(whole);
  // The whole text as often as it fits, and its first tokens for the rest.
  const [times, rest] = [Math.floor(length / ends.length), length % ends.length];
  const text = whole.repeat(times) + whole.slice(0, rest > 0 ? ends[rest - 1] : 0);
  const request = { label: 'text', tokensPerRecallSlot: 4, ...(!withGist && { gistSlots: 0 }) };
  // The graph of the lower layers is loaded by the first text that needs it, too.
  await engine.read({ ...request, text: whole.slice(0, ends[Math.min(warmUp, ends.length) - 1]) });
  const lap = clock();
  const { tokens, recall, gist } = await engine.read({ ...request, text });
  const [readMs, readCpuMs] = lap();
  return {
    tokens,
    readMs,
    readCpuMs,
    resident: process.resourceUsage().maxRSS * 1024,
    kept: bytesOf(recall) + bytesOf(gist),
  };
}

function bytesOf(arrays) {
  return Object.values(arrays).reduce((sum, { byteLength }) => sum + (byteLength ?? 0), 0);
}

async function llamaCell({ length, threads, file }) {
  const { getLlama } = await import(process.env.NODE_LLAMA_CPP ?? 'node-llama-cpp');
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads });
  const model = await llama.loadModel({ modelPath: process.env.LLAMA_GGUF });
  const context = await model.createContext({ contextSize: length + 512, threads, batchSize: 512 });
  const sequence = context.getSequence();
  const tokens = repeated(model.tokenize(readFileSync(file, 'utf8')), length);
  for await (const _ of sequence.evaluate(tokens.slice(0, warmUp), { temperature: 0 })) break;
  await sequence.clearHistory();
  const lap = clock();
  let read;
  let count = -1;
  for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
    read ??= lap();
    if (token === undefined || ++count >= written) break;
  }
  const [writeMs, writeCpuMs] = lap();
  // Keys and values as float16 in all layers: what llama.cpp keeps by default.
  const { embeddingVectorSize, fileInfo } = model;
  const { block_count: layers, attention } = fileInfo.metadata.llama;
  const kept =
    (2 * 2 * layers * embeddingVectorSize * attention.head_count_kv * (length + written)) / attention.head_count;
  return {
    ...{ tokens: length, readMs: read[0], readCpuMs: read[1], written: count, writeMs, writeCpuMs },
    ...{ resident: process.resourceUsage().maxRSS * 1024, kept },
  };
}

function repeated(ids, length) {
  return Array.from({ length }, (_, i) => ids[i % ids.length]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const cell = JSON.parse(process.argv[2]);
  const measure = {
    'llama.cpp': llamaCell,
    memory: own => memoryCell(own, false),
    'memory+gist': own => memoryCell(own, true),
  }[cell.engine];
  console.log(JSON.stringify(await (measure ?? longviewCell)(cell)));
  process.exit(0);
}
