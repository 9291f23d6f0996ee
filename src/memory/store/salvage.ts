/**
 * Builds a store anew from what is left of a damaged one: entries are found by following the sound pages without LMDB, and
 * taken if checksum, key and value agree. Pages that a broken page led to are found as those that are in no tree and not
 * free; without a whole free list they are left, for they might be old ones, and what was forgotten must not come back.
 * Never changes the damaged file, and never runs beside a process that has it open.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { failed } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { GiveWay } from '../give-way.js';
import { decodeBlob } from './blob.js';
import { BulkWriter } from './bulk-writer.js';
import { PAGE_SIZES, readMetas } from './data-file.js';
import type { MetaPages } from './data-file.js';
import { CONTENT, DATA_FILE, openDatabases } from './databases.js';
import type { ContentName } from './databases.js';
import { decodeFileMemory, keyFits, keyPrefixOfPath } from './file-memory.js';
import { decodeFormatRecord } from './format-record.js';
import { FRAME_HEADER_BYTES, FrameKind, frameHead } from './frame.js';
import { decodeLedgerRow, ledgerKey } from './ledger-row.js';
import { NO_PAGE, PageFile, treeOf } from './page-file.js';
import type { LeafEntry, Meta, Page, Tree } from './page-file.js';
import { walkPages } from './page-walk.js';
import type { Snapshot } from './page-walk.js';
import { decodeStamp, encodeStamp } from './stamp.js';

/** In the folder of the store; holds the new data file when `salvage` is done. */
export const SALVAGE_FOLDER = 'salvaging';

export interface Salvaged {
  /** File memories that were kept. */
  readonly memories: number;
  /** Whether every entry of the damaged file was kept. */
  readonly isWhole: boolean;
}

/** Throws what LMDB throws where the new file cannot be written. */
export async function salvage(folder: string): Promise<Salvaged> {
  const path = join(folder, SALVAGE_FOLDER);
  await rm(path, { recursive: true, force: true });
  const target = openDatabases(path);
  try {
    const keep = new Keeper(new BulkWriter(target));
    const isWhole = await keepEntries(join(folder, DATA_FILE), keep);
    keep.finish();
    return { memories: keep.memories, isWhole };
  } finally {
    await target.root.close();
  }
}

/** Whether all entries were kept. */
async function keepEntries(path: string, keep: Keeper): Promise<boolean> {
  const metas = readMetas(path);
  if (metas === undefined) return false;
  // Without a meta page no size of the pages is known; with a wrong one nothing is found.
  for (const pageSize of metas.pageSize === undefined ? PAGE_SIZES : [metas.pageSize]) {
    const file = PageFile.open(path, pageSize);
    try {
      const found = await findSnapshot(file, metas);
      if (found === undefined) continue;
      const { snapshot, expected } = found;
      const onEntry = (entry: LeafEntry): void => keep.take(file, entry);
      const { uses, freeIsWhole } = await walkPages(file, snapshot, { onEntry });
      if (freeIsWhole) {
        for (const page of await unmetLeaves(file, found.meta, uses)) page.entries.forEach(onEntry);
      }
      return expected !== undefined && keep.entries === expected && keep.refused === 0;
    } finally {
      file.close();
    }
  }
  return false;
}

interface FoundSnapshot {
  readonly snapshot: Snapshot;
  readonly meta: Snapshot;
  /** Entries that it says it has, without the lease. */
  readonly expected: number | undefined;
}

/** The newest state of the store that the file tells of. An older one never: it may hold what was forgotten since. */
async function findSnapshot(file: PageFile, { newest, oldest, fault }: MetaPages): Promise<FoundSnapshot | undefined> {
  let meta: Snapshot | undefined;
  const root = newest && rootOf(file, newest);
  // Every commit writes the page that leads to the databases.
  const isTheirs = root === undefined || root.transaction === newest?.transaction;
  if (newest && oldest && fault === undefined && newest.transaction - oldest.transaction <= 1 && isTheirs) {
    meta = newest;
  } else {
    const main = await newestMain(file);
    if (main === undefined) return undefined;
    const same = [newest, oldest].find(
      one => one?.main.root === main.tree.root && one.transaction === main.transaction,
    );
    meta = same ?? { main: main.tree, transaction: main.transaction, lastPage: file.pages - 1 };
  }
  // The number of the last page may be what is damaged.
  return {
    meta,
    snapshot: { ...meta, lastPage: Math.max(meta.lastPage, file.pages - 1) },
    expected: entriesOf(file, meta.main),
  };
}

function rootOf(file: PageFile, meta: Meta): Page | undefined {
  const page = meta.main.root === NO_PAGE ? undefined : file.page(meta.main.root);
  return typeof page === 'string' ? undefined : page;
}

function entriesOf(file: PageFile, main: Tree): number | undefined {
  const root = main.root === NO_PAGE ? undefined : file.page(main.root);
  if (root === undefined || typeof root === 'string' || root.kind !== 'leaf') return undefined;
  const counts = root.entries.map(entry => {
    const isContent = CONTENT.some(name => name === nameOf(entry));
    return isContent ? treeOf(entry)?.entries : 0;
  });
  return counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
}

