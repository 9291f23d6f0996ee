/** `longview model list`: what is installed, with where it is from and what it is, and what can be added. */
import { escaped } from '../../base/index.js';
import {
  defaultModel,
  factsOf,
  listModels,
  modelOffer,
  readCatalogue,
  type ListedModel,
  type ModelFacts,
  type ModelOffer,
} from '../../models/index.js';
import { dataOf, type Call, type GlobalFlags } from '../house.js';
import { costOf } from '../model-consent.js';
import { plural, size } from '../text.js';

interface Row extends ModelOffer, Partial<ModelFacts> {
  readonly default: boolean;
}

export async function runModelList({ surface }: Call, flags: GlobalFlags): Promise<void> {
  const data = dataOf(flags);
  const listed = await listModels(data);
  const catalogue = await readCatalogue();
  const damaged = listed.flatMap(({ name, problem }) => (problem === undefined ? [] : [{ name, problem }]));
  const isDamaged = new Set(damaged.map(({ name }) => name));
  const taken = (await defaultModel(listed))?.name ?? catalogue.default;
  const models: Row[] = [];
  const offered = catalogue.models.map(model => model.name);
  const usable = listed.filter(model => model.manifest);
  for (const name of new Set([...offered, ...usable.map(model => model.name)])) {
    if (isDamaged.has(name)) continue;
    const facts = factsIn(usable, name);
    models.push({ ...(await modelOffer(data, name)), ...facts, default: name === taken });
  }
  if (flags.json) {
    surface.json({ models, problems: damaged });
    return;
  }
  for (const model of models.filter(({ installed }) => installed)) surface.out(rowOf(model));
  for (const { name, problem } of damaged) surface.out(`${name}: not usable. ${escaped(problem)}\n`);
  const addable = models.filter(({ installed }) => !installed);
  if (addable.length > 0) surface.out('Can be added with `longview model add NAME`:\n');
  for (const model of addable) surface.out(`  ${costOf(model)}\n`);
  surface.out('Any other Llama or Qwen model: `longview model convert` with a file, a folder or ORG/NAME.\n');
}

function factsIn(usable: readonly ListedModel[], name: string): ModelFacts | undefined {
  const manifest = usable.find(model => model.name === name)?.manifest;
  return manifest && factsOf(manifest);
}

/** Three lines: what it is called, what it is, where it is from. */
function rowOf(row: Row): string {
  const { name, diskBytes, quantisation, family, layers, bytesPerSlot, recallHeads = 0 } = row;
  const what = [
    size(diskBytes),
    quantisation,
    family,
    layers === undefined ? undefined : plural(layers, 'layer'),
    bytesPerSlot === undefined ? undefined : `${size(bytesPerSlot)} a slot`,
    recallHeads > 0 ? plural(recallHeads, 'recall head') : 'no recall heads',
  ];
  const origin = [row.origin, `licence ${row.license}`, `fingerprint ${row.fingerprint?.slice(0, 12) ?? ''}`];
  return [
    `${name}: installed${row.default ? ', the default' : ''}`,
    `  ${what.filter(part => part !== undefined).join(', ')}`,
    `  ${escaped(origin.join('; '))}`,
    '',
  ].join('\n');
}
