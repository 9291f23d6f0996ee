/**
 * Installs a model: download (or a checkpoint of the user's), conversion in a folder of its own, a check of what was
 * written, and one rename that makes it be there. One process at a time per model; nothing half-made is ever found.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { LongviewError, silentLog, throwIfCancelled } from '../base/index.js';
import type { Log, ProgressListener } from '../base/index.js';
import { convertModel } from '../convert/index.js';
import type { GraphRunner, ModelEntry } from '../convert/index.js';
import { entryOf, isModelName, readCatalogue } from './catalogue.js';
import type { Catalogue, CatalogueModel } from './catalogue.js';
import { downloadFolder, modelFolder, modelsFolder } from './data-folder.js';
import { checkSpace, sha256Of } from './files.js';
import { cleanLeftovers, findModel } from './installed.js';
import type { InstalledModel } from './installed.js';
import { withLock } from './lock.js';
import { readModelManifest, verifyModel } from './manifest.js';
import { downloadBytesOf, fetchCheckpoint, labelOf, originOf } from './sources.js';
import type { NetworkOptions } from './sources.js';

/** The converter, as this room calls it. */
export type Convert = (
  source: string,
  folder: string,
  options: {
    readonly quantisation: 'f32' | 'q8' | 'q4';
    readonly entry: ModelEntry;
    readonly run: GraphRunner;
    readonly signal?: AbortSignal;
    readonly onProgress?: ProgressListener;
  },
) => Promise<unknown>;

