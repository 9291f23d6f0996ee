// `npm run bench -- state`: does the state earn its place? Loss of text that the model has to foretell, from its own window alone,
// with exact passages recalled, with gists of the best files, with the workspace's state: paired, with 95 % intervals.
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SetUpError, note, root } from '../scripts/set-up.mjs';
import { cacheFolder } from './recall/fetch.mjs';
import { reportRepositories } from './recall/repositories.mjs';
import { prepared } from './recall/texts.mjs';
import { lossTable } from './state/figures.mjs';
import { Meter } from './state/measure.mjs';
import { composed, gistsOf, largerGists, weighed, withRecalled } from './state/repository.mjs';
import { targetsOf } from './state/targets.mjs';

const built = path => import(join(root, 'out/src', path));

/**
 * Name, whether passages are shown, and the states beside the window. `alike`: without the heads' own biases and temperatures;
 * `leaks`: the state holds the target itself.
 */
const ARMS = [
  { name: 'window', states: () => [] },
  { name: 'sinks', states: () => [], sinks: true },
  { name: 'gists', states: ({ gists }) => gists },
  { name: 'workspace (unfitted)', states: ({ workspace }) => [workspace], alike: true },
  { name: 'workspace', states: ({ workspace }) => [workspace] },
  { name: 'workspace + gists', states: ({ workspace, gists }) => [workspace, ...gists] },
  { name: 'workspace with the target', states: ({ whole }) => [whole], leaks: true },
  { name: 'passages', withPassages: true, states: () => [] },
  { name: 'passages + gists', withPassages: true, states: ({ gists }) => gists },
  {
    name: 'passages + workspace + gists (unfitted)',
    withPassages: true,
    states: ({ workspace, gists }) => [workspace, ...gists],
    alike: true,
  },
  { name: 'passages + workspace', withPassages: true, states: ({ workspace }) => [workspace] },
  {
    name: 'passages + workspace + gists',
    withPassages: true,
    states: ({ workspace, gists }) => [workspace, ...gists],
  },
];

export async function state(args) {
  const options = optionsOf(args);
  const { engineOf } = await built('engine/local-engine.js');
  const { Model } = await built('engine/model.js');
  const { loadTokenizer } = await built('engine/token-counter.js');
  const { dataFolder, findModel } = await built('models/index.js');
  const { folder, name } = await findModel(dataFolder());
  const model = await Model.load(folder, { threads: options.threads });
  const engine = await engineOf(model);
  const meter = await Meter.open(model, await loadTokenizer(folder, name), options.kvm);
  if (!meter.isFitted) options.arms = options.arms.filter(({ alike }) => !alike);
  const { kvm: settings } = meter;
  const losses = [];
  try {
    for (const repository of options.repositories) {
      losses.push(...(await lossesIn(repository, { ...options, engine, meter })));
      const table = lossTable(
        losses,
        options.arms.map(({ name: own }) => own),
      );
      process.stdout.write(`${repository.name} and those before it\n${table}\n`);
      await mkdir(dirname(options.json), { recursive: true });
      await writeFile(
        options.json,
        `${JSON.stringify({ model: name, settings, seed: options.seed, losses }, null, 1)}\n`,
      );
    }
  } finally {
    await engine.dispose();
  }
  note(`${meter.tokens} tokens; each target's losses: ${options.json}`);
}

function optionsOf(args) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: 'flask,undici,cobra' },
      arms: { type: 'string' },
      targets: { type: 'string', default: '20' },
      tokens: { type: 'string', default: '30000' },
      seed: { type: 'string', default: '1' },
      threads: { type: 'string', default: '2' },
      slots: { type: 'string', default: '1' },
      kvm: { type: 'string' },
      json: { type: 'string', default: join(cacheFolder(), 'state.json') },
    },
  });
  const only = values.only.split(',');
  const repositories = reportRepositories.filter(({ name }) => only.includes(name));
  const names = values.arms?.split(',') ?? ARMS.map(({ name }) => name);
  const unknown = names.find(name => !ARMS.some(arm => arm.name === name));
  if (unknown !== undefined)
    throw new SetUpError(`No arm "${unknown}"; ${ARMS.map(({ name }) => name).join(', ')}.`, 2);
  if (repositories.length < only.length) {
    throw new SetUpError(`--only takes ${reportRepositories.map(({ name }) => name).join(', ')}.`, 2);
  }
  const [targets, tokens, seed, threads, slots] = [
    values.targets,
    values.tokens,
    values.seed,
    values.threads,
    values.slots,
  ].map(Number);
  if (![targets, tokens, seed, threads, slots].every(number => Number.isInteger(number) && number > 0)) {
    throw new SetUpError('--targets, --tokens, --seed, --threads and --slots take whole numbers above 0.', 2);
  }
  const arms = ARMS.filter(({ name }) => names.includes(name));
  const from = process.env.INIT_CWD ?? process.cwd();
  const kvm = values.kvm === undefined ? {} : JSON.parse(readFileSync(resolve(from, values.kvm), 'utf8'));
  return { repositories, arms, targets, tokens, seed, threads, slots, kvm, json: resolve(from, values.json) };
}

/** [{repository, kind, path, losses: {arm: nats}}]; arms that would show the target itself only where that is said. */
async function lossesIn(repository, { engine, meter, arms, slots, ...options }) {
  const texts = await prepared(repository, options);
  const { data, targets } = await withRecalled(engine, texts, targetsOf(texts, options));
  const own = await gistsOf(texts, data);
  const gists = slots === 1 ? own : await largerGists(engine, texts, own, slots);
  const states = new Map();
  const stateWithout = async left => {
    if (!states.has(left)) states.set(left, await composed(engine, gists, left, slots));
    return states.get(left);
  };
  const out = [];
  for (const target of targets) {
    const parts = {
      whole: await stateWithout(undefined),
      workspace: await stateWithout(target.own),
      gists: gists.filter(({ path }) => target.files.includes(path)).map(weighed),
    };
    const losses = {};
    for (const { name, withPassages, states: pick, sinks, leaks, alike } of arms) {
      if (leaks && target.own === undefined) continue;
      const given = sinks ? meter.givenSinks() : meter.given(pick(parts), !alike);
      losses[name] = await meter.loss(target, { withPassages, given });
    }
    out.push({ repository: repository.name, kind: target.kind, path: target.path, losses });
    note(`${repository.name}: ${out.length} of ${targets.length} targets`);
  }
  return out;
}
