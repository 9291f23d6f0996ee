/** `longview forget`: removes one file, or everything, from the memory of a folder. The files themselves stay. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { coverageLine } from '../../assist/index.js';
import { LongviewError, escaped } from '../../base/index.js';
import { forgetGone, hasMemory, type Coverage } from '../../memory/index.js';
import { dataOf, folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';
import type { Surface } from '../surface.js';

export interface ForgetFlags extends GlobalFlags {
  readonly all?: boolean;
}

export async function runForget(call: Call, dir: string, path: string | undefined, flags: ForgetFlags): Promise<void> {
  const { surface, signal } = call;
  if ((path === undefined) !== (flags.all ?? false) || path === '') {
    throw new LongviewError('usage', 'Name one file to forget, or --all.');
  }
  const gone = path === undefined ? goneFolder(dir, dataOf(flags)) : undefined;
  if (gone !== undefined) {
    tell(surface, undefined, await forgetGone(dataOf(flags), gone, surface.log), flags);
    return;
  }
  const root = folderOf(dir);
  const file = path === undefined ? undefined : relativeTo(root, path);
  await withHouse(call, root, flags, async ({ memory }) => {
    const options = { signal, onProgress: surface.progress };
    const coverage = await (file === undefined ? memory.forgetAll() : memory.forget(file, options));
    tell(surface, file, coverage, flags);
  });
}

function tell(surface: Surface, file: string | undefined, coverage: Coverage, { json }: ForgetFlags): void {
  if (json) surface.json({ forgotten: file ?? null, coverage });
  else surface.out(`Forgot ${file === undefined ? 'everything' : escaped(file)}. ${coverageLine(coverage)}\n`);
}

/** Where a folder that is remembered lay before it was deleted; undefined for any other. */
function goneFolder(dir: string, data: string): string | undefined {
  const path = resolve(dir);
  if (dir === '' || existsSync(path)) return undefined;
  let above = dirname(path);
  while (!existsSync(above) && above !== dirname(above)) above = dirname(above);
  const root = join(realpathSync(above), relative(above, path));
  return hasMemory(data, root) ? root : undefined;
}

/** The memory's form of a path: relative to the folder, with `/`. */
function relativeTo(root: string, path: string): string {
  const inside = isAbsolute(path) ? relative(root, path) : path;
  return inside.split(sep).join('/').replace(/^\.\//, '');
}
