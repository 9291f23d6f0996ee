/**
 * A checkpoint that the user brings: a file or folder on this disk, or one of the hub. Gives each the same face: what it
 * is called, where it is from, by which digests it can be recognised, and how its files come to lie on this disk.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { LongviewError } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { isModelName } from './catalogue.js';
import type { Catalogue, CatalogueModel } from './catalogue.js';
import { sha256Of, sizeOf } from './files.js';
import type { NetworkOptions } from './hub.js';
import { downloadFromHub, estimatedDiskBytes, hubOriginOf } from './hub-checkpoint.js';
import type { HubCheckpoint } from './hub-checkpoint.js';
import { neededFiles } from './needed-files.js';

export interface FetchWork {
  /** Folder for this model's downloads. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly network?: NetworkOptions;
  /** Bytes that the disk must have room for beside a download. */
  readonly alsoNeeded?: number;
}

export interface OwnCheckpoint {
  /** What it is called where it is from; not yet a model's name. */
  readonly title: string;
  readonly origin: string;
  readonly licence?: string;
  /** SHA-256 of its weights' files. */
  readonly weights: readonly string[];
  /** Bytes of the installed model, about; of one that has to be downloaded. */
  diskBytes?(quantisation: string): number;
  /** Path of what the converter opens, downloaded if need be. */
  fetch(work: FetchWork): Promise<string>;
}

/** `from`: a path, or what `findOnHub` found. Hashes a local one. Throws `not-found`, `usage`, `unsupported`, `cancelled`. */
export async function ownCheckpoint(
  from: string | HubCheckpoint,
  work: Pick<FetchWork, 'signal' | 'onProgress'>,
): Promise<OwnCheckpoint> {
  return typeof from === 'string' ? localCheckpoint(resolve(from), work) : hubCheckpoint(from);
}

function hubCheckpoint(from: HubCheckpoint): OwnCheckpoint {
  return {
    title: basename(from.gguf ?? from.repository),
    origin: hubOriginOf(from),
    ...(from.licence !== undefined && { licence: from.licence }),
    weights: from.files.flatMap(({ path, digest }) =>
      isWeights(path) && digest.kind === 'sha256' ? [digest.hex] : [],
    ),
    diskBytes: quantisation => estimatedDiskBytes(from, quantisation),
    fetch: work => downloadFromHub(from, { ...work, folder: join(work.folder, 'hub') }),
  };
}

async function localCheckpoint(path: string, work: Pick<FetchWork, 'signal' | 'onProgress'>): Promise<OwnCheckpoint> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new LongviewError('not-found', `There is no file or folder ${path}.`);
  const title = basename(path);
  if (found.isFile()) {
    // Weights alone don't make a model: a .safetensors file is read by the config beside it.
    const config = join(dirname(path), 'config.json');
    const hasConfig = extname(path).toLowerCase() === '.safetensors' && (await sizeOf(config)) >= 0;
    const [digest = '', ofConfig] = await hashAll(hasConfig ? [path, config] : [path], work);
    const read = ofConfig === undefined ? '' : `, read by config.json, SHA-256 ${ofConfig}`;
    const origin = `file ${title}, SHA-256 ${digest}${read}`;
    return { title, origin, weights: [digest], fetch: () => Promise.resolve(path) };
  }
  const listed = await Promise.all(
    (await readdir(path)).map(async name => ({ path: name, bytes: await sizeOf(join(path, name)) })),
  );
  const { files, gguf } = neededFiles(
    path,
    listed.filter(({ bytes }) => bytes >= 0),
  );
  const names = files.map(file => file.path);
  const digests = await hashAll(
    names.map(name => join(path, name)),
    work,
  );
  const all = createHash('sha256');
  names.forEach((name, i) => all.update(`${name} ${digests[i]!}\n`));
  return {
    title,
    origin: `folder ${title}, SHA-256 of its ${names.length} files ${all.digest('hex')}`,
    weights: digests.filter((_, i) => isWeights(names[i]!)),
    fetch: () => Promise.resolve(gguf === undefined ? path : join(path, gguf)),
  };
}

async function hashAll(paths: readonly string[], { signal, onProgress }: Omit<FetchWork, 'folder'>): Promise<string[]> {
  const sizes = await Promise.all(paths.map(sizeOf));
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const digests: string[] = [];
  let done = 0;
  for (const path of paths) {
    const onBytes = (bytes: number): void => {
      done += bytes;
      onProgress?.({ task: 'Hashing the checkpoint', done, total, unit: 'bytes', item: basename(path) });
    };
    digests.push(await sha256Of(path, { signal, onBytes }));
  }
  return digests;
}

function isWeights(path: string): boolean {
  return /\.(gguf|safetensors)$/i.test(path);
}

/** The catalogue's model whose weights these are, byte for byte: what was fitted for it holds for no others. */
export function recognise(catalogue: Catalogue, weights: readonly string[]): CatalogueModel | undefined {
  return catalogue.models.find(model =>
    model.sources.some(source => {
      const files = source.kind === 'hub' ? source.files : [{ name: source.member.path, sha256: source.member.sha256 }];
      const theirs = files.filter(file => isWeights(file.name));
      return theirs.every(file => file.sha256 !== undefined && weights.includes(file.sha256));
    }),
  );
}

/** `Foo-1B.Q4_1.gguf` → `foo-1b.q4_1`. Throws `usage` where nothing usable is left. */
export function nameOfTitle(title: string): string {
  const isFile = ['.gguf', '.safetensors'].includes(extname(title).toLowerCase());
  const plain = isFile ? title.slice(0, -extname(title).length) : title;
  const name = plain
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '');
  if (isModelName(name)) return name;
  throw new LongviewError('usage', `Give the model a name with --as: ${JSON.stringify(title)} cannot be one.`);
}
