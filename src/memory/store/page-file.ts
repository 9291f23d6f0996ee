/**
 * The pages of an LMDB data file as they lie on the disk, read without LMDB: LMDB trusts its pages, and a broken one ends
 * the process. Reads only what it is asked for, never writes, and never says what a broken page ought to hold. For a file
 * that no process writes: pages change under a writer.
 *
 * Data version 2 on 64-bit hosts, numbers little-endian. The two meta pages are the first of the file:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   18      2     page flags: 8 = meta page
 *   24      4     magic be ef c0 de
 *   28      4     data version in the low half
 *   40      8     bytes of the map
 *   48      48    the free list's tree; its first 4 bytes are the page size
 *   96      48    the main tree
 *   144     8     last used page
 *   152     8     transaction, odd in the second page
 *
 * Tree: 4 bytes, 2 flags, 2 depth, 8 each: branch pages, leaf pages, overflow pages, entries, root page or all ones.
 *
 * Branch and leaf pages; offsets of entries count from byte 24:
 *
 *   0       8     number of the page
 *   8       8     transaction that wrote it
 *   18      2     flags: 1 = branch, 2 = leaf, 4 = first of a value that lies elsewhere
 *   20      4     pages of that value; of others:
 *   20      2     end of the entries' offsets, 2 bytes each, which begin at 24
 *   22      2     begin of the entries
 *
 * Entry: 2 + 2 + 2 bytes (branch: page number, low part first; leaf: length of the value in the first four, then flags:
 * 1 = value is elsewhere, 2 = value is a tree), 2 bytes length of the key, key, value. Elsewhere: page, transaction, number
 * of pages, 8 bytes each; the value follows the first page's 24 bytes.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** `NO_PAGE` for an empty tree. */
  readonly root: number;
}

export interface Meta {
  readonly pageSize: number;
  readonly mapBytes: number;
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  readonly transaction: number;
}

export interface BranchEntry {
  readonly key: Buffer;
  readonly child: number;
}

export interface LeafEntry {
  readonly key: Buffer;
  /** Bytes of the value. */
  readonly length: number;
  /** The value, where it lies on the page. */
  readonly value?: Buffer;
  /** First page of a value that lies elsewhere. */
  readonly elsewhere?: number;
  /** What the entry says how many pages those are. */
  readonly elsewherePages?: number;
  readonly isTree: boolean;
}

export type Page =
  | { readonly kind: 'branch'; readonly transaction: number; readonly entries: readonly BranchEntry[] }
  | { readonly kind: 'leaf'; readonly transaction: number; readonly entries: readonly LeafEntry[] };

/** Root of an empty tree. */
export const NO_PAGE = -1;
const NO_PAGE_ON_DISK = 0xffffffffffffffffn;
const HEAD = 24;
const ENTRY_HEAD = 8;
const OVERFLOW_ENTRY = 24;
const META_BYTES = 168;
const TREE_BYTES = 48;
const META_FLAG = 8;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const IS_ELSEWHERE = 1;
const IS_TREE = 2;

export class PageFile {
  private constructor(
    private readonly descriptor: number,
    readonly pageSize: number,
    /** Whole pages in the file. */
    readonly pages: number,
  ) {}

  /** Throws what the host throws where the file is not there or may not be read. */
  static open(path: string, pageSize: number): PageFile {
    const descriptor = openSync(path, 'r');
    return new PageFile(descriptor, pageSize, Math.floor(fstatSync(descriptor).size / pageSize));
  }

  close(): void {
    closeSync(this.descriptor);
  }

  /** A branch or leaf page, or what is wrong with it. */
  page(number: number): Page | string {
    if (number < 2 || number >= this.pages) return `page ${number} is missing`;
    return parsePage(this.bytes(number * this.pageSize, this.pageSize), number) ?? `page ${number} is broken`;
  }

  /** A leaf's value, or `undefined` where the file ends before it does. */
  value(entry: LeafEntry): Buffer | undefined {
    if (entry.elsewhere === undefined) return entry.value;
    if (entry.elsewhere + this.overflowPages(entry) > this.pages) return undefined;
    return this.bytes(entry.elsewhere * this.pageSize + HEAD, entry.length);
  }

