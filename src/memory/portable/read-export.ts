/**
 * Reads an exported memory (`export-file.ts`) from its beginning to its end, envelope after envelope, and checks all that can
 * be checked: nothing it says is trusted, and it holds one memory at a time. Never writes anything and never uses a path.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { LongviewError, codeOf, messageOf, quoted, throwIfCancelled, type Result } from '../../base/index.js';
import { FRAME_HEADER_BYTES, FrameKind, frameHead } from '../store/frame.js';
import { decodeFileMemory, fileMemoryKey, type FileMemory, type MemoryKey } from '../store/index.js';
import {
  EXPORT_VERSION,
  isReadable,
  MOST_BYTES,
  contentsOf,
  decodeEnd,
  decodeFile,
  decodeHead,
  type ExportEnd,
  type ExportHead,
} from './export-file.js';
import { faultOf, shapeOf, type MemoryShape } from './sound-memory.js';

export interface ReadExportOptions {
  /** Throws where the head does not fit: called before anything else is looked at. */
  readonly onHead: (head: ExportHead) => void;
  /** Bytes read so far, after each envelope. */
  readonly onBytes?: (bytes: number) => void;
  /** The model's, where it is known. */
  readonly shape?: MemoryShape;
  readonly signal?: AbortSignal;
}

/** A memory that was checked, its key, and the bytes of its envelope. */
export type OnMemory = (memory: FileMemory, key: MemoryKey, bytes: number) => void | Promise<void>;

/** Its size in bytes. Throws where it cannot be read. */
export async function sizeOfExport(path: string): Promise<number> {
  const file = await openExport(path);
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/**
 * Calls `onMemory` for each memory that was checked; gives what stands at the end. Throws a `LongviewError` that names the file and the reason:
 * `bad-format` (damaged, cut off, not an export), `unsupported` (another version), or what the disk says.
 */
export async function readExport(path: string, options: ReadExportOptions, onMemory: OnMemory): Promise<ExportEnd> {
  const file = await openExport(path);
  try {
    return await readAll(new Envelopes(file, (await file.stat()).size, path), options, onMemory);
  } catch (error) {
    throw error instanceof LongviewError ? error : readError(error, path);
  } finally {
    await file.close();
  }
}

async function readAll(envelopes: Envelopes, options: ReadExportOptions, onMemory: OnMemory): Promise<ExportEnd> {
  const next = async (): Promise<Uint8Array> => {
    throwIfCancelled(options.signal);
    const bytes = await envelopes.next();
    options.onBytes?.(envelopes.position);
    return bytes;
  };
  const head = envelopes.value('its head', decodeHead(await next()));
  options.onHead(head);
  let { shape } = options;
  let [files, memories] = [0, 0];
  let before: Buffer | undefined;
  for (;;) {
    const sha256 = envelopes.digest();
    const bytes = await next();
    if (envelopes.kind === FrameKind.exportEnd) {
      const end = envelopes.value('its end', decodeEnd(bytes));
      if (end.sha256 !== sha256) envelopes.refuse('its hash is another');
      if (end.files !== files || end.memories !== memories) envelopes.refuse('its counts are others');
      if (!envelopes.isAtEnd) envelopes.refuse('it goes on after its end');
      return end;
    }
    const file = envelopes.value('a file', decodeFile(bytes));
    const name = Buffer.from(file.path);
    if (before && Buffer.compare(before, name) >= 0) envelopes.refuse('its files are out of order');
    before = name;
    for (const content of contentsOf(file)) {
      const framed = await next();
      const memory = envelopes.value(`the memory of ${quoted(file.path)}`, decodeFileMemory(framed));
      const fault =
        memory.path === file.path && memory.contentHash.startsWith(content)
          ? faultOf(memory, framed.byteLength, shape)
          : 'of another file';
      if (fault !== undefined) envelopes.refuse(`the memory of ${quoted(file.path)} is ${fault}`);
      shape = shapeOf(memory);
      const { settings = head.settings } = file;
      const key = fileMemoryKey({ ...memory, model: head.model.fingerprint, settings });
      await onMemory(memory, key, framed.byteLength);
      memories++;
    }
    files++;
  }
}

/** The envelopes of one file, one after another. */
class Envelopes {
  /** Of the envelope read last. */
  kind = 0;
  position = 0;
  private readonly hash = createHash('sha256');
  private readonly head = new Uint8Array(FRAME_HEADER_BYTES);

  constructor(
    private readonly file: FileHandle,
    private readonly size: number,
    private readonly path: string,
  ) {}

  get isAtEnd(): boolean {
    return this.position === this.size;
  }

  async next(): Promise<Uint8Array> {
    const left = this.size - this.position;
    if (left < FRAME_HEADER_BYTES) this.refuse(left === 0 ? 'it ends too early' : 'it is cut off');
    await this.fill(this.head, 0);
    const head = frameHead(this.head);
    if (!head.ok) this.refuse(this.position === 0 ? 'it is no exported memory' : head.reason);
    const { kind, payloadVersion, length } = head.value;
    if (this.position === 0 && kind === FrameKind.exportHead && !isReadable(payloadVersion)) {
      const advice = 'export it with this version, or update.';
      throw new LongviewError(
        'unsupported',
        `${basename(this.path)} has version ${payloadVersion} of the format, not ${EXPORT_VERSION}: ${advice}`,
      );
    }
    const most = (MOST_BYTES as Readonly<Record<number, number>>)[kind] ?? 0;
    if (length > most) this.refuse(`it holds something that does not belong there (kind ${kind}, ${length} bytes)`);
    if (length > left) this.refuse('it is cut off');
    const bytes = new Uint8Array(length);
    bytes.set(this.head);
    await this.fill(bytes, FRAME_HEADER_BYTES);
    this.hash.update(bytes);
    this.kind = kind;
    this.position += length;
    return bytes;
  }

  /** SHA-256 of all bytes so far, hex. */
  digest(): string {
    return this.hash.copy().digest('hex');
  }

  value<T>(what: string, result: Result<T>): T {
    if (!result.ok) this.refuse(`${what} is damaged (${result.reason})`);
    return result.value;
  }

  refuse(reason: string): never {
    throw new LongviewError('bad-format', `${basename(this.path)} is not used: ${reason}. Get or export it again.`);
  }

  /** Fills `bytes` from `offset` with what lies there in the file, counted from the envelope's begin. */
  private async fill(bytes: Uint8Array, offset: number): Promise<void> {
    for (let at = offset; at < bytes.byteLength;) {
      const { bytesRead } = await this.file.read(bytes, at, bytes.byteLength - at, this.position + at);
      if (bytesRead === 0) this.refuse('it is cut off');
      at += bytesRead;
    }
  }
}

async function openExport(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    // Never waits at a pipe.
    file = await open(path, constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NONBLOCK));
  } catch (error) {
    throw readError(error, path);
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new LongviewError('usage', `${path} is no file.`);
}

function readError(error: unknown, path: string): LongviewError {
  const code = codeOf(error);
  const message = code === 'not-found' ? `There is no file ${path}` : `Could not read ${path}: ${messageOf(error)}`;
  return new LongviewError(code, message, { cause: error });
}
