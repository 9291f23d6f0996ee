/**
 * Exact reads from one open file. Never maps or holds the file; never reads past its end. Messages name the file only
 * by its base name.
 */
import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { LongviewError, messageOf } from '../../base/index.js';

export class ByteSource {
  private constructor(
    private readonly handle: FileHandle,
    readonly path: string,
    /** Bytes. */
    readonly size: number,
  ) {}

  /** Throws `not-found` for anything that is not a readable file. */
  static async open(path: string): Promise<ByteSource> {
    let handle: FileHandle;
    try {
      // Before it is opened: opening a pipe waits for someone to write to it.
      if (!(await stat(path)).isFile()) throw new LongviewError('usage', `${path} is not a file.`);
      handle = await open(path, 'r');
    } catch (error) {
      if (error instanceof LongviewError) throw error;
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') throw new LongviewError('not-found', `There is no file ${path}.`, { cause: error });
      throw new LongviewError('permission', `Cannot open ${path} (${code ?? 'unknown'}).`, { cause: error });
    }
    try {
      return new ByteSource(handle, path, (await handle.stat()).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get name(): string {
    return basename(this.path);
  }

  /** An error that names the file. */
  bad(reason: string): LongviewError {
    return new LongviewError('bad-format', `${this.name}: ${reason}.`);
  }

  /** Bytes `offset` to `offset + length`; throws `bad-format` where the file ends before. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    if (offset < 0 || length < 0 || offset + length > this.size) {
      throw this.bad(`ends at byte ${this.size}, but ${length} bytes are wanted at ${offset}`);
    }
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.handle.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) throw this.bad(`became shorter while it was read (byte ${offset + done})`);
      done += bytesRead;
    }
    return bytes;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** The whole of a small text file; throws `not-found` or `bad-format`. `limit` in bytes. */
export async function readSmallText(path: string, limit: number): Promise<string> {
  const source = await ByteSource.open(path);
  try {
    if (source.size > limit) throw source.bad(`has ${source.size} bytes, more than ${limit}`);
    return new TextDecoder().decode(await source.read(0, source.size));
  } finally {
    await source.close();
  }
}

/** As `readSmallText`, as JSON object. */
export async function readJsonObject(path: string, limit: number): Promise<Record<string, unknown>> {
  const bad = (reason: string) => new LongviewError('bad-format', `${basename(path)}: ${reason}.`);
  const text = await readSmallText(path, limit);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(`is not JSON (${messageOf(error)})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('is not a JSON object');
  return value as Record<string, unknown>;
}
