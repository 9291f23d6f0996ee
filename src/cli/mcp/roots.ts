/**
 * The folders that an MCP client may ask about: those named on the command line, else the client's own roots. Every path of
 * a request is held against them after symbolic links are followed. Never tells whether a path outside exists.
 */
import { realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LongviewError } from '../../base/index.js';

export class Roots {
  private known: Promise<readonly string[]> | undefined;

  /** `given` are real absolute paths; `fromClient` gives URIs and is asked only where nothing was given. */
  constructor(
    private readonly given: readonly string[],
    private readonly fromClient: () => Promise<readonly string[]>,
  ) {}

  all(): Promise<readonly string[]> {
    if (this.given.length > 0) return Promise.resolve(this.given);
    this.known ??= this.fromClient().then(foldersOf);
    this.known.catch(() => this.forget());
    return this.known;
  }

  /** The client's roots have changed. */
  forget(): void {
    this.known = undefined;
  }

  /** The root that is meant: the one that a path or `file:` URI lies in, that has the name, or the only one. */
  async rootOf(folder: string | undefined): Promise<string> {
    const roots = await this.all();
    if (roots.length === 0) {
      throw new LongviewError('usage', 'No folder is open: start it as `longview mcp DIR`, or give the client a root.');
    }
    if (folder === undefined) {
      if (roots.length === 1) return roots[0]!;
      throw new LongviewError('usage', `There are several folders, so name one in "folder": ${roots.join(', ')}`);
    }
    const named = roots.filter(root => basename(root) === folder);
    if (named.length === 1) return named[0]!;
    const path = pathOf(folder);
    const real = isAbsolute(path) ? await realpath(path).catch(() => undefined) : undefined;
    // The innermost one, where roots lie in one another.
    const around = roots.filter(root => real !== undefined && isWithin(root, real));
    const found = around.sort((a, b) => b.length - a.length)[0];
    if (found !== undefined) return found;
    throw new LongviewError('usage', `${folder} is outside of what may be asked about: ${roots.join(', ')}`);
  }
}

/** A path of a request, relative to the root with `/` (empty for the root itself), and whether it is a folder. */
export async function pathWithin(root: string, path: string): Promise<{ path: string; isFolder: boolean }> {
  const outside = new LongviewError('usage', `${path} is not a file or folder inside ${root}`);
  const real = await realpath(resolve(root, pathOf(path))).catch(() => undefined);
  if (real === undefined || !isWithin(root, real)) throw outside;
  return { path: relative(root, real).split(sep).join('/'), isFolder: (await stat(real)).isDirectory() };
}

function isWithin(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside));
}

function pathOf(text: string): string {
  if (!text.startsWith('file:')) return text;
  try {
    return fileURLToPath(text);
  } catch {
    return text;
  }
}

/** Real paths of those URIs that are folders on this disk. */
async function foldersOf(uris: readonly string[]): Promise<readonly string[]> {
  const folders: string[] = [];
  for (const uri of uris) {
    if (!uri.startsWith('file:')) continue;
    const path = await realpath(pathOf(uri)).catch(() => undefined);
    if (path !== undefined && (await stat(path)).isDirectory() && !folders.includes(path)) folders.push(path);
  }
  return folders;
}
