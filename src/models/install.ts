/**
 * Installs a model: download (or a checkpoint of the user's), conversion in a folder of its own, a check of what was
 * written, and one rename that makes it be there. One process at a time per model; nothing half-made is ever found.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  LongviewError,
  codeOf,
  makeFolder,
  messageOf,
  quoted,
  silentLog,
  systemReason,
  throwIfCancelled,
} from '../base/index.js';
import type { Log, ProgressListener } from '../base/index.js';
import type { ConvertOptions, GraphRunner, ModelEntry } from '../convert/index.js';
import { bundledCheckpoint, bundledFile } from './bundled.js';
import { entryOf, readCatalogue } from './catalogue.js';
import type { Catalogue, CatalogueModel } from './catalogue.js';
import { downloadFolder, modelFolder, modelsFolder } from './data-folder.js';
import { checkSpace } from './files.js';
import type { NetworkOptions } from './hub.js';
import type { HubCheckpoint } from './hub-checkpoint.js';
import { cleanLeftovers, findModel, listModels } from './installed.js';
import type { InstalledModel } from './installed.js';
import { withLock } from './lock.js';
import { bytesOf, checkSizes, readModelManifest, verifyFiles, writeLicence } from './manifest.js';
import { nameOfTitle, ownCheckpoint, recognise } from './own-checkpoint.js';
import { downloadBytesOf, fetchCheckpoint, labelOf, originOf } from './sources.js';

export type Quantisation = ConvertOptions['quantisation'];

/** For models that the catalogue does not know: the fastest and smallest (docs/own-models.md). */
export const defaultQuantisation: Quantisation = 'q4';

/** The converter, as this room calls it. */
export type Convert = (
  source: string,
  folder: string,
  options: {
    readonly quantisation: Quantisation;
    readonly entry: ModelEntry;
    readonly run: GraphRunner;
    readonly forText?: boolean;
    readonly signal?: AbortSignal;
    readonly onProgress?: ProgressListener;
  },
) => Promise<unknown>;

export interface InstallOptions {
  /** Runs freshly written graphs for the converter's check; the engine's `runGraphsApart`. */
  readonly run: GraphRunner;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly log?: Log;
  /** The user's own instead of the catalogue's: a path (.gguf, .safetensors, Hugging Face folder), or found on the hub. */
  readonly from?: string | HubCheckpoint;
  /** Instead of the catalogue's, or of `defaultQuantisation`. */
  readonly quantisation?: Quantisation;
  /** Instead of what the catalogue or the hub says. */
  readonly licence?: string;
  /** Asked before anything is downloaded of `from`; throws where the answer is no. */
  readonly agree?: (name: string, quantisation: Quantisation) => Promise<void>;
  /** Keeps the downloaded checkpoint. */
  readonly keepSource?: boolean;
  /** Converts again where the model is installed already. */
  readonly again?: boolean;
  /** For tests. */
  readonly convert?: Convert;
  readonly catalogue?: Catalogue;
  readonly network?: NetworkOptions;
}

/**
 * The installed model; at once where it is there already. `name` defaults to the catalogue's default, or to the
 * checkpoint's name with `from`. Throws `usage` where that name is another model's, `not-found`, `network`, `permission`,
 * `hash-mismatch`, `disk-full`, `cancelled`, and what the converter throws.
 */
export async function installModel(
  data: string,
  name: string | undefined,
  options: InstallOptions,
): Promise<InstalledModel> {
  const { signal, log = silentLog, again = false } = options;
  throwIfCancelled(signal);
  const catalogue = options.catalogue ?? (await readCatalogue());
  // A wrong name is said before a large checkpoint is hashed.
  if (name !== undefined) modelFolder(data, name);
  const plan =
    options.from === undefined
      ? fromCatalogue(catalogue, name, options)
      : await fromUser(catalogue, name, options.from, options);
  const { chosen } = plan;
  const folder = modelFolder(data, chosen);
  if (!again && (await isThere(folder, plan))) return installed(data, chosen, options.licence);
  if (plan.diskBytes !== undefined) await options.agree?.(chosen, plan.quantisation);
  makeModelsFolder(data);
  const onWait = (holder: number) => {
    log('info', `Another process (${holder}) is installing ${chosen}; waiting for it.`);
    options.onProgress?.({ task: `Waiting for another process that installs ${chosen}`, done: 0, unit: 'steps' });
  };
  return withLock(join(modelsFolder(data), `${chosen}.lock`), { signal, onWait }, async () => {
    if (!again && (await isThere(folder, plan))) return installed(data, chosen, options.licence);
    await cleanLeftovers(data);
    const source = await plan.fetch(downloadFolder(data, chosen));
    await convertInto(folder, source, { catalogue, plan }, options);
    if (options.keepSource !== true) await rm(downloadFolder(data, chosen), { recursive: true, force: true });
    log('info', `Model ${chosen} is installed in ${folder}.`);
    return findModel(data, chosen);
  });
}

