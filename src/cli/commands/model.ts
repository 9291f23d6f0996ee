/** `longview model add|remove|verify`: the catalogue's models by name, and what is installed. */
import { existsSync } from 'node:fs';
import { LongviewError } from '../../base/index.js';
import {
  bytesOf,
  factsOf,
  findModel,
  modelOffer,
  parseHubId,
  readCatalogue,
  removeModel,
  verifyModel,
  type InstalledModel,
} from '../../models/index.js';
import { dataOf, type Call, type GlobalFlags } from '../house.js';
import { installOffered, type ConsentFlags } from '../model-consent.js';
import { plural, size } from '../text.js';

export async function runModelAdd(call: Call, what: string | undefined, flags: ConsentFlags): Promise<void> {
  const data = dataOf(flags);
  // Without a name the recommended model is meant, whatever else is installed.
  const catalogue = await readCatalogue();
  const name = what ?? flags.model ?? catalogue.default;
  if (what !== undefined && !catalogue.models.some(model => model.name === what) && isCheckpoint(what)) {
    throw new LongviewError(
      'usage',
      `\`model add\` takes a name of \`model list\`; for a file, a folder or a model of the hub run \`longview model convert ${shellWord(what)}\`.`,
    );
  }
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

/** Throws what is wrong with it, so that a damaged model ends the command with exit code 1 and the reason. */
export async function runModelVerify(call: Call, name: string, flags: GlobalFlags): Promise<void> {
  const { surface, signal } = call;
  const model = await findModel(dataOf(flags), name);
  const { manifest } = model;
  const { runGraphsApart } = await import('../../engine/index.js');
  const check = await verifyModel(model, runGraphsApart, { signal, onProgress: surface.progress });
  if (flags.json) {
    surface.json({ name: manifest.name, ok: true, files: manifest.files.length, bytes: bytesOf(manifest), check });
    return;
  }
  surface.out(
    `${manifest.name}: ${plural(manifest.files.length, 'file')}, ${size(bytesOf(manifest))}, sizes and SHA-256 as installed.\n`,
  );
  surface.out(`It computes what it did when it was converted: ${checkLine(check)}.\n`);
}

/** `difference from the checkpoint 0.08, allowed 0.3`. */
export function checkLine({ difference, tolerance }: { difference: number; tolerance: number }): string {
  return `difference from the checkpoint ${Number(difference.toPrecision(2))}, allowed ${tolerance}`;
}

/** What an installation ended with. */
export function report({ surface }: Call, { name, manifest }: InstalledModel, flags: GlobalFlags): void {
  const facts = factsOf(manifest);
  const bytes = bytesOf(manifest);
  if (flags.json) {
    surface.json({ name, installed: true, diskBytes: bytes, license: manifest.licence, ...facts });
    return;
  }
  const check = facts.check ? `; ${checkLine(facts.check)}` : '';
  surface.note(`Model ${name} is installed (${size(bytes)}, ${facts.quantisation}${check}).`);
}

/** Whether a file, a folder or a model of the hub is meant. */
function isCheckpoint(what: string): boolean {
  return /[\\/]|\.(gguf|safetensors)$/i.test(what) || parseHubId(what) !== undefined || existsSync(what);
}

/** To be copied into a shell: quoted where it needs to be, on one line. */
function shellWord(word: string): string {
  return /^[\w./@:~+-]+$/.test(word) ? word : JSON.stringify(word);
}
