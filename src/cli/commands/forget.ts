/** `longview forget`: removes one file, or everything, from the memory of a folder. The files themselves stay. */
import { isAbsolute, relative, sep } from 'node:path';
import { coverageLine } from '../../assist/index.js';
import { LongviewError, escaped } from '../../base/index.js';
import { folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';

export interface ForgetFlags extends GlobalFlags {
  readonly all?: boolean;
}

export async function runForget(call: Call, dir: string, path: string | undefined, flags: ForgetFlags): Promise<void> {
  const { surface, signal } = call;
  if ((path === undefined) !== (flags.all ?? false) || path === '') {
    throw new LongviewError('usage', 'Name one file to forget, or --all.');
  }
  const root = folderOf(dir);
  const file = path === undefined ? undefined : relativeTo(root, path);
  await withHouse(call, root, flags, async ({ memory }) => {
    const options = { signal, onProgress: surface.progress };
    const coverage = await (file === undefined ? memory.forgetAll() : memory.forget(file, options));
    if (flags.json) surface.json({ forgotten: file ?? null, coverage });
    else surface.out(`Forgot ${file === undefined ? 'everything' : escaped(file)}. ${coverageLine(coverage)}\n`);
  });
}

/** The memory's form of a path: relative to the folder, with `/`. */
function relativeTo(root: string, path: string): string {
  const inside = isAbsolute(path) ? relative(root, path) : path;
  return inside.split(sep).join('/').replace(/^\.\//, '');
}
