// `npm run bench -- recall [FOLDER...]`: how well a question finds its place in a repository, by words (BM25), by an embedding
// model (all-MiniLM-L6-v2), by an exact symbol index and by Longview, on questions that the repositories ask themselves.
// Prints tables with 95 % intervals and writes everything, ranks included, as JSON. Files of the cache are made once.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SetUpError, note } from '../scripts/set-up.mjs';
import { definitionRanks } from './recall/definition-questions.mjs';
import { docTask } from './recall/doc-questions.mjs';
import { openEncoder } from './recall/encoder.mjs';
import { cacheFolder } from './recall/fetch.mjs';
import { openMemory, openModel, readFolder } from './recall/longview.mjs';
import { ranksInOneMemory } from './recall/one-memory.mjs';
import { ranksInSeveralMemories } from './recall/several-memories.mjs';
import { proseTask } from './recall/prose-questions.mjs';
import { rankedTask } from './recall/ranking.mjs';
import { figuresByMethod, pooled, ratioLines, ratios, table } from './recall/report.mjs';
import { definitionRepositories, fittedValues, reportRepositories } from './recall/repositories.mjs';
import { CHARACTERS_PER_TOKEN, folderRepository, located, prepared } from './recall/texts.mjs';

const KINDS = ['doc', 'prose', 'definition'];

export async function recall(args) {
  const options = optionsOf(args);
  const { seed, json } = options;
  const model = options.peers ? undefined : await openModel();
  const encoder = options.kinds.some(kind => kind !== 'definition') ? await openEncoder() : undefined;
  const result = { seed, tokens: options.tokens, bootstrap: 'percentile, over questions', ...aboutModel(model) };
  result.repositories = [];
  const read = [];
  print(`Reported on: ${options.repositories.map(({ name }) => name).join(', ')}.`);
  if (model) print(`Fitted values ${model.values.slice(0, 12)} of ${model.name}: ${trainedOn(model.values)}.\n`);
  try {
    for (const repository of options.repositories) {
      note(`${repository.name} …`);
      result.repositories.push(await measured(repository, { ...options, model, encoder, read }));
      await save(json, result);
    }
    if (read.length > 1) result.oneMemory = await inOneMemory(model.engine, encoder, read, options);
  } finally {
    await encoder?.dispose();
    await model?.engine.dispose();
  }
  result.together = together(result.repositories, seed);
  await save(json, result);
  note(`Ranks and figures: ${json}`);
}

function optionsOf(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      peers: { type: 'boolean', default: false },
      tokens: { type: 'string', default: '30000' },
      seed: { type: 'string', default: '1' },
      slots: { type: 'string', default: '4,8' },
      only: { type: 'string' },
      divide: { type: 'string' },
      kinds: { type: 'string', default: KINDS.join(',') },
      json: { type: 'string', default: join(cacheFolder(), 'recall.json') },
    },
  });
  const from = process.env.INIT_CWD ?? process.cwd();
  const only = values.only?.split(',');
  const kinds = values.kinds.split(',');
  const all = kinds.join() === 'definition' ? [...reportRepositories, ...definitionRepositories] : reportRepositories;
  const repositories =
    positionals.length > 0
      ? positionals.map(folder => folderRepository(resolve(from, folder)))
      : all.filter(({ name }) => !only || only.includes(name));
  const slots = values.slots.split(',').map(Number);
  const [tokens, seed] = [Number(values.tokens), Number(values.seed)];
  const divide = values.divide === undefined ? undefined : Number(values.divide);
  const unknown = kinds.find(kind => !KINDS.includes(kind));
  if (unknown !== undefined) throw new SetUpError(`Unknown kind "${unknown}"; there are ${KINDS.join(', ')}.`, 2);
  if (repositories.length === 0) {
    throw new SetUpError(`--only takes ${all.map(({ name }) => name).join(', ')}.`, 2);
  }
  if (![tokens, seed, divide ?? 1, ...slots].every(number => Number.isInteger(number) && number > 0)) {
    throw new SetUpError('--tokens, --divide, --seed and --slots take whole numbers above 0.', 2);
  }
  return { repositories, kinds, slots, tokens, divide, seed, peers: values.peers, json: resolve(from, values.json) };
}

