/**
 * The store of one workspace: file memories, the coverage ledger and named blobs in one LMDB environment that several
 * processes may have open at once. Reads are synchronous (memory-mapped); a write is one transaction, and its promise
 * resolves once it is on the disk. Never decides what to read or to forget, and never returns a value whose checksum
 * is wrong.
 *
 * Keys and values: `format-record.ts`. Writing blocks this thread for the commit (a few milliseconds, more while another
 * process writes), so put many rows in one `batch` of up to about 10,000.
 */
import { LongviewError, failed, silentLog } from '../../base/index.js';
import type { Disposable, Log, Result } from '../../base/index.js';
import { openEnvironment, storeError } from './environment.js';
import type { ByteDatabase, Environment } from './environment.js';
import { decodeFileMemory, encodeFileMemory, keyFits, keyPrefixOfPath } from './file-memory.js';
import type { FileMemory, MemoryKey } from './file-memory.js';
import { STORE_FORMAT, decodeFormatRecord, encodeFormatRecord } from './format-record.js';
import { FrameKind, frame, unframe } from './frame.js';
import { decodeLedgerRow, encodeLedgerRow, keysOf, ledgerKey } from './ledger-row.js';
import type { LedgerRow } from './ledger-row.js';
import { leaseHolder, takeLease } from './reader-lease.js';
import type { HeldLease, LeaseTimes, ReaderLease } from './reader-lease.js';
import { decodeStamp, encodeStamp } from './stamp.js';
import type { Stamp } from './stamp.js';

export interface StoreOptions {
  /** Real path of the workspace; kept in the store for people and tools that list stores. */
  readonly workspace: string;
  readonly log?: Log;
  /** Clock in milliseconds since 1970, for tests. */
  readonly now?: () => number;
  /** Times of the reader's lease, for tests. */
  readonly lease?: LeaseTimes;
}

/** Writes of one transaction. Valid only inside the callback of `batch`. */
export interface StoreWriter {
  putRow(row: LedgerRow): void;
  deleteRow(path: string): void;
  putMemory(key: MemoryKey, memory: FileMemory): void;
  deleteMemory(key: MemoryKey): void;
  putBlob(name: string, bytes: Uint8Array): void;
  deleteBlob(name: string): void;
}

export interface Ledger {
  put(row: LedgerRow): Promise<void>;
  /** A row whose bytes are bad is logged and counts as absent. */
  get(path: string): LedgerRow | undefined;
  delete(path: string): Promise<void>;
  /** All good rows, in the order of the paths' UTF-8 bytes. */
  all(): LedgerRow[];
}

export interface StoredMemory extends Stamp {
  readonly key: MemoryKey;
}

export interface GarbageOptions {
  /** Memories no row refers to stay, newest first, until they fill this many bytes: other branches, undo. */
  readonly keepBytes: number;
  /** Further keys to keep whatever their age. */
  readonly keep?: ReadonlySet<MemoryKey>;
}

const BLOB_LAYOUT = 1;
const FORMAT_KEY = bytesOf('store');

/** Opens or makes the store in `folder` (see `storeFolder`). Throws a `LongviewError`; damaged or foreign data is replaced. */
export async function openStore(folder: string, options: StoreOptions): Promise<Store> {
  const environment = await openEnvironment(folder, options.log ?? silentLog);
  const store = new Store(folder, environment, options);
  store.claimFormat();
  return store;
}

export class Store implements Disposable {
  readonly workspace: string;
  readonly ledger: Ledger;
  private readonly log: Log;
  private readonly now: () => number;
  private readonly leases = new Set<ReaderLease>();
  private closed = false;

  /** Use `openStore`. */
  constructor(
    readonly folder: string,
    private readonly environment: Environment,
    private readonly options: StoreOptions,
  ) {
    this.workspace = options.workspace;
    this.log = options.log ?? silentLog;
    this.now = options.now ?? Date.now;
    this.ledger = {
      put: row => this.batch(write => write.putRow(row)),
      get: path => this.getRow(path),
      delete: path => this.batch(write => write.deleteRow(path)),
      all: () => this.allRows(),
    };
  }