function makeModelsFolder(data: string): void {
  const folder = modelsFolder(data);
  try {
    makeFolder(folder, { existsSync, mkdirSync, dirname });
  } catch (cause) {
    const why = codeOf(cause) === 'not-found' ? 'cannot be made there: choose another place' : systemReason(cause);
    throw new LongviewError(codeOf(cause), `The models folder ${folder} ${why ?? `(${messageOf(cause)})`}.`, { cause });
  }
}

/** What is there already, under the licence that the user states, if any. */
async function installed(data: string, name: string, licence: string | undefined): Promise<InstalledModel> {
  const model = await findModel(data, name);
  if (licence === undefined || licence === model.manifest.licence) return model;
  await writeLicence(model.folder, licence);
  return findModel(data, name);
}

interface Source {
  readonly checkpoint: string;
  readonly origin: string;
}

/** What is installed, decided before anything is downloaded or converted. */
interface Plan {
  readonly chosen: string;
  /** What the catalogue knows of it. */
  readonly known?: CatalogueModel;
  readonly quantisation: Quantisation;
  readonly licence: string;
  /** Of a checkpoint that the user brings: known beforehand, so that another one under its name is noticed. */
  readonly origin?: string;
  /** Of the installed model, about, where the user's checkpoint is downloaded first. */
  readonly diskBytes?: number;
  fetch(folder: string): Promise<Source>;
}

function fromCatalogue(catalogue: Catalogue, name: string | undefined, options: InstallOptions): Plan {
  const known = entryOf(catalogue, name);
  const { signal, onProgress, log = silentLog, network } = options;
  return {
    chosen: known.name,
    known,
    quantisation: options.quantisation ?? known.quantisation,
    licence: options.licence ?? known.licence,
    fetch: async folder => {
      const bundled = await bundledCheckpoint(catalogue.folder, known, signal);
      if (bundled) return { checkpoint: bundled.checkpoint, origin: originOf(bundled.source) };
      await mkdir(folder, { recursive: true });
      const { checkpoint, source } = await fetchCheckpoint(known, { folder, signal, onProgress, log, network });
      return { checkpoint, origin: originOf(source) };
    },
  };
}

async function fromUser(
  catalogue: Catalogue,
  name: string | undefined,
  from: string | HubCheckpoint,
  options: InstallOptions,
): Promise<Plan> {
  const { signal, onProgress, network } = options;
  const own = await ownCheckpoint(from, { signal, onProgress });
  const known = recognise(catalogue, own.weights);
  const chosen = name ?? known?.name ?? nameOfTitle(own.title);
  if (chosen !== known?.name && catalogue.models.some(model => model.name === chosen)) {
    throw new LongviewError(
      'usage',
      `${chosen} is the catalogue's name of a model with other weights: choose another with --as.`,
    );
  }
  const quantisation = options.quantisation ?? known?.quantisation ?? defaultQuantisation;
  const diskBytes = own.diskBytes?.(quantisation);
  return {
    chosen,
    ...(known && { known }),
    ...(diskBytes !== undefined && { diskBytes }),
    quantisation,
    licence: options.licence ?? known?.licence ?? own.licence ?? 'unknown',
    origin: own.origin,
    fetch: async folder => ({
      checkpoint: await own.fetch({ folder, signal, onProgress, network, alsoNeeded: diskBytes ?? 0 }),
      origin: own.origin,
    }),
  };
}

