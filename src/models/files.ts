/** Digests, sizes and free space of files. Never writes. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError } from '../base/index.js';

/** What a file's content must come to; `git-blob` is the SHA-1 that git names a small file by. */
export interface Digest {
  readonly kind: 'sha256' | 'git-blob';
  readonly hex: string;
}

export interface DigestOptions {
  readonly signal?: AbortSignal;
  /** Told the bytes of each part. */
  readonly onBytes?: (bytes: number) => void;
}

/** SHA-256 in hex, streamed. */
export function sha256Of(path: string, options: DigestOptions = {}): Promise<string> {
  return digestOf(path, 'sha256', options);
}

/** In hex, streamed. Throws `cancelled`, and what the file system throws. */
export async function digestOf(
  path: string,
  kind: Digest['kind'],
  { signal, onBytes }: DigestOptions = {},
): Promise<string> {
  const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1');
  if (kind === 'git-blob') hash.update(`blob ${(await stat(path)).size}\0`);
  try {
    for await (const chunk of createReadStream(path, { signal, highWaterMark: 1 << 20 })) {
      hash.update(chunk as Buffer);
      onBytes?.((chunk as Buffer).length);
    }
  } catch (error) {
    if (signal?.aborted) throw new LongviewError('cancelled', 'Cancelled.', { cause: error });
    throw error;
  }
  return hash.digest('hex');
}

/** Bytes of a file, or -1 where there is none. */
export async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : -1;
}

/** Bytes of all files under a folder; files that vanish meanwhile count nothing. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let total = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) total += await folderBytes(path);
    else total += Math.max(0, await sizeOf(path));
  }
  return total;
}

/** Room that stays free beside what is written. */
const MARGIN = 64 << 20;

/** Throws `disk-full` where `bytes` more would not fit on the disk of `folder`, which exists. */
export async function checkSpace(folder: string, bytes: number, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes + MARGIN) return;
  const megabytes = (value: number) => `${Math.ceil(value / 1e6)} MB`;
  throw new LongviewError(
    'disk-full',
    `${what} needs ${megabytes(bytes + MARGIN)}, but ${folder} has ${megabytes(bavail * bsize)} free: make room, or set LONGVIEW_DATA to another disk.`,
  );
}
