/**
 * Writes a workspace's memory into one file (`export-file.ts`), memory after memory: it holds one of them at a time. The file
 * appears under its name when it is complete. Never changes the store, and never reads the workspace's files.
 */
import { createHash } from 'node:crypto';
import { lstat, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LongviewError, codeOf, messageOf, systemReason, throwIfCancelled, type ErrorCode } from '../../base/index.js';
import {
  encodeFileMemory,
  isWhole,
  keysOf,
  partsOf,
  tokensOf,
  type LedgerRow,
  type MemoryKey,
  type Store,
} from '../store/index.js';
import type { WorkOptions } from '../workspace-memory.js';
import {
  MOST_BYTES,
  contentOfKey,
  contentsOf,
  encodeEnd,
  encodeFile,
  encodeHead,
  isPortablePath,
  type ExportHead,
  type ExportedFile,
} from './export-file.js';
import { FrameKind } from '../store/frame.js';
import { faultOf } from './sound-memory.js';

export interface ExportSource {
  readonly store: Store;
  /** The ledger as the model sees it. */
  readonly rows: readonly LedgerRow[];
  readonly head: ExportHead;
  /** What keys of a path's memories end with. */
  readonly ending: (path: string) => string;
  /** `readingSettings` of a path. */
  readonly settings: (path: string) => string;
}

export interface ExportOptions extends WorkOptions {
  /** A file of that name is replaced. */
  readonly replace?: boolean;
}

export interface ExportReport {
  readonly files: number;
  readonly tokens: number;
  /** Of the file. */
  readonly bytes: number;
  /** Files that have a memory which cannot be exported: partly read, coarsened, or with a path that not every system has. */
  readonly leftOut: number;
}

/** Throws `usage` where the file is there already; `stale` where a memory is damaged; what the disk says. */
export async function writeExport(source: ExportSource, file: string, options: ExportOptions): Promise<ExportReport> {
  try {
    await mustBeFree(file, options);
    await removeLeftovers(file);
    const part = `${file}.${process.pid}.part`;
    try {
      const report = await writeAll(source, part, options);
      await mustBeFree(file, options);
      await rename(part, file);
      return report;
    } finally {
      await rm(part, { force: true });
    }
  } catch (error) {
    throw writeError(error, file);
  }
}

async function writeAll(source: ExportSource, part: string, options: ExportOptions): Promise<ExportReport> {
  const remembered = source.rows.filter(row => partsOf(row).length > 0);
  const rows = remembered.filter(row => canLeave(row, source)).sort(byPath);
  const out = await open(part, 'wx', 0o600);
  try {
    const writer = new Writer(out);
    await writer.put(encodeHead(source.head));
    let memories = 0;
    for (const [at, row] of rows.entries()) {
      options.onProgress?.({ task: 'Exporting', done: at, total: rows.length, unit: 'files', item: row.path });
      const file = recordOf(row, source);
      await writer.put(encodeFile(file));
      const keys = new Map(keysOf(row).map(key => [contentOfKey(key), key]));
      for (const content of contentsOf(file)) {
        throwIfCancelled(options.signal);
        await writer.put(memoryBytes(keys.get(content)!, row, source.store));
        memories++;
      }
    }
    await writer.put(encodeEnd({ files: rows.length, memories, sha256: writer.digest() }));
    await out.sync();
    return {
      files: rows.length,
      tokens: rows.reduce((sum, row) => sum + tokensOf(row), 0),
      bytes: writer.bytes,
      leftOut: remembered.length - rows.length,
    };
  } finally {
    await out.close();
  }
}

class Writer {
  bytes = 0;
  private readonly hash = createHash('sha256');

  constructor(private readonly file: FileHandle) {}

  async put(bytes: Uint8Array): Promise<void> {
    this.hash.update(bytes);
    this.bytes += bytes.byteLength;
    for (let at = 0; at < bytes.byteLength;) at += (await this.file.write(bytes, at)).bytesWritten;
  }

  /** Of all bytes so far. */
  digest(): string {
    return this.hash.copy().digest('hex');
  }
}

/** Whole, as reading gives it, under a name that every system has. */
function canLeave(row: LedgerRow, { ending }: ExportSource): boolean {
  const isOfModel = keysOf(row).every(key => key.endsWith(ending(row.path)));
  return isWhole(row) && row.state !== 'coarse' && isOfModel && isPortablePath(row.path);
}

function recordOf(row: LedgerRow, source: ExportSource): ExportedFile {
  const { path, contentHash, gist } = row;
  const settings = source.settings(path);
  const parts = partsOf(row).map(({ key, firstLine }) => ({ firstLine, content: contentOfKey(key) }));
  return {
    path,
    contentHash,
    settings: settings === source.head.settings ? undefined : settings,
    parts,
    gist: gist === undefined ? undefined : contentOfKey(gist),
  };
}

function memoryBytes(key: MemoryKey, row: LedgerRow, store: Store): Uint8Array {
  const memory = store.getMemory(key);
  const advice = 'read the folder again, then export it.';
  if (!memory) throw new LongviewError('stale', `${row.path} was forgotten meanwhile: ${advice}`);
  if (!memory.ok)
    throw new LongviewError('stale', `The memory of ${row.path} is damaged (${memory.reason}): ${advice}`);
  const bytes = encodeFileMemory(memory.value);
  const fault =
    bytes.byteLength > MOST_BYTES[FrameKind.fileMemory]
      ? 'too large'
      : faultOf(memory.value, bytes.byteLength, undefined);
  if (fault !== undefined) {
    throw new LongviewError('unsupported', `The memory of ${row.path} cannot be exported (${fault}).`);
  }
  return bytes;
}

/** By the paths' UTF-8 bytes. */
function byPath(a: LedgerRow, b: LedgerRow): number {
  return Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
}

/** What is no regular file (a folder, a link, a device) is never replaced. */
async function mustBeFree(file: string, { replace }: ExportOptions): Promise<void> {
  const found = await lstat(file).catch((error: unknown) => {
    if (codeOf(error) === 'not-found') return undefined;
    throw error;
  });
  if (!found) return;
  if (!found.isFile())
    throw new LongviewError('usage', `${file} is there, and is no regular file: choose another name.`);
  if (replace !== true)
    throw new LongviewError('usage', `${file} is there already: choose another name, or --force to replace it.`);
}

/** Of exports to this file whose process is gone. */
async function removeLeftovers(file: string): Promise<void> {
  const folder = dirname(file);
  const start = `${basename(file)}.`;
  for (const name of await readdir(folder)) {
    const pid = name.startsWith(start) ? /^(\d+)\.part$/.exec(name.slice(start.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function writeError(error: unknown, file: string): Error {
  if (error instanceof LongviewError || error instanceof RangeError || error instanceof TypeError) return error;
  const code = codeOf(error);
  const advice: Partial<Record<ErrorCode, string>> = {
    'disk-full': 'the disk is full. Free some space.',
    'not-found': 'its folder is not there, or takes no files. Choose another one.',
    permission: 'its folder may not be written by you. Choose another one.',
  };
  const reason = systemReason(error);
  const other = reason === undefined ? messageOf(error) : `its folder ${reason}.`;
  return new LongviewError(code, `Could not write ${file}: ${advice[code] ?? other}`, { cause: error });
}
