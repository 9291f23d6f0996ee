/** The file or folder that the user names, never one that a link inside a workspace leads to outside of it. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { LongviewError, escaped } from '../base/index.js';
import { hasMemory } from '../memory/index.js';

/**
 * The real path of `given`, which exists. `workspaceOf` gives the workspace around a folder. Throws `usage` where a link on the
 * way leads out of the workspace around it.
 */
export function confinedPath(given: string, workspaceOf: (folder: string) => string): string {
  const path = resolve(given);
  const real = realpathSync(path);
  const root = realpathSync(workspaceOf(dirname(path)));
  if (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
  throw new LongviewError(
    'usage',
    `${escaped(given)} leads out of ${escaped(root)} by a symbolic link, to ${escaped(real)}: if you mean that, name it.`,
  );
}

/** The nearest folder, from this one up, that has a memory under `data` or is a repository. */
export function workspaceAround(folder: string, data: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (hasMemory(data, realpathSync(at)) || existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
  }
}
