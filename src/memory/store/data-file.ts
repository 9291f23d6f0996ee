/**
 * A look at LMDB's data file before LMDB maps it: LMDB trusts its pages, so a foreign or cut-off file would end the
 * process instead of giving an error. Reads two pages, and follows all of them (`page-check.ts`) on demand or if the
 * file is shorter than the last page ever used, which may be damage or just pages that are free. Never writes and never
 * opens the environment.
 *
 * What is looked at, of data version 2 on 64-bit hosts, little-endian; the second meta page lies one page further:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   18      2     page flags: 8 = meta page
 *   24      4     magic be ef c0 de
 *   28      4     data version in the low half
 *   48      4     page size (first meta page)
 *   88      8     root page of the free list, or all ones
 *   136     8     root page of the main database, or all ones
 *   144     8     last used page
 *   152     8     transaction
 */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { codeOf } from '../../base/index.js';
import { NO_PAGE, faultInPages } from './page-check.js';

export interface DataFileState {
  /** `fresh`: none or empty. `damaged`: LMDB must not open it. */
  readonly state: 'fresh' | 'sound' | 'damaged';
  readonly reason?: string;
  /** The damage is in the meta pages, which hold still beside a writer. */
  readonly byMeta?: boolean;
}

/** The numbers of a meta page that say where data lies. Pages are counted from 0. */
interface MetaPage {
  readonly pageSize: number;
  readonly roots: readonly bigint[];
  readonly lastPage: bigint;
  readonly transaction: bigint;
}

const META_BYTES = 168;
const META_FLAG = 8;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;

/** `thorough`: follow all pages. Then no process may have the file open. */
export async function inspectDataFile(path: string, thorough: boolean): Promise<DataFileState> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'not-found') return { state: 'fresh' };
    throw error;
  }
  try {
    if ((await file.stat()).size === 0) return { state: 'fresh' };
    const first = await readMeta(file, 0);
    if (typeof first === 'string') return damaged(first);
    const { pageSize } = first;
    if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) {
      return damaged(`page size ${pageSize}`);
    }
    const second = await readMeta(file, pageSize);
    if (typeof second === 'string') return damaged(second);
    const meta = second.transaction > first.transaction ? second : first;
    // Asked for after the meta pages: a writer lengthens the file first, then writes a meta page.
    const pages = Math.floor((await file.stat()).size / pageSize);
    const missing = meta.roots.find(root => root !== NO_PAGE && root >= BigInt(pages));
    if (missing !== undefined) return damaged(`page ${missing} is missing`);
    if (thorough || meta.lastPage >= BigInt(pages)) {
      const fault = await faultInPages({ file, pageSize, pages }, meta.roots);
      if (fault !== undefined) return { state: 'damaged', reason: fault };
    }
    return { state: 'sound' };
  } finally {
    await file.close();
  }
}

async function readMeta(file: FileHandle, offset: number): Promise<MetaPage | string> {
  const bytes = Buffer.alloc(META_BYTES);
  const { bytesRead } = await file.read(bytes, 0, META_BYTES, offset);
  if (bytesRead < META_BYTES) return 'cut off in a meta page';
  if ((bytes.readUInt16LE(18) & META_FLAG) === 0) return 'no meta page';
  if (bytes.readUInt32LE(24) !== MAGIC) return 'not an LMDB file';
  const version = bytes.readUInt32LE(28) & 0xffff;
  if (version !== DATA_VERSION) return `LMDB data version ${version}`;
  return {
    pageSize: bytes.readUInt32LE(48),
    roots: [bytes.readBigUInt64LE(88), bytes.readBigUInt64LE(136)],
    lastPage: bytes.readBigUInt64LE(144),
    transaction: bytes.readBigUInt64LE(152),
  };
}

function damaged(reason: string): DataFileState {
  return { state: 'damaged', reason, byMeta: true };
}