  /** Clears a store of another format and writes whose it is. Called once, by `openStore`. */
  claimFormat(): void {
    this.commit(() => {
      const bytes = this.environment.format.getBinary(FORMAT_KEY);
      const record = bytes === undefined ? undefined : decodeFormatRecord(bytes);
      const same = record?.ok === true && record.value.format === STORE_FORMAT;
      if (record !== undefined && !same) {
        const found = record.ok ? `has format ${record.value.format}, not ${STORE_FORMAT}` : 'has no readable format';
        this.log('warning', `The store in ${this.folder} ${found}; it is built again.`);
        const { ledger, memories, stamps, blobs, lease } = this.environment;
        for (const database of [ledger, memories, stamps, blobs, lease]) database.clearSync();
      }
      if (same && record.value.workspace === this.workspace) return;
      this.environment.format.putSync(
        FORMAT_KEY,
        Buffer.from(encodeFormatRecord({ format: STORE_FORMAT, workspace: this.workspace })),
      );
    });
  }

  /** The memory, the reason why it cannot be used, or `undefined` if there is none. */
  getMemory(key: MemoryKey): Result<FileMemory> | undefined {
    const bytes = this.read(this.environment.memories, bytesOf(key));
    if (bytes === undefined) return undefined;
    const memory = decodeFileMemory(bytes);
    if (!memory.ok) return memory;
    if (!keyFits(key, memory.value.path, memory.value.contentHash)) return failed('memory of another file');
    return memory;
  }

  hasMemory(key: MemoryKey): boolean {
    this.assertOpen();
    return this.environment.memories.doesExist(bytesOf(key));
  }

  putMemory(key: MemoryKey, memory: FileMemory): Promise<void> {
    return this.batch(write => write.putMemory(key, memory));
  }

  deleteMemory(key: MemoryKey): Promise<void> {
    return this.batch(write => write.deleteMemory(key));
  }

  /** All memories with their size, time and path, ordered by key. Reads no memory. */
  listKeys(): StoredMemory[] {
    this.assertOpen();
    const found: StoredMemory[] = [];
    for (const { key, value } of this.environment.stamps.getRange()) {
      const stamp = decodeStamp(value);
      const text = Buffer.from(key).toString('latin1');
      // Without a readable stamp nothing says whose it is: path '' belongs to nobody, and it is the first to be collected.
      found.push({ key: text, ...(stamp.ok ? stamp.value : { writtenAt: 0, bytes: 0, path: '' }) });
    }
    return found;
  }

  putBlob(name: string, bytes: Uint8Array): Promise<void> {
    return this.batch(write => write.putBlob(name, bytes));
  }

  /** The bytes, the reason why they cannot be used, or `undefined` if there is no such blob. */
  getBlob(name: string): Result<Uint8Array> | undefined {
    const bytes = this.read(this.environment.blobs, bytesOf(name));
    return bytes === undefined ? undefined : unframe(FrameKind.blob, BLOB_LAYOUT, bytes);
  }

  /**
   * Runs `actions` in one transaction: all of it is on the disk when the promise resolves, or nothing is when it rejects
   * (`disk-full`, `permission`, `internal`; a `RangeError` for arguments that contradict each other). `actions` must not be asynchronous.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- the commit is synchronous today; callers shall not rely on it
  async batch(actions: (write: StoreWriter) => void): Promise<void> {
    this.commit(() => actions(this.writer()));
  }

  /**
   * Deletes memories that nothing needs. Kept are those a ledger row refers to, those in `keep`, and of the rest the newest
   * up to `keepBytes`. Returns what went.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async collectGarbage(options: GarbageOptions): Promise<{ memories: number; bytes: number }> {
    const gone = { memories: 0, bytes: 0 };
    this.commit(() => {
      const needed = new Set<string>(options.keep);
      for (const row of this.allRows()) for (const key of keysOf(row)) needed.add(key);
      const free = this.listKeys().filter(memory => !needed.has(memory.key));
      free.sort((a, b) => b.writtenAt - a.writtenAt || (a.key < b.key ? -1 : 1));
      let kept = 0;
      let full = false;
      for (const memory of free) {
        full ||= memory.path === '' || kept + memory.bytes > options.keepBytes;
        if (full) {
          this.removeMemory(memory.key);
          gone.memories++;
          gone.bytes += memory.bytes;
        } else kept += memory.bytes;
      }
    });
    return gone;
  }

  /**
   * Removes the row and every memory (of all contents, models and settings) of `path`; with a `/` at its end, of all that
   * lies in that folder. No read finds them any more; their bytes stay in unused parts of the data file until `compactStore`.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async forget(path: string): Promise<{ rows: number; memories: number }> {
    const gone = { rows: 0, memories: 0 };
    this.commit(() => {
      const isFolder = path.endsWith('/');
      const rows = isFolder ? this.allRows().map(row => row.path) : [path];
      for (const name of rows) {
        if (isFolder && !name.startsWith(path)) continue;
        if (this.environment.ledger.removeSync(ledgerKey(name))) gone.rows++;
      }
      const prefix = keyPrefixOfPath(path);
      for (const memory of this.listKeys()) {
        if (isFolder ? !memory.path.startsWith(path) : !memory.key.startsWith(prefix)) continue;
        this.removeMemory(memory.key);
        gone.memories++;
      }
    });
    return gone;
  }

  /** Whether another process reads the workspace now. */
  get isReadElsewhere(): boolean {
    this.assertOpen();
    const { now, options } = this;
    const holder = leaseHolder({ database: this.environment.lease, now, times: options.lease });
    return holder !== undefined && holder !== process.pid;
  }

