/** In which order files are read: what explains the rest comes first. Never reads and never drops a file. */
import { posix } from 'node:path';

export interface OrderOptions {
  /** Paths to put in front, in this order: open and recently changed files. */
  readonly first?: readonly string[];
}

const README = /^readme(\.|$)/i;
const DOC_NAME = /\.(md|mdx|markdown|rst|adoc|asciidoc|org)$/i;
const DOC_FOLDER = /(^|\/)docs?\//i;

/** A new array: `first`, then READMEs, then documents (both from the top down), then by folder; small ones first in each. */
export function orderForReading<T extends { readonly path: string; readonly size: number }>(
  files: readonly T[],
  options: OrderOptions = {},
): T[] {
  const front = new Map(options.first?.map((path, at) => [path, at]));
  const keyed = files.map(file => {
    const rank = rankOf(file.path, front.has(file.path));
    const folder = posix.dirname(file.path);
    return { file, rank, at: front.get(file.path) ?? 0, depth: rank < 3 ? depthOf(file.path) : 0, folder };
  });
  keyed.sort(
    (a, b) =>
      a.rank - b.rank ||
      a.at - b.at ||
      a.depth - b.depth ||
      byCodeUnit(a.folder, b.folder) ||
      a.file.size - b.file.size ||
      byCodeUnit(a.file.path, b.file.path),
  );
  return keyed.map(({ file }) => file);
}

/** 0: asked for, 1: README, 2: document, 3: the rest. */
function rankOf(path: string, isFirst: boolean): number {
  if (isFirst) return 0;
  if (README.test(posix.basename(path))) return 1;
  return DOC_NAME.test(path) || DOC_FOLDER.test(path) ? 2 : 3;
}

function depthOf(path: string): number {
  return path.split('/').length;
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
