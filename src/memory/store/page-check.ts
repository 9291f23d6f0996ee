/**
 * Follows all pages of an LMDB data file from its roots and says what is wrong with them, if anything: LMDB itself trusts a
 * page, and a broken one ends the process. Reads branch and leaf pages and the heads of overflow pages, not what is in the
 * values. Only for a file that no process has open: pages change under a writer.
 *
 * Page, of data version 2 on 64-bit hosts, little-endian. Offsets of entries count from byte 24.
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       8     number of the page
 *   18      2     flags: 1 = branch, 2 = leaf, 4 = overflow
 *   20      2     end of the entries' offsets, 2 bytes each, which begin at 24
 *   22      2     begin of the entries
 *   24      2*n   offsets of the n entries
 *
 * Entry: 2 + 2 + 2 bytes (branch: page number, low part first; leaf: length of the data in the first four, then flags:
 * 1 = data is elsewhere, 2 = data is a database), 2 bytes length of the key, key, data. Data elsewhere: page, transaction,
 * number of pages, 8 bytes each. Database: its root page is in bytes 40 to 47.
 */
import type { FileHandle } from 'node:fs/promises';

export interface PageFile {
  readonly file: FileHandle;
  /** Bytes. */
  readonly pageSize: number;
  /** Pages in the file; a root beyond them is a fault. */
  readonly pages: number;
}

const HEAD = 24;
const ENTRY_HEAD = 8;
const OVERFLOW_ENTRY = 24;
const DATABASE_ENTRY = 48;
const ROOT_IN_DATABASE = 40;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const IS_ELSEWHERE = 1;
const IS_DATABASE = 2;
/** Page number of the root of an empty tree. */
export const NO_PAGE = 0xffffffffffffffffn;

/** The first fault found from these roots, or `undefined`. */
export async function faultInPages(source: PageFile, roots: readonly bigint[]): Promise<string | undefined> {
  const seen = new Uint8Array(source.pages);
  const waiting = roots.filter(root => root !== NO_PAGE);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next < 2n || next >= BigInt(source.pages)) return `page ${next} is missing`;
    const number = Number(next);
    if (seen[number] === 1) return `page ${number} is used twice`;
    seen[number] = 1;
    const page = await readPage(source, number, source.pageSize);
    const fault = await followPage(source, page, number, seen, waiting);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Checks one branch or leaf page and puts the pages it leads to into `waiting`. */
async function followPage(
  source: PageFile,
  page: Buffer,
  number: number,
  seen: Uint8Array,
  waiting: bigint[],
): Promise<string | undefined> {
  const broken = `page ${number} is broken`;
  if (page.byteLength < source.pageSize || page.readBigUInt64LE(0) !== BigInt(number)) return broken;
  const flags = page.readUInt16LE(18);
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if ((flags !== BRANCH && flags !== LEAF) || lower > upper || upper > source.pageSize - HEAD) return broken;
  for (let at = HEAD; at < HEAD + lower - 1; at += 2) {
    const entry = HEAD + page.readUInt16LE(at);
    if (entry < HEAD + upper || entry + ENTRY_HEAD > source.pageSize) return broken;
    const low = page.readUInt32LE(entry);
    const high = page.readUInt16LE(entry + 4);
    const data = entry + ENTRY_HEAD + page.readUInt16LE(entry + 6);
    if (data > source.pageSize) return broken;
    if (flags === BRANCH) {
      waiting.push(BigInt(low) + (BigInt(high) << 32n));
      continue;
    }
    const onPage = high === IS_ELSEWHERE ? OVERFLOW_ENTRY : low;
    if (data + onPage > source.pageSize) return broken;
    if (high === IS_DATABASE) {
      if (low !== DATABASE_ENTRY) return broken;
      const root = page.readBigUInt64LE(data + ROOT_IN_DATABASE);
      if (root !== NO_PAGE) waiting.push(root);
    } else if (high === IS_ELSEWHERE) {
      const [first, count] = [page.readBigUInt64LE(data), page.readBigUInt64LE(data + 16)];
      const fault = await faultInOverflow(source, first, count, low, seen);
      if (fault !== undefined) return fault;
    } else if (high !== 0) return broken;
  }
  return undefined;
}

/** `length`: bytes of the value that the pages hold, after the head of the first. */
async function faultInOverflow(
  source: PageFile,
  first: bigint,
  count: bigint,
  length: number,
  seen: Uint8Array,
): Promise<string | undefined> {
  if (first < 2n || count < 1n || first + count > BigInt(source.pages)) return `page ${first + count - 1n} is missing`;
  const [from, to] = [Number(first), Number(first + count)];
  if (HEAD + length > (to - from) * source.pageSize) return `pages ${from} to ${to - 1} are too few`;
  if (seen.subarray(from, to).includes(1)) return `page ${from} or a later one is used twice`;
  seen.fill(1, from, to);
  const head = await readPage(source, from, HEAD);
  const isOverflow = head.byteLength === HEAD && (head.readUInt16LE(18) & OVERFLOW) !== 0;
  return isOverflow && head.readBigUInt64LE(0) === first ? undefined : `page ${from} is broken`;
}

async function readPage(source: PageFile, number: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await source.file.read(bytes, 0, length, number * source.pageSize);
  return bytes.subarray(0, bytesRead);
}