async function convertInto(
  folder: string,
  source: Source,
  { catalogue, plan }: { catalogue: Catalogue; plan: Plan },
  options: InstallOptions,
): Promise<void> {
  const { signal, onProgress, run } = options;
  // Loaded when it is needed: most commands look for a model, and few make one.
  const convert = options.convert ?? (await import('../convert/index.js')).convertModel;
  const { chosen, known, licence, quantisation } = plan;
  const entry: ModelEntry = {
    name: chosen,
    origin: source.origin,
    licence,
    kvm: known?.kvm,
    recall: known?.recall,
    prompt: known?.prompt,
    recallFile: known?.recallFile === undefined ? undefined : join(catalogue.folder, known.recallFile),
  };
  const draft = `${folder}.part-${process.pid}-${randomUUID().slice(0, 8)}`;
  await mkdir(draft);
  try {
    if (known) await checkSpace(draft, known.diskBytes, `Installing ${chosen}`);
    await convert(source.checkpoint, draft, { forText: true, quantisation, entry, run, signal, onProgress });
    throwIfCancelled(signal);
    await verifyFiles(draft, await readModelManifest(draft), { signal });
    await replace(folder, draft);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Puts `draft` in the place of `folder`, whatever was there. */
async function replace(folder: string, draft: string): Promise<void> {
  const old = `${draft}-old`;
  const hadOld = await rename(folder, old).then(
    () => true,
    () => false,
  );
  try {
    await rename(draft, folder);
  } catch (error) {
    if (hadOld) await rename(old, folder);
    throw error;
  }
  await rm(old, { recursive: true, force: true });
}

/** Whether exactly this is installed. Throws `usage` where the name is taken by a whole model from elsewhere. */
async function isThere(folder: string, { chosen, origin, quantisation }: Plan): Promise<boolean> {
  const found = await readModelManifest(folder).catch(() => undefined);
  const isWhole = found && (await checkSizes(folder, found).then(yes, no));
  if (!isWhole || origin === undefined) return isWhole === true;
  if (found.origin === origin && found.quantisation === quantisation) return true;
  throw new LongviewError(
    'usage',
    `${chosen} is installed already, as ${found.quantisation} from ${found.origin}: choose another name with --as, or remove it first.`,
  );
}

const yes = () => true;
const no = () => false;

/** For the question before a download, and to show what is there. */
export interface ModelOffer {
  readonly name: string;
  readonly installed: boolean;
  readonly downloadBytes: number;
  readonly diskBytes: number;
  /** Where it comes from, in the order tried. */
  readonly source: string;
  readonly license: string;
  /** What is wrong with the one that is there, and is no use as it is. */
  readonly problem?: string;
}

/**
 * What `installModel` would do for this name; nothing to download where the package carries it. Never touches the network.
 * Throws `not-found` for an unknown name.
 */
export async function modelOffer(data: string, name?: string, given?: Catalogue): Promise<ModelOffer> {
  const catalogue = given ?? (await readCatalogue());
  const canBeHad = catalogue.models.some(model => model.name === (name ?? catalogue.default));
  let problem: string | undefined;
  const installed = await findModel(data, name).catch(async (error: unknown) => {
    // One that is damaged, or of another format, is as good as none where it can be had again.
    if (codeOf(error) !== 'not-found' && !(canBeHad && codeOf(error) === 'bad-format')) throw error;
    const wanted = name ?? catalogue.default;
    problem = (await listModels(data)).find(model => model.name === wanted)?.problem;
    return undefined;
  });
  const known = catalogue.models.find(model => model.name === (installed?.name ?? name ?? catalogue.default));
  if (!installed && !known) throw await unknownModel(data, catalogue, name!);
  const isBundled = known !== undefined && (await bundledFile(catalogue.folder, known)) !== undefined;
  return {
    name: installed?.name ?? known!.name,
    installed: installed !== undefined,
    downloadBytes: known && !isBundled ? downloadBytesOf(known) : 0,
    diskBytes: installed ? bytesOf(installed.manifest) : known!.diskBytes,
    source: isBundled ? 'this package' : known ? known.sources.map(labelOf).join(', or ') : installed!.manifest.origin,
    license: installed?.manifest.licence ?? known!.licence,
    ...(problem !== undefined && { problem }),
  };
}

/** Says what there is: the user's own models first. */
async function unknownModel(data: string, catalogue: Catalogue, name: string): Promise<LongviewError> {
  const own = (await listModels(data)).flatMap(model => (model.manifest ? [model.name] : []));
  const more = catalogue.models.map(model => model.name).filter(known => !own.includes(known));
  const parts = [
    `There is no model ${quoted(name)}`,
    own.length > 0 ? `installed: ${own.join(', ')}` : 'none is installed',
    ...(more.length > 0 ? [`\`longview model add\` gets: ${more.join(', ')}`] : []),
  ];
  return new LongviewError('not-found', `${parts.join('; ')}.`);
}