  /**
   * Makes this process the one that reads the workspace, if no other living process is. The lease ends by `dispose`, with
   * the store, or when its process dies; `lease.lost` is aborted if another process took it, e.g. after a long sleep.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async tryBecomeReader(): Promise<ReaderLease | HeldLease> {
    const lease = takeLease({
      database: this.environment.lease,
      commit: action => this.commit(action),
      now: this.now,
      log: this.log,
      times: this.options.lease,
    });
    if (!('heldBy' in lease)) this.leases.add(lease);
    return lease;
  }

  async dispose(): Promise<void> {
    if (this.closed) return;
    try {
      for (const lease of this.leases) await lease.dispose();
    } finally {
      this.closed = true;
      await this.environment.close();
    }
  }

  private writer(): StoreWriter {
    const { ledger, blobs, memories, stamps } = this.environment;
    return {
      putRow: row => ledger.putSync(ledgerKey(row.path), Buffer.from(encodeLedgerRow(row).buffer)),
      deleteRow: path => void ledger.removeSync(ledgerKey(path)),
      putMemory: (key, memory) => {
        if (!keyFits(key, memory.path, memory.contentHash))
          throw new RangeError(`Not the key of ${memory.path}: ${key}`);
        const bytes = encodeFileMemory(memory);
        const stamp = encodeStamp({ writtenAt: this.now(), bytes: bytes.byteLength, path: memory.path });
        memories.putSync(bytesOf(key), Buffer.from(bytes.buffer));
        stamps.putSync(bytesOf(key), Buffer.from(stamp.buffer));
      },
      deleteMemory: key => this.removeMemory(key),
      putBlob: (name, bytes) =>
        blobs.putSync(bytesOf(name), Buffer.from(frame(FrameKind.blob, BLOB_LAYOUT, bytes).buffer)),
      deleteBlob: name => void blobs.removeSync(bytesOf(name)),
    };
  }

  private removeMemory(key: MemoryKey): void {
    this.environment.memories.removeSync(bytesOf(key));
    this.environment.stamps.removeSync(bytesOf(key));
  }

  private getRow(path: string): LedgerRow | undefined {
    const bytes = this.read(this.environment.ledger, ledgerKey(path));
    return bytes === undefined ? undefined : this.goodRow(bytes, path);
  }

  private allRows(): LedgerRow[] {
    this.assertOpen();
    const rows: LedgerRow[] = [];
    for (const { key, value } of this.environment.ledger.getRange()) {
      const row = this.goodRow(value, Buffer.from(key).toString('utf8'));
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  private goodRow(bytes: Uint8Array, path: string): LedgerRow | undefined {
    const row = decodeLedgerRow(bytes);
    if (row.ok) return row.value;
    this.log('warning', `The ledger row of ${path} is bad (${row.reason}); the file is read again.`);
    return undefined;
  }

  private read(database: ByteDatabase, key: Uint8Array): Uint8Array | undefined {
    this.assertOpen();
    try {
      return database.getBinary(key);
    } catch (error) {
      throw storeError(error, this.folder);
    }
  }

  private commit(action: () => void): void {
    this.assertOpen();
    try {
      this.environment.root.transactionSync(action);
    } catch (error) {
      throw storeError(error, this.folder);
    }
  }

  private assertOpen(): void {
    if (this.closed) throw new LongviewError('internal', `The store in ${this.folder} is closed.`);
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