export interface InstallOptions {
  /** Runs freshly written graphs for the converter's check; the engine's `runGraphs`. */
  readonly run: GraphRunner;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly log?: Log;
  /** A checkpoint on this disk instead of a download: .gguf, .safetensors or a Hugging Face folder. */
  readonly from?: string;
  /** Instead of the catalogue's; q8 where the catalogue does not know the model. */
  readonly quantisation?: 'f32' | 'q8' | 'q4';
  /** Licence of a model given by `from` that the catalogue does not know. */
  readonly licence?: string;
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
 * The installed model; at once where it is there already. `name` defaults to the catalogue's default, or to the file's
 * name with `from`. Throws `not-found`, `network`, `permission`, `hash-mismatch`, `disk-full`, `cancelled`, and what the
 * converter throws.
 */
export async function installModel(
  data: string,
  name: string | undefined,
  options: InstallOptions,
): Promise<InstalledModel> {
  const { signal, log = silentLog, from } = options;
  const catalogue = options.catalogue ?? (await readCatalogue());
  const chosen = name ?? (from === undefined ? catalogue.default : nameOfFile(from));
  const folder = modelFolder(data, chosen);
  const known = from === undefined ? entryOf(catalogue, chosen) : catalogue.models.find(model => model.name === chosen);
  throwIfCancelled(signal);
  if (options.again !== true && (await isUsable(folder))) return findModel(data, chosen);
  await mkdir(modelsFolder(data), { recursive: true });
  const onWait = (holder: number) => {
    log('info', `Another process (${holder}) is installing ${chosen}; waiting for it.`);
    options.onProgress?.({ task: `Waiting for another process that installs ${chosen}`, done: 0, unit: 'steps' });
  };
  return withLock(join(modelsFolder(data), `${chosen}.lock`), { signal, onWait }, async () => {
    if (options.again !== true && (await isUsable(folder))) return findModel(data, chosen);
    await cleanLeftovers(data);
    const source = from === undefined ? await fetched(data, known!, options) : await local(from, options);
    await convertInto(folder, source, { catalogue, chosen, known }, options);
    if (from === undefined && options.keepSource !== true) {
      await rm(downloadFolder(data, chosen), { recursive: true, force: true });
    }
    log('info', `Model ${chosen} is installed in ${folder}.`);
    return findModel(data, chosen);
  });
}

interface Source {
  readonly checkpoint: string;
  readonly origin: string;
}

async function fetched(data: string, model: CatalogueModel, options: InstallOptions): Promise<Source> {
  const { signal, onProgress, log = silentLog, network } = options;
  const folder = downloadFolder(data, model.name);
  await mkdir(folder, { recursive: true });
  const { checkpoint, source } = await fetchCheckpoint(model, { folder, signal, onProgress, log, network });
  return { checkpoint, origin: originOf(source) };
}

async function local(from: string, { signal }: InstallOptions): Promise<Source> {
  const checkpoint = resolve(from);
  const found = await stat(checkpoint).catch(() => undefined);
  if (!found) throw new LongviewError('not-found', `There is no file or folder ${checkpoint}.`);
  const digest = found.isFile() ? `, SHA-256 ${await sha256Of(checkpoint, signal)}` : '';
  return { checkpoint, origin: `file ${basename(checkpoint)}${digest}` };
}

async function convertInto(
  folder: string,
  source: Source,
  { catalogue, chosen, known }: { catalogue: Catalogue; chosen: string; known: CatalogueModel | undefined },
  options: InstallOptions,
): Promise<void> {
  const { signal, onProgress, run, convert = convertModel } = options;
  const entry: ModelEntry = {
    name: chosen,
    origin: source.origin,
    licence: options.licence ?? known?.licence ?? 'unknown',
    kvm: known?.kvm,
    recall: known?.recall,
    prompt: known?.prompt,
    recallFile: known?.recallFile === undefined ? undefined : join(catalogue.folder, known.recallFile),
  };
  const draft = `${folder}.part-${process.pid}-${randomUUID().slice(0, 8)}`;
  await mkdir(draft);
  try {
    if (known) await checkSpace(draft, known.diskBytes, `Installing ${chosen}`);
    const quantisation = options.quantisation ?? known?.quantisation ?? 'q8';
    await convert(source.checkpoint, draft, { quantisation, entry, run, signal, onProgress });
    throwIfCancelled(signal);
    await verifyModel(draft, await readModelManifest(draft), signal);
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

async function isUsable(folder: string): Promise<boolean> {
  return readModelManifest(folder).then(
    () => true,
    () => false,
  );
}

/** `Foo-1B.Q4_1.gguf` → `foo-1b.q4_1`. */
function nameOfFile(path: string): string {
  const file = basename(resolve(path));
  const isFile = ['.gguf', '.safetensors'].includes(extname(file).toLowerCase());
  const name = (isFile ? file.slice(0, -extname(file).length) : file).toLowerCase().replace(/[^a-z0-9._-]+/g, '-');
  if (isModelName(name)) return name;
  throw new LongviewError('usage', `Give the model a name: ${JSON.stringify(file)} cannot be one.`);
}

/** For the question before a download, and to show what is there. */
export interface ModelOffer {
  readonly name: string;
  readonly installed: boolean;
  readonly downloadBytes: number;
  readonly diskBytes: number;
  /** Where it comes from, in the order tried. */
  readonly source: string;
  readonly license: string;
}

/** What `installModel` would do for this name. Never touches the network. Throws `not-found` for an unknown name. */
export async function modelOffer(data: string, name?: string): Promise<ModelOffer> {
  const installed = await findModel(data, name).catch((error: unknown) => {
    if (error instanceof LongviewError && error.code === 'not-found') return undefined;
    throw error;
  });
  const catalogue = await readCatalogue();
  const known = catalogue.models.find(model => model.name === (installed?.name ?? name ?? catalogue.default));
  if (!installed && !known) entryOf(catalogue, name);
  return {
    name: installed?.name ?? known!.name,
    installed: installed !== undefined,
    downloadBytes: known ? downloadBytesOf(known) : 0,
    diskBytes: installed ? installed.manifest.files.reduce((sum, file) => sum + file.bytes, 0) : known!.diskBytes,
    source: known ? known.sources.map(labelOf).join(', or ') : installed!.manifest.origin,
    license: installed?.manifest.licence ?? known!.licence,
  };
}
