/** `longview model list|add|remove`: the models on this machine. */
import { existsSync } from 'node:fs';
import { listModels, modelOffer, readCatalogue, removeModel, type InstalledModel } from '../../models/index.js';
import { dataOf, type Call, type GlobalFlags } from '../house.js';
import { costOf, install, installOffered, type ConsentFlags } from '../model-consent.js';
import { size } from '../text.js';

export async function runModelList({ surface }: Call, flags: GlobalFlags): Promise<void> {
  const data = dataOf(flags);
  const installed = await listModels(data);
  const catalogue = await readCatalogue();
  const usable = installed.filter(model => model.problem === undefined).map(model => model.name);
  const names = [...new Set([...catalogue.models.map(model => model.name), ...usable])];
  const models = [];
  for (const name of names) {
    const damaged = installed.find(model => model.name === name)?.problem;
    if (damaged === undefined) models.push({ ...(await modelOffer(data, name)), default: name === catalogue.default });
  }
  const problems = installed.flatMap(({ name, problem }) => (problem === undefined ? [] : [{ name, problem }]));
  if (flags.json) {
    surface.json({ models, problems });
    return;
  }
  for (const model of models) {
    surface.out(model.installed ? `${model.name}: installed, ${size(model.diskBytes)}\n` : `${costOf(model)}\n`);
  }
  for (const { name, problem } of problems) surface.out(`${name}: ${problem}\n`);
}

export async function runModelAdd(call: Call, what: string | undefined, flags: ConsentFlags): Promise<void> {
  if (what !== undefined && isFile(what)) {
    report(call, await install(call, flags, { name: flags.model, from: what }), flags);
    return;
  }
  const data = dataOf(flags);
  // Without a name the recommended model is meant, whatever else is installed.
  const name = what ?? flags.model ?? (await readCatalogue()).default;
  const offer = await modelOffer(data, name);
  if (!offer.installed) {
    report(call, await installOffered(call, offer, flags), flags);
  } else if (flags.json) {
    call.surface.json(offer);
  } else {
    call.surface.note(`Model ${offer.name} is installed.`);
  }
}

export async function runModelRemove({ surface }: Call, name: string, flags: GlobalFlags): Promise<void> {
  await removeModel(dataOf(flags), name);
  if (flags.json) surface.json({ removed: name });
  else surface.note(`Model ${name} is removed.`);
}

function report({ surface }: Call, model: InstalledModel, flags: GlobalFlags): void {
  const bytes = model.manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  if (flags.json)
    surface.json({ name: model.name, installed: true, diskBytes: bytes, license: model.manifest.licence });
  else surface.note(`Model ${model.name} is installed (${size(bytes)}).`);
}

/** Whether a file or folder is meant, and not a name of the catalogue. */
function isFile(what: string): boolean {
  return /[\\/]|\.(gguf|safetensors)$/i.test(what) || existsSync(what);
}
