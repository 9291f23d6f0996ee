/**
 * Takes exported memories into a store: all of them are checked to their last byte before the first is written. Writes
 * memories alone, each under the key that its own path and content give: which files stand on them is found out from the
 * disk afterwards. A memory that is there already stays. Never reads the workspace's files.
 */
import { basename } from 'node:path';
import { LongviewError, quoted, throwIfCancelled } from '../../base/index.js';
import { GiveWay } from '../give-way.js';
import type { FileMemory, MemoryKey, Store } from '../store/index.js';
import type { WorkOptions } from '../workspace-memory.js';
import type { ExportHead } from './export-file.js';
import { readExport, sizeOfExport, type OnMemory } from './read-export.js';
import type { KnownModel } from './portable.js';

/** Whose memories fit. */
export interface ImportTarget {
  /** Of the model that will use them. Absent where there is none yet. */
  readonly model: KnownModel | undefined;
  /** `readingSettings` here, of files that are their own text. */
  readonly settings: string;
}

export interface ImportCounts {
  /** Files of the workspace that the exports hold; one that is in two counts twice. */
  readonly files: number;
  /** Memories that were not there yet. */
  readonly added: number;
  readonly known: number;
}

/** A transaction ends after so many bytes. */
const BYTES_AT_A_TIME = 8_000_000;

/** Throws as `readExport` does, and `unsupported` where model or settings are others. */
export async function checkExports(
  paths: readonly string[],
  target: ImportTarget,
  options: WorkOptions,
): Promise<void> {
  await readAll('Checking', paths, target, options, () => undefined);
}

/** After `checkExports`. A file that is damaged since ends it the same way, and what was written before that stays. */
export async function putExports(
  paths: readonly string[],
  target: ImportTarget,
  store: Store,
  options: WorkOptions,
): Promise<ImportCounts> {
  const counts = { added: 0, known: 0 };
  const others = new GiveWay();
  let waiting: [MemoryKey, FileMemory][] = [];
  let waitingBytes = 0;
  const write = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    waitingBytes = 0;
    await store.batch(writer => batch.forEach(([key, memory]) => writer.putMemory(key, memory)));
  };
  const files = await readAll('Importing', paths, target, options, async (memory, key, bytes) => {
    await others.step();
    // One that is damaged is replaced.
    if (store.getMemory(key)?.ok) {
      counts.known++;
      return;
    }
    counts.added++;
    waiting.push([key, memory]);
    waitingBytes += bytes;
    if (waitingBytes >= BYTES_AT_A_TIME) await write();
  });
  if (waiting.length > 0) await write();
  return { files, ...counts };
}

/** Gives the number of their files. */
async function readAll(
  task: string,
  paths: readonly string[],
  target: ImportTarget,
  { signal, onProgress }: WorkOptions,
  onMemory: OnMemory,
): Promise<number> {
  const sizes: number[] = [];
  for (const path of paths) sizes.push(await sizeOfExport(path));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let files = 0;
  let before = 0;
  for (const [at, path] of paths.entries()) {
    throwIfCancelled(signal);
    const onBytes = (bytes: number): void => onProgress?.({ task, done: before + bytes, total, unit: 'bytes' });
    const onHead = (head: ExportHead): void => mustFit(basename(path), head, target);
    const end = await readExport(path, { onHead, onBytes, shape: target.model?.shape, signal }, onMemory);
    files += end.files;
    before += sizes[at]!;
  }
  return files;
}

function mustFit(name: string, head: ExportHead, { model, settings }: ImportTarget): void {
  const made = `${name} was made by the model ${quoted(head.model.name)}`;
  const get = 'get that one (see `longview model list`) and choose it, or read the folder instead';
  if (!model) throw new LongviewError('not-found', `${made}, and no model is installed here: ${get}.`);
  if (head.model.fingerprint !== model.fingerprint) {
    const here = model.name === undefined ? 'another one' : model.name;
    const known = [head.model.fingerprint, model.fingerprint]
      .map(fingerprint => fingerprint.slice(0, 8))
      .join(', not ');
    throw new LongviewError('unsupported', `${made}, and ${here} is in use here (${known}): ${get}.`);
  }
  if (head.settings !== settings) {
    const differ = `${quoted(head.settings)}, not ${quoted(settings)}`;
    throw new LongviewError(
      'unsupported',
      `${name} was read with other settings (${differ}): read the folder instead.`,
    );
  }
}