function nameOf(entry: LeafEntry): string {
  return entry.key.toString('latin1').replace('\0', '');
}

/** The newest page that leads to the store's databases, looked for in the whole file; none if a page is newer. */
async function newestMain(file: PageFile): Promise<{ tree: Tree; transaction: number } | undefined> {
  const others = new GiveWay();
  let newest = 0;
  let best: { tree: Tree; transaction: number } | undefined;
  for (let root = 2; root < file.pages; root++) {
    await others.step();
    const page = file.page(root);
    if (typeof page === 'string' || page.transaction < newest) continue;
    newest = page.transaction;
    const names = page.kind === 'leaf' && page.entries.every(entry => treeOf(entry)) ? page.entries.map(nameOf) : [];
    if (!CONTENT.every(name => names.includes(name))) continue;
    const tree = { flags: 0, depth: 1, branches: 0, leaves: 1, overflows: 0, entries: names.length, root };
    best = { tree, transaction: page.transaction };
  }
  return best?.transaction === newest ? best : undefined;
}

/** Leaf pages of the snapshot that no sound page leads to, newest first. */
async function unmetLeaves(
  file: PageFile,
  { lastPage, transaction }: Snapshot,
  uses: Uint8Array,
): Promise<(Page & { kind: 'leaf' })[]> {
  const others = new GiveWay();
  const found: (Page & { kind: 'leaf' })[] = [];
  for (let number = 2; number <= Math.min(lastPage, file.pages - 1); number++) {
    if (uses[number] !== 0) continue;
    await others.step();
    const page = file.page(number);
    if (typeof page !== 'string' && page.kind === 'leaf' && page.transaction <= transaction) found.push(page);
  }
  return found.sort((a, b) => b.transaction - a.transaction);
}

/** Takes entries whose checksum, key and value agree; the first of several with one key. */
class Keeper {
  entries = 0;
  memories = 0;
  /** Values that no longer are what they were. */
  refused = 0;
  private readonly taken = new Set<string>();
  private readonly paths = new Map<string, { path: string; bytes: number }>();
  private readonly stamps = new Map<string, Buffer>();

  constructor(private readonly target: BulkWriter) {}

  take(file: PageFile, entry: LeafEntry): void {
    const start = file.value({ ...entry, length: Math.min(entry.length, FRAME_HEADER_BYTES) });
    const head = start === undefined ? failed('missing') : frameHead(start);
    // A length that is damaged may be that of gigabytes.
    const isLength = head.ok && head.value.length === entry.length;
    const value = isLength && head.value.kind !== FrameKind.lease ? file.value(entry) : undefined;
    if (!head.ok || value === undefined) {
      if (!isLength) this.refused++;
      return;
    }
    const name = this.nameFor(head.value.kind, entry.key, value);
    if (name === undefined) this.refused++;
    else this.keep(name, entry.key, value);
  }

  /** After the last entry. */
  finish(): void {
    for (const [key, { path, bytes }] of this.paths) {
      const stamp = this.stamps.get(key) ?? encodeStamp({ writtenAt: Date.now(), bytes, path });
      this.target.put('stamps', Buffer.from(key, 'latin1'), stamp);
    }
    this.target.flush();
  }

  private keep(name: ContentName, key: Buffer, value: Buffer): void {
    const id = `${name} ${key.toString('latin1')}`;
    if (this.taken.has(id)) return;
    this.taken.add(id);
    this.entries++;
    if (name === 'memories') this.memories++;
    if (name === 'stamps') this.stamps.set(key.toString('latin1'), Buffer.from(value));
    else this.target.put(name, key, value);
  }

  /** The database that an entry belongs to, if key and value agree. */
  private nameFor(kind: number, key: Buffer, value: Buffer): ContentName | undefined {
    const text = key.toString('latin1');
    switch (kind) {
      case FrameKind.fileMemory: {
        const memory = decodeFileMemory(value);
        if (!memory.ok || !keyFits(text, memory.value.path, memory.value.contentHash)) return undefined;
        this.paths.set(text, { path: memory.value.path, bytes: value.byteLength });
        return 'memories';
      }
      case FrameKind.ledgerRow:
        return fits(decodeLedgerRow(value), row => key.equals(ledgerKey(row.path))) ? 'ledger' : undefined;
      case FrameKind.blob:
        return fits(decodeBlob(value), blob => key.equals(Buffer.from(blob.name, 'utf8'))) ? 'blobs' : undefined;
      case FrameKind.stamp:
        return fits(decodeStamp(value), stamp => text.startsWith(keyPrefixOfPath(stamp.path))) ? 'stamps' : undefined;
      case FrameKind.format:
        // `openStore` clears a store of another format.
        return decodeFormatRecord(value).ok ? 'format' : undefined;
      default:
        return undefined;
    }
  }
}

function fits<T>(decoded: Result<T>, isItsKey: (value: T) => boolean): boolean {
  return decoded.ok && isItsKey(decoded.value);
}
