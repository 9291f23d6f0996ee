/**
 * Reads one text file: its bytes once, their hash, their text, in steps of a megabyte between which other work goes on. A
 * file that changes meanwhile is read again. Never reads anything but a regular file and never follows a link out of a given
 * folder.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { textOf } from './whole-text.js';

export interface ReadOptions {
  /** Longer files fail with `too large`. 50 MB if not given. */
  readonly maxBytes?: number;
  /** Real path of a folder the file must lie in, links resolved; else it fails with `outside workspace`. */
  readonly within?: string;
}

export interface ReadBytes {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, 64 hex digits. */
  readonly hash: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
}

export interface ReadText {
  /** Without a byte order mark; lines end with `\n` or `\r\n`: a `\r` alone, which editors show as a line end, is a `\n`. */
  readonly text: string;
  /** SHA-256 of the file's bytes, mark included, 64 hex digits. */
  readonly hash: string;
  /** `utf-8`, `utf-16le`, `utf-16be`, or a name that iconv knows. */
  readonly encoding: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
}

export const MOST_FILE_BYTES = 50_000_000;
/** Never waits at a pipe that stands where a file was. */
export const OPEN_FLAGS = constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NONBLOCK);
const ATTEMPTS = 4;
const WAIT_MS = 25;
/** Bytes that are read and hashed at once. */
const STEP_BYTES = 1 << 20;

/** The file's text. Reasons: those of `readBytes`, `binary`, `encoding`. */
export async function readText(absolutePath: string, options: ReadOptions = {}): Promise<Result<ReadText>> {
  const read = await readBytes(absolutePath, options);
  if (!read.ok) return read;
  const { bytes, hash, size, mtimeMs } = read.value;
  const found = await textOf(bytes);
  return typeof found === 'string' ? failed(found) : ok({ ...found, hash, size, mtimeMs });
}

/**
 * The file's bytes as they were at one moment. Reasons: `unreadable`, `too large`, `outside workspace`, or `changing` if it
 * was written to at every attempt.
 */
export async function readBytes(absolutePath: string, options: ReadOptions = {}): Promise<Result<ReadBytes>> {
  const maxBytes = options.maxBytes ?? MOST_FILE_BYTES;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await sleep(WAIT_MS * attempt);
    try {
      const path = options.within === undefined ? absolutePath : await realpath(absolutePath);
      if (options.within !== undefined && !isInside(path, options.within)) return failed('outside workspace');
      const read = await readOnce(path, maxBytes);
      if (read !== 'changed') return read;
    } catch {
      return failed('unreadable');
    }
  }
  return failed('changing');
}

/** True if `path` is `folder` or lies in it. Both are real paths. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function readOnce(path: string, maxBytes: number): Promise<Result<ReadBytes> | 'changed'> {
  const file = await open(path, OPEN_FLAGS);
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return failed('unreadable');
    const size = Number(before.size);
    if (size > maxBytes) return failed('too large');
    const read = await readUpTo(file, size);
    const after = await file.stat({ bigint: true });
    const same = after.size === before.size && after.mtimeNs === before.mtimeNs && after.ctimeNs === before.ctimeNs;
    return read && same ? ok({ ...read, size, mtimeMs: milliseconds(before.mtimeNs) }) : 'changed';
  } finally {
    await file.close();
  }
}

/** The number that `stat` calls `mtimeMs`, to the last bit, so that rows of the walk can be compared with it. */
function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000_000n) * 1000 + Number(nanoseconds % 1_000_000_000n) / 1_000_000;
}

/** Exactly `size` bytes and their hash, or `undefined` if the file has fewer or more. */
async function readUpTo(file: FileHandle, size: number): Promise<Pick<ReadBytes, 'bytes' | 'hash'> | undefined> {
  const bytes = Buffer.allocUnsafe(size + 1);
  const hash = createHash('sha256');
  let length = 0;
  while (length < bytes.byteLength) {
    const { bytesRead } = await file.read(bytes, length, Math.min(STEP_BYTES, bytes.byteLength - length), length);
    if (bytesRead === 0) break;
    length += bytesRead;
    if (length <= size) hash.update(bytes.subarray(length - bytesRead, length));
  }
  return length === size ? { bytes: bytes.subarray(0, size), hash: hash.digest('hex') } : undefined;
}
