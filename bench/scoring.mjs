// `npm run bench -- scoring`: recall over memories of 1, 10 and 50 million tokens: time and memory of scoring after the
// question's own pass, slot by slot and by clusters first, and how much of the best slots' mass the latter sees.
// Slots are made from the ones of a memory that was read (`--folder`, with `--data`): its texts are taken again and again, each
// number of a key moved by up to a tenth of the largest, so that no two are the same. What a memory of that size would be merged to
// within the default RAM budget is what is scored. Each size runs in a process of its own. Prints a table, writes JSON.
import { fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SetUpError, note, root } from '../scripts/set-up.mjs';

const built = path => import(join(root, 'out/src', path));

const QUESTIONS = [
  'Which function opens a connection and keeps it alive?',
  'Where are the bytes of a response decoded into text?',
  'When will the constellations give no light?',
  'Which city was called the perfection of beauty by people who pass by?',
  'How is a path matched against the routes?',
  'What is raised when a request takes too long?',
  'When did the sun and moon stand still in their dwelling?',
  'Where does it retry after a failure?',
];
/** Tokens of a slot as it is read, and of memories that were merged further (src/memory/settings.ts). */
const RATIOS = [4, 16, 32];

export async function scoring(args) {
  const { values } = parseArgs({
    args,
    options: {
      folder: { type: 'string' },
      data: { type: 'string' },
      millions: { type: 'string', default: '1,10,50' },
      threads: { type: 'string', default: '2' },
      json: { type: 'string', default: 'scoring.json' },
    },
  });
  if (values.folder === undefined) throw new SetUpError('--folder names a folder that was read.', 2);
  const from = process.env.INIT_CWD ?? process.cwd();
  const { dataFolder } = await built('models/index.js');
  const data = values.data === undefined ? dataFolder() : resolve(from, values.data);
  const results = [];
  for (const millions of values.millions.split(',').map(Number)) {
    for (const way of ['slot by slot', 'clusters first']) {
      note(`${millions} million tokens, ${way} …`);
      const job = { folder: resolve(from, values.folder), data, millions, way, threads: Number(values.threads) };
      results.push(await apart(job));
      await writeFile(resolve(from, values.json), `${JSON.stringify(results, null, 2)}\n`);
      print(results.at(-1));
    }
  }
}

function print({ millions, way, tokensPerSlot, slots, wall, cpu, first, peakMb, seen }) {
  const p = ({ p50, p95 }) => `${Math.round(p50)} / ${Math.round(p95)}`;
  const loss = seen === undefined ? '' : `, ${(100 * seen).toFixed(1)} % of the mass seen`;
  process.stdout.write(
    `${millions} M tokens at 1:${tokensPerSlot} (${slots} slots), ${way}: p50 / p95 ${p(wall)} ms, ` +
      `processor ${p(cpu)} ms, first question ${Math.round(first)} ms, peak ${Math.round(peakMb)} MB${loss}\n`,
  );
}

function apart(job) {
  return new Promise((done, failed) => {
    const child = fork(fileURLToPath(import.meta.url), [], { execArgv: ['--max-old-space-size=16000'] });
    let result;
    child.on('message', message => (result = message));
    child.on('exit', code => (result ? done(result) : failed(new Error(`ended with ${code}`))));
    child.send(job);
  });
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', job => {
    measured(job).then(
      result => process.send(result, () => process.exit(0)),
      error => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
}

async function measured({ folder, data, millions, way, threads }) {
  const { findModel } = await built('models/index.js');
  const { isOfUse, openStore, storeFolder, partsOf } = await built('memory/store/index.js');
  const { ramBytesOf } = await built('memory/budget.js');
  const { Model } = await built('engine/model.js');
  const { RecallHeads } = await built('engine/recall-heads.js');
  const { RecallIndex } = await built('engine/recall-index.js');
  const { loadTokenizer } = await built('engine/token-counter.js');
  const found = await findModel(data);
  const model = await Model.load(found.folder, { threads });
  const heads = await RecallHeads.load(model.path, model.manifest);
  const tokenizer = await loadTokenizer(model.path, model.manifest.name);
  const store = await openStore(storeFolder(data, folder), { workspace: folder });
  const memories = store.ledger
    .all()
    .filter(isOfUse)
    .flatMap(partsOf)
    .map(({ key }) => store.getRecall(key))
    .filter(memory => memory?.ok)
    .map(({ value }) => value);
  await store.dispose();
  const slotsRead = memories.reduce((sum, { recall }) => sum + recall.slots, 0);
  const perSlot = memories.reduce((sum, memory) => sum + ramBytesOf(memory), 0) / slotsRead;
  const tokens = millions * 1e6;
  const fits = ratio => (tokens / ratio) * perSlot <= 0.9 * (totalmem() / 8);
  const tokensPerSlot = RATIOS.find(fits) ?? RATIOS.at(-1);
  const wanted = Math.round(tokens / tokensPerSlot);
  const limits = { exactSlots: way === 'slot by slot' ? Infinity : 0, fineSlots: 8192 };
  const index = new RecallIndex(model, tokenizer, heads, limits);
  const random = generator(1);
  const ids = [];
  for (let slots = 0; slots < wanted;) {
    const { recall } = memories[ids.length % memories.length];
    const again = ids.length >= memories.length;
    ids.push(String(ids.length));
    index.put(ids.at(-1), again ? moved(recall, random) : recall);
    slots += recall.slots;
  }
  const own = index.queriesOf.bind(index);
  let ownMs = 0;
  let ownCpu = 0;
  index.queriesOf = async (...given) => {
    const [began, beganCpu] = [performance.now(), cpuMs()];
    const result = await own(...given);
    ownMs += performance.now() - began;
    ownCpu += cpuMs() - beganCpu;
    return result;
  };
  const ask = async question => {
    [ownMs, ownCpu] = [0, 0];
    const [began, beganCpu] = [performance.now(), cpuMs()];
    const scores = await index.score(question, ids);
    return { wall: performance.now() - began - ownMs, cpu: cpuMs() - beganCpu - ownCpu, scores };
  };
  const first = (await ask('First of all')).wall;
  const times = [];
  let seen = 0;
  for (const question of QUESTIONS) {
    const { wall, cpu, scores } = await ask(question);
    times.push({ wall, cpu });
    const named = scores.mass.mass.map(mass => mass.reduce((sum, value) => sum + value, 0));
    seen += named.reduce((sum, value) => sum + value, 0) / named.length / QUESTIONS.length;
  }
  const slots = (await index.score(QUESTIONS.at(-1), ids)).slotStart.at(-1);
  await model.dispose();
  return {
    ...{ millions, way, tokensPerSlot, slots, first, threads },
    wall: quantiles(times.map(({ wall }) => wall)),
    cpu: quantiles(times.map(({ cpu }) => cpu)),
    peakMb: process.resourceUsage().maxRSS / 1024,
    ...(way === 'clusters first' && { seen }),
  };
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function quantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p95: at(0.95), best: sorted[0] };
}

/** The slots with noise on each number: up to 13 of 127, from a table that is entered somewhere else each time. */
const NOISE = (() => {
  const random = generator(1);
  return Int8Array.from({ length: 65_536 }, () => Math.round(13 * (2 * random() - 1)));
})();

function moved(recall, random) {
  const from = Math.floor(random() * NOISE.length);
  const keys = new Int8Array(recall.keys.length);
  for (let at = 0; at < keys.length; at++) {
    keys[at] = Math.max(-127, Math.min(127, recall.keys[at] + NOISE[(from + at) & 65_535]));
  }
  return { ...recall, keys };
}

function generator(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}
