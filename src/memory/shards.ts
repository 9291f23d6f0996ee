/**
 * Which files of a folder each of several machines reads. A function of the folder's files and their sizes alone: all
 * machines that have the same files come to the same shards. Never reads files.
 */

/** `index` counts from 1. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The largest file first, each to the shard that has the least so far: shards of nearly equal bytes. */
export function pathsOfShard(
  files: readonly { readonly path: string; readonly size: number }[],
  { index, count }: Shard,
): ReadonlySet<string> {
  const ordered = [...files].sort((a, b) => b.size - a.size || (a.path < b.path ? -1 : 1));
  const bytes = new Array<number>(count).fill(0);
  const paths = new Set<string>();
  for (const { path, size } of ordered) {
    let least = 0;
    for (let shard = 1; shard < count; shard++) if (bytes[shard]! < bytes[least]!) least = shard;
    bytes[least]! += size;
    if (least === index - 1) paths.add(path);
  }
  return paths;
}
