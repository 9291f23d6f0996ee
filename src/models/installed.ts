/**
 * What is installed: folders `models/NAME` with a manifest. Folders `NAME.part-PID-…` are work in progress, or what a
 * process that died left of it. Looking never writes; only `removeModel` and `cleanLeftovers` delete.
 */
import { readdir, rename, rm } from 'node:fs/promises';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { LongviewError, codeOf, messageOf, systemReason } from '../base/index.js';
import { isModelName, readCatalogue } from './catalogue.js';
import { downloadFolder, modelFolder, modelsFolder } from './data-folder.js';
import { folderBytes } from './files.js';
import { checkSizes, readModelManifest } from './manifest.js';
import type { ModelManifest } from './manifest.js';
import { isAlive } from './lock.js';

export interface InstalledModel {
  readonly name: string;
  readonly folder: string;
  readonly manifest: ModelManifest;
  /** What memories need to know of it before it is loaded. */
  readonly description: {
    readonly name: string;
    readonly fingerprint: string;
    /** Of the states it makes; absent where the manifest does not say. */
    readonly shape?: { readonly groups: number; readonly headSize: number };
  };
}

export interface ListedModel {
  readonly name: string;
  readonly folder: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Absent where the folder cannot be used; then `problem` says why. */
  readonly manifest?: ModelManifest;
  readonly problem?: string;
}

/** Installed models by name, damaged ones included. */
export async function listModels(data: string): Promise<readonly ListedModel[]> {
  const entries = await readdir(modelsFolder(data), { withFileTypes: true }).catch((cause: unknown) => {
    if (codeOf(cause) === 'not-found') return [];
    const why = systemReason(cause) ?? `can't be read (${messageOf(cause)}): choose another data folder`;
    throw new LongviewError(codeOf(cause), `The models folder ${modelsFolder(data)} ${why}.`, { cause });
  });
  const models: ListedModel[] = [];
  for (const entry of entries) {
    if (!entry.isDirectory() || !isModelName(entry.name) || isLeftover(entry.name)) continue;
    const folder = join(modelsFolder(data), entry.name);
    const base = { name: entry.name, folder, bytes: await folderBytes(folder) };
    try {
      const manifest = await readModelManifest(folder);
      await checkSizes(folder, manifest);
      models.push({ ...base, manifest });
    } catch (error) {
      models.push({ ...base, problem: (error as Error).message });
    }
  }
  return models.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The installed model of a name, or of a path to a model folder; without one the catalogue's default, else the only one
 * there is. Throws `not-found` or `bad-format`, saying which command helps.
 */
export async function findModel(data: string, name?: string): Promise<InstalledModel> {
  if (name !== undefined && (isAbsolute(name) || name.includes('/') || name.includes(sep))) return open(resolve(name));
  if (name !== undefined) {
    const folder = modelFolder(data, name);
    return open(
      folder,
      `Model ${name} is not installed: see \`longview model list\`; \`longview model add\` gets the recommended one.`,
    );
  }
  const listed = await listModels(data);
  const usable = listed.filter(model => model.manifest);
  const chosen = await defaultModel(listed);
  if (chosen) return open(chosen.folder);
  if (usable.length === 0) throw new LongviewError('not-found', 'No model is installed: run `longview model add`.');
  const names = usable.map(model => model.name).join(', ');
  throw new LongviewError(
    'usage',
    `Several models are installed and none is the default: name one of them, with --model or in the settings (${names}).`,
  );
}

/** The one that is taken where none is named: the catalogue's default, else the only usable one. */
export async function defaultModel(listed: readonly ListedModel[]): Promise<ListedModel | undefined> {
  const usable = listed.filter(model => model.manifest);
  const preferred = (await readCatalogue()).default;
  return usable.find(model => model.name === preferred) ?? (usable.length === 1 ? usable[0] : undefined);
}

async function open(folder: string, absent?: string): Promise<InstalledModel> {
  try {
    const manifest = await readModelManifest(folder);
    await checkSizes(folder, manifest);
    return { name: manifest.name, folder, manifest, description: descriptionOf(manifest) };
  } catch (error) {
    if (absent !== undefined && error instanceof LongviewError && error.code === 'not-found') {
      throw new LongviewError('not-found', absent, { cause: error });
    }
    throw error;
  }
}

function descriptionOf({ name, fingerprint, architecture }: ModelManifest): InstalledModel['description'] {
  if (!architecture) return { name, fingerprint };
  const { layers, kvmLayers = layers, keyHeads, headSize } = architecture;
  return { name, fingerprint, shape: { groups: kvmLayers * keyHeads, headSize } };
}

/** Deletes a model and its downloads. It is gone for others at once, before its bytes are. Throws `not-found`. */
export async function removeModel(data: string, name: string): Promise<void> {
  const folder = modelFolder(data, name);
  const doomed = `${folder}.part-${process.pid}-removed`;
  try {
    await rename(folder, doomed);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new LongviewError('not-found', `Model ${name} is not installed.`, { cause: error });
    }
    throw new LongviewError('permission', `Cannot remove model ${name}: another program may be using it.`, {
      cause: error,
    });
  }
  await rm(doomed, { recursive: true, force: true });
  await rm(downloadFolder(data, name), { recursive: true, force: true });
}

const LEFTOVER = /\.part-(\d+)(-|$)/;

function isLeftover(name: string): boolean {
  return LEFTOVER.test(name);
}

/** Deletes work in progress of processes that are gone. Gives the names of the folders. */
export async function cleanLeftovers(data: string): Promise<readonly string[]> {
  const entries = await readdir(modelsFolder(data), { withFileTypes: true }).catch(() => []);
  const cleaned: string[] = [];
  for (const entry of entries) {
    const pid = LEFTOVER.exec(entry.name)?.[1];
    if (pid === undefined || !entry.isDirectory() || isAlive(Number(pid))) continue;
    await rm(join(modelsFolder(data), entry.name), { recursive: true, force: true });
    cleaned.push(entry.name);
  }
  return cleaned;
}