/** Everything of one repository: sizes, ranks and figures of each task. */
async function measured(repository, options) {
  const { kinds, seed, model, encoder, slots } = options;
  const { name, language } = repository;
  const out = { name, language, source: repository.source ?? repository.folder, tasks: {} };
  if (encoder) {
    const texts = await prepared(repository, options);
    Object.assign(out, { files: texts.files.length, characters: texts.characters });
    const tasks = [];
    if (kinds.includes('doc')) tasks.push(docTask(texts));
    if (kinds.includes('prose')) tasks.push(proseTask(texts, seed));
    const asked = tasks.filter(({ questions }) => questions.length > 0);
    const memories = [];
    for (const tokensPerSlot of model && asked.length > 0 ? slots : []) {
      const read = await readFolder(model.engine, texts.folder, tokensPerSlot);
      out.tokens = read.tokens;
      memories.push({ name: ` 1:${tokensPerSlot}`, memory: await openMemory(model.engine, [read]) });
      const doc = asked.find(({ isDoc }) => isDoc);
      if (doc && tokensPerSlot === slots[0]) options.read.push({ name, task: doc, read });
    }
    for (const task of asked) {
      const longview = memories.map(({ name: own, memory }) => ({ name: own, scorer: memory.scorer(task) }));
      const ranks = await rankedTask(task, encoder, longview);
      const spans = task.files.reduce((total, file) => total + file.spans.length, 0);
      out.tasks[task.name] = taskOf(ranks, { questions: task.questions, spans }, seed);
      const title = `${name} (${language}), ${task.name}: ${task.questions.length} questions, ${spans} spans in ${texts.files.length} files`;
      print(table(title, out.tasks[task.name].figures));
    }
    for (const { memory } of memories) await memory.dispose();
    const divided = options.divide === undefined ? undefined : options.read.find(({ name: own }) => own === name);
    if (divided) out.tasks[`${divided.task.name}, divided`] = await inSeveralMemories(divided, options);
  }
  if (kinds.includes('definition')) {
    const { code } = await located(repository);
    const found = await definitionRanks({ code, seed });
    for (const kind of found ? ['unique', 'shared'] : []) {
      const { ranks, ...about } = found[kind];
      if (about.uses === 0) continue;
      const task = `use → definition, ${kind === 'unique' ? 'name defined once' : 'name shared'}`;
      out.tasks[task] = taskOf(ranks, about, seed);
      const candidates = `${about.candidates.toFixed(1)} candidates, by chance MRR ${about.byChance.toFixed(3)}, certain and wrong ${about.certainAndWrong}`;
      print(
        table(
          `${name} (${language}), ${task}: ${about.uses} of ${about.of} uses, ${candidates}`,
          out.tasks[task].figures,
        ),
      );
    }
  }
  return out;
}

/** The same questions, each in a memory of some of the repository's files. */
async function inSeveralMemories({ name, task, read }, { model, encoder, slots, divide, seed }) {
  const characters = divide * CHARACTERS_PER_TOKEN;
  const asked = { task, read, tokensPerSlot: slots[0] };
  const { memories, questions, spans, ranks } = await ranksInSeveralMemories(
    model.engine,
    encoder,
    asked,
    characters,
    seed,
  );
  const out = taskOf(ranks, { questions, spans, memories }, seed);
  print(table(`${name}, in ${memories} memories: ${questions.length} questions, ${spans} spans`, out.figures));
  return out;
}

/** The same questions, with every repository's functions to be told apart. */
async function inOneMemory(engine, encoder, read, { seed, slots }) {
  const { task, ranks } = await ranksInOneMemory(engine, encoder, slots[0], read);
  const spans = task.files.reduce((total, file) => total + file.spans.length, 0);
  const tokens = read.reduce((total, { read: own }) => total + own.tokens, 0);
  const out = { tokens, ...taskOf(ranks, { questions: task.questions, spans }, seed) };
  print(table(`${task.name}: ${tokens} tokens, ${task.questions.length} questions, ${spans} spans`, out.figures));
  return out;
}

function taskOf(ranks, about, seed) {
  // JSON has no infinity: what was not found has rank 0 there.
  const written = Object.fromEntries(
    Object.entries(ranks).map(([method, own]) => [method, own.map(rank => (Number.isFinite(rank) ? rank : 0))]),
  );
  return { ...about, ranks: written, figures: figuresByMethod(ranks, seed) };
}

function together(repositories, seed) {
  const out = {};
  for (const task of new Set(repositories.flatMap(({ tasks }) => Object.keys(tasks)))) {
    const with_ = repositories.filter(({ tasks }) => task in tasks);
    const ranks = pooled(with_.map(({ tasks }) => found(tasks[task].ranks)));
    const figures = figuresByMethod(ranks, seed);
    const questions = Object.values(ranks)[0].length;
    const bar = 'MiniLM' in ranks ? ratios(ranks, seed) : {};
    out[task] = { repositories: with_.map(({ name }) => name), questions, figures, ratios: bar };
    print(table(`All, ${task}: ${questions} questions of ${with_.map(({ name }) => name).join(', ')}`, figures));
    if (Object.keys(bar).length > 0) print(`${ratioLines(bar)}\n`);
  }
  return out;
}

function found(ranks) {
  return Object.fromEntries(
    Object.entries(ranks).map(([method, own]) => [method, own.map(rank => (rank === 0 ? Infinity : rank))]),
  );
}

function aboutModel(model) {
  return model ? { model: model.name, values: model.values, fitted: fittedValues[model.values] ?? null } : {};
}

function trainedOn(values) {
  const known = fittedValues[values];
  if (!known) return 'this benchmark does not know what they were trained on; it is said where they were made';
  return `trained on ${known.trained}; chosen by looking at repositories: ${known.chosen}`;
}

async function save(file, result) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(result, undefined, 1)}\n`);
}

function print(text) {
  process.stdout.write(`${text}\n`);
}
