/**
 * A checkpoint of the hub, pinned: asked for, judged by what is in it, downloaded by commit, every file held against the
 * size and digest that the hub announced. Files land by their plain names in one folder; converts nothing.
 */
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { download } from './download.js';
import { checkSpace, sizeOf } from './files.js';
import type { Digest } from './files.js';
import { bearerOf, hubAddress, hubName } from './hub.js';
import type { NetworkOptions } from './hub.js';
import { askHub } from './hub-api.js';
import { gatedError, refusal } from './hub-refusal.js';
import type { HubId } from './hub-id.js';
import { neededFiles } from './needed-files.js';

export interface HubCheckpoint {
  readonly kind: 'hub';
  /** Host of the hub, for messages and the origin. */
  readonly host: string;
  readonly repository: string;
  /** 40 hex digits. */
  readonly commit: string;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly digest: Digest }[];
  /** Path of the GGUF in the repository, where it is one. */
  readonly gguf?: string;
  readonly licence?: string;
  readonly parameters?: number;
  /** Sent to the hub with each file; the catalogue's public models need none. */
  readonly withToken: boolean;
}

/** Downloads nothing but the listing. Throws what `askHub` and `neededFiles` throw, and `permission` for a gated one. */
export async function findOnHub(
  id: HubId,
  options: { readonly network?: NetworkOptions; readonly signal?: AbortSignal } = {},
): Promise<HubCheckpoint> {
  const { network = {}, signal } = options;
  const listing = await askHub(id, network, signal);
  const { repository, commit, gated, licence, parameters } = listing;
  const { files, gguf } = neededFiles(id.repository, listing.files, id.file);
  if (gated && !bearerOf(network)) throw gatedError(repository, network);
  return {
    kind: 'hub',
    host: hubName(network),
    repository,
    commit,
    files: files.map(({ path, bytes, digest }) => {
      if (digest) return { path, bytes, digest };
      throw new LongviewError(
        'unsupported',
        `${repository}: ${hubName(network)} gives no hash of ${path}, so it can't be checked.`,
      );
    }),
    ...(gguf !== undefined && { gguf }),
    ...(licence !== undefined && { licence }),
    ...(parameters !== undefined && { parameters }),
    withToken: true,
  };
}

/** Bytes that come over the network. */
export function hubBytesOf({ files }: Pick<HubCheckpoint, 'files'>): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

/** Where exactly it comes from, for the manifest. */
export function hubOriginOf({ host, repository, commit, gguf }: HubCheckpoint): string {
  return `https://${host}/${repository} at ${commit}${gguf === undefined ? '' : `, ${gguf}`}`;
}

export interface HubDownloadOptions {
  /** Holds this checkpoint alone: whatever else is in it is deleted. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly network?: NetworkOptions;
  /** Bytes that the disk must have room for beside the download. */
  readonly alsoNeeded?: number;
}

/** Bytes of a parameter in an installed model, embedding and scales included, about (SmolLM2-135M as q4: 1.74, as q8: 2.03). */
const DISK_BYTES: Readonly<Record<string, number>> = { f32: 4, f16: 2.1, q8: 2.1, q4: 1.8 };

/** Of the installed model, about. Without a count of parameters: as if the weights had 2 bytes each, a GGUF 1. */
export function estimatedDiskBytes({ parameters, files, gguf }: HubCheckpoint, quantisation: string): number {
  const count = parameters ?? hubBytesOf({ files }) / (gguf === undefined ? 2 : 1);
  return Math.ceil(count * (DISK_BYTES[quantisation] ?? 4)) + (4 << 20);
}

/**
 * Path of what the converter opens: the folder, or the GGUF in it. What is there already is checked, not fetched again.
 * Throws `disk-full` before anything is asked, and what `download` throws.
 */
export async function downloadFromHub(checkpoint: HubCheckpoint, options: HubDownloadOptions): Promise<string> {
  const { folder, signal, onProgress, network = {}, alsoNeeded = 0 } = options;
  const { repository, commit, gguf } = checkpoint;
  const files = checkpoint.files.map(file => ({ ...file, name: file.path.split('/').at(-1)! }));
  await mkdir(folder, { recursive: true });
  await dropStrangers(folder, new Set(files.flatMap(({ name }) => [name, `${name}.part`, `${name}.part.tag`])));
  const total = hubBytesOf(checkpoint);
  let there = 0;
  for (const { name } of files) {
    there += Math.max(0, await sizeOf(join(folder, name)), await sizeOf(join(folder, `${name}.part`)));
  }
  await checkSpace(folder, Math.max(0, total - there) + alsoNeeded, `Installing ${repository}`);
  const address = hubAddress(network);
  const bearer = checkpoint.withToken ? bearerOf(network) : undefined;
  let before = 0;
  for (const { path, name, bytes, digest } of files) {
    const start = before;
    await download(
      {
        url: `${address}/${repository}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`,
        path: join(folder, name),
        bytes,
        digest,
        label: `${repository}/${path}`,
        onProgress: ({ done }) =>
          onProgress?.({ task: `Downloading ${repository}`, done: start + done, total, unit: 'bytes', item: name }),
        explain: answer =>
          answer.host === new URL(address).host && [401, 403].includes(answer.status)
            ? refusal(answer, { repository, revision: commit }, network)
            : undefined,
      },
      { ...network, signal, bearer },
    );
    before += bytes;
  }
  return gguf === undefined ? folder : join(folder, gguf.split('/').at(-1)!);
}

/** Other versions' files would be taken for parts of this one, and a link could lead out of the folder. */
async function dropStrangers(folder: string, mine: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!mine.has(name) || !(await lstat(path)).isFile()) await rm(path, { recursive: true, force: true });
  }
}
