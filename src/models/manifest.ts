/**
 * `model.json` of an installed model, as far as this room needs it; the converter writes it, last of all files, so a
 * folder that has one is complete. What else is in it is kept as it is.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LongviewError } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { isModelName } from './catalogue.js';
import { sha256Of, sizeOf } from './files.js';

export const MANIFEST_FILE = 'model.json';

const manifestFile = z.looseObject({
  format: z.literal(7),
  name: z.string().refine(isModelName, 'no model name'),
  origin: z.string(),
  licence: z.string(),
  /** Digest of everything that decides what the model computes: part of every memory's key. */
  fingerprint: z.string().min(1),
  quantisation: z.string(),
  architecture: z
    .looseObject({
      family: z.string(),
      layers: z.number(),
      kvmLayers: z.number().optional(),
      heads: z.number().optional(),
      keyHeads: z.number(),
      headSize: z.number(),
    })
    .optional(),
  recall: z.looseObject({ heads: z.array(z.unknown()) }).optional(),
  verification: z.looseObject({ difference: z.number(), tolerance: z.number() }).optional(),
  files: z.array(
    z.object({
      name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/),
      bytes: z.number().int().nonnegative(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

export type ModelManifest = z.infer<typeof manifestFile>;

/** Throws `not-found` where there is none, `bad-format` where it cannot be used. */
export async function readModelManifest(folder: string): Promise<ModelManifest> {
  const path = join(folder, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new LongviewError('not-found', `There is no model in ${folder}.`, { cause: error });
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new LongviewError('bad-format', `${path} is not JSON: remove the model and add it again.`, { cause: error });
  }
  const parsed = manifestFile.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue?.path[0] === 'format') {
    throw new LongviewError(
      'bad-format',
      `The model in ${folder} was made by another version of Longview: add or convert it again.`,
    );
  }
  throw new LongviewError(
    'bad-format',
    `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}. Remove the model and add it again.`,
  );
}

/** Writes another licence into the manifest of an installed model: no memory and no check depends on it. */
export async function writeLicence(folder: string, licence: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  const draft = `${path}.part-${process.pid}`;
  const manifest = { ...(await readModelManifest(folder)), licence };
  await writeFile(draft, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(draft, path);
}

/** Throws `bad-format` where a file is missing or has another size: what a look at the folder tells, without reading it. */
export async function checkSizes(folder: string, manifest: ModelManifest): Promise<void> {
  for (const { name, bytes } of manifest.files) {
    const size = await sizeOf(join(folder, name));
    if (size === bytes) continue;
    const found = size < 0 ? 'is missing' : `has ${size} bytes, not ${bytes}`;
    throw new LongviewError(
      'bad-format',
      `Model ${manifest.name}: ${name} ${found}. Remove the model and add it again.`,
    );
  }
}

export interface VerifyOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

/** Holds every file against the manifest. Throws `bad-format` (missing, another size), `hash-mismatch` or `cancelled`. */
export async function verifyFiles(folder: string, manifest: ModelManifest, options: VerifyOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  await checkSizes(folder, manifest);
  const total = bytesOf(manifest);
  let done = 0;
  for (const { name, sha256 } of manifest.files) {
    const onBytes = (bytes: number): void => {
      done += bytes;
      onProgress?.({ task: `Checking ${manifest.name}`, done, total, unit: 'bytes', item: name });
    };
    if ((await sha256Of(join(folder, name), { signal, onBytes })) !== sha256) {
      throw new LongviewError(
        'hash-mismatch',
        `Model ${manifest.name}: ${name} was changed. Remove the model and add it again.`,
      );
    }
  }
}

/** Bytes of a model's files. */
export function bytesOf({ files }: ModelManifest): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}
