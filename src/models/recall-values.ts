/** Gives an installed model other recall heads and values. Never fits or judges them. */
import { createHash } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LongviewError } from '../base/index.js';
import { withLock } from './lock.js';
import { MANIFEST_FILE, readModelManifest } from './manifest.js';
import type { ModelManifest } from './manifest.js';

const VALUES_FILE = 'recall.safetensors';

/** What the manifest keeps of them; more fields are kept as they are. */
export interface RecallEntry {
  /** [layer, query head] of each. */
  readonly heads: readonly (readonly [number, number])[];
}

/**
 * Writes the values and, last, the manifest; what fails before that leaves the model as it was. Memories hold the keys that
 * the heads read: where these change, so does the fingerprint, and folders are read again. Gives whether they do.
 */
export async function writeRecall(
  folder: string,
  recall: RecallEntry,
  values: Uint8Array,
  signal?: AbortSignal,
): Promise<{ readonly readsAgain: boolean }> {
  return withLock(join(dirname(folder), `${basename(folder)}.lock`), { signal }, async () => {
    const manifest = await readModelManifest(folder);
    const before = await readFile(join(folder, VALUES_FILE)).catch(() => undefined);
    const keys = keysRead(manifest, recall.heads);
    const readsAgain = keys !== keysRead(manifest, manifest.recall?.heads as RecallEntry['heads'] | undefined);
    const entry = { name: VALUES_FILE, bytes: values.length, sha256: digest(values) };
    const changed: ModelManifest = {
      ...manifest,
      recall: { ...recall, heads: [...recall.heads] },
      ...(readsAgain && { fingerprint: digest(`${manifest.fingerprint} ${keys}`) }),
      files: [...manifest.files.filter(({ name }) => name !== VALUES_FILE), entry],
    };
    await replaceFile(join(folder, VALUES_FILE), values);
    try {
      await replaceFile(join(folder, MANIFEST_FILE), `${JSON.stringify(changed, null, 1)}\n`);
    } catch (error) {
      if (before) await replaceFile(join(folder, VALUES_FILE), before);
      throw error;
    }
    return { readsAgain };
  });
}

/** The distinct key heads that these query heads read, in the order in which recall slots keep them. */
function keysRead({ architecture, name }: ModelManifest, heads: RecallEntry['heads'] = []): string {
  const { heads: queryHeads, keyHeads } = architecture ?? {};
  if (queryHeads === undefined || keyHeads === undefined) {
    throw new LongviewError(
      'bad-format',
      `Model ${name} does not say how many heads it has: remove it and add it again.`,
    );
  }
  const keys = heads.map(([layer, head]) => `${layer}.${Math.floor((head * keyHeads) / queryHeads)}`);
  return [...new Set(keys)].join(' ');
}

async function replaceFile(path: string, content: Uint8Array | string): Promise<void> {
  const draft = `${path}.part-${process.pid}`;
  try {
    await writeFile(draft, content, { flush: true });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function digest(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