  /** The head of the pages of a value that begins at this one, if it is one. */
  overflow(number: number): { readonly pages: number; readonly transaction: number } | undefined {
    const head = this.bytes(number * this.pageSize, HEAD);
    const isOverflow = head.byteLength === HEAD && numberAt(head, 0) === number && head.readUInt16LE(18) === OVERFLOW;
    return isOverflow ? { pages: head.readUInt32LE(20), transaction: numberAt(head, 8) } : undefined;
  }

  /** Pages that a value which lies elsewhere needs. */
  overflowPages(entry: LeafEntry): number {
    return Math.floor((HEAD - 1 + entry.length) / this.pageSize) + 1;
  }

  private bytes(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(this.descriptor, bytes, 0, length, offset));
  }
}

/** The meta page at an offset, or why it is none. */
export function readMeta(descriptor: number, offset: number): Meta | string {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, bytes, 0, META_BYTES, offset) < META_BYTES) return 'cut off in a meta page';
  if ((bytes.readUInt16LE(18) & META_FLAG) === 0) return 'no meta page';
  if (bytes.readUInt32LE(24) !== MAGIC) return 'not an LMDB file';
  const version = bytes.readUInt32LE(28) & 0xffff;
  if (version !== DATA_VERSION) return `LMDB data version ${version}`;
  return {
    pageSize: bytes.readUInt32LE(48),
    mapBytes: numberAt(bytes, 40),
    free: parseTree(bytes.subarray(48)),
    main: parseTree(bytes.subarray(96)),
    lastPage: numberAt(bytes, 144),
    transaction: numberAt(bytes, 152),
  };
}

/** The tree that a value is, or `undefined` if its length is not that of one. */
export function treeOf(entry: LeafEntry): Tree | undefined {
  return entry.isTree && entry.value?.byteLength === TREE_BYTES ? parseTree(entry.value) : undefined;
}

function parseTree(bytes: Buffer): Tree {
  const root = bytes.readBigUInt64LE(40);
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    branches: numberAt(bytes, 8),
    leaves: numberAt(bytes, 16),
    overflows: numberAt(bytes, 24),
    entries: numberAt(bytes, 32),
    root: root === NO_PAGE_ON_DISK ? NO_PAGE : Number(root),
  };
}

function parsePage(page: Buffer, number: number): Page | undefined {
  if (page.byteLength < HEAD || numberAt(page, 0) !== number) return undefined;
  const transaction = numberAt(page, 8);
  const flags = page.readUInt16LE(18);
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if (lower > upper || upper > page.byteLength - HEAD || lower % 2 !== 0) return undefined;
  const places = Array.from({ length: lower / 2 }, (_, at) => HEAD + page.readUInt16LE(HEAD + 2 * at));
  if (places.some(at => at < HEAD + upper || at + ENTRY_HEAD > page.byteLength)) return undefined;
  if (flags === BRANCH) {
    const entries = places.map(at => branchEntry(page, at));
    return allFound(entries) ? { kind: 'branch', transaction, entries } : undefined;
  }
  const entries = flags === LEAF ? places.map(at => leafEntry(page, at)) : [undefined];
  return allFound(entries) ? { kind: 'leaf', transaction, entries } : undefined;
}

function branchEntry(page: Buffer, at: number): BranchEntry | undefined {
  const value = at + ENTRY_HEAD + page.readUInt16LE(at + 6);
  if (value > page.byteLength) return undefined;
  return { key: page.subarray(at + ENTRY_HEAD, value), child: page.readUIntLE(at, 6) };
}

function leafEntry(page: Buffer, at: number): LeafEntry | undefined {
  const length = page.readUInt32LE(at);
  const flags = page.readUInt16LE(at + 4);
  const from = at + ENTRY_HEAD + page.readUInt16LE(at + 6);
  const to = from + (flags === IS_ELSEWHERE ? OVERFLOW_ENTRY : length);
  if (flags > IS_TREE || to > page.byteLength) return undefined;
  const key = page.subarray(at + ENTRY_HEAD, from);
  if (flags !== IS_ELSEWHERE) return { key, length, value: page.subarray(from, to), isTree: flags === IS_TREE };
  return { key, length, elsewhere: numberAt(page, from), elsewherePages: numberAt(page, from + 16), isTree: false };
}

function allFound<T>(entries: readonly (T | undefined)[]): entries is T[] {
  return !entries.includes(undefined);
}

/** Numbers past 2^53, which only damage holds, lose their low bits and stay as large. */
function numberAt(bytes: Buffer, offset: number): number {
  return Number(bytes.readBigUInt64LE(offset));
}
