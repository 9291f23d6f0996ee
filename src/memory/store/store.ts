/**
 * The store of one workspace: file memories, the coverage ledger and named blobs in one LMDB environment that several
 * processes may have open at once. Reads are synchronous (memory-mapped); a write is one transaction, and its promise
 * resolves once it is on the disk. Never decides what to read or to forget, and never returns a value whose checksum
 * is wrong.
 *
 * Keys and values: `format-record.ts`. Writing blocks this thread for the commit (a few milliseconds, more while another
 * process writes), so put many rows in one `batch` of up to about 10,000.
 */
import { failed, ok, silentLog } from '../../base/index.js';
import type { Disposable, Log, Result } from '../../base/index.js';
import { decodeBlob, encodeBlob } from './blob.js';
import { GiveWay } from '../give-way.js';
import { claimFormat } from './claim-format.js';
import { markForCompaction } from './compact.js';
import type { ContentName } from './databases.js';
import type { Environment } from './environment.js';
import {
  decodeFileMemory,
  decodeGist,
  decodeRecall,
  encodeFileMemory,
  keyFits,
  keyPrefixOfPath,
} from './file-memory.js';
import type { FileMemory, GistMemory, MemoryHead, MemoryKey, RecallMemory } from './file-memory.js';
import { keysOf } from './ledger-row.js';
import type { LedgerRow } from './ledger-row.js';
import { LedgerRows } from './ledger-rows.js';
import { LiveEnvironment } from './live-environment.js';
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
  /** Decodes all rows with breaks for other work, so that `all` answers at once, unless somebody writes meanwhile. */
  prepare(): Promise<void>;
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

/** Without a readable stamp nothing says whose a memory is: it is the first to be collected. */
const OF_NOBODY = { writtenAt: 0, bytes: 0, path: '' };

/**
 * Opens or makes the store in `folder` (see `storeFolder`); to read only, where that may not be written. What is damaged or
 * foreign is replaced. Throws a `LongviewError`.
 */
export async function openStore(folder: string, options: StoreOptions): Promise<Store> {
  const log = options.log ?? silentLog;
  return new Store(await LiveEnvironment.open(folder, log, live => claimFormat(live, options.workspace, log)), options);
}

export class Store implements Disposable {
  readonly workspace: string;
  readonly ledger: Ledger;
  private readonly log: Log;
  private readonly now: () => number;
  private readonly leases = new Set<ReaderLease>();
  private readonly rows: LedgerRows;
  private closed = false;
  readonly folder: string;

  /** Use `openStore`. */
  constructor(
    private readonly live: LiveEnvironment,
    private readonly options: StoreOptions,
  ) {
    this.folder = live.folder;
    this.workspace = options.workspace;
    this.log = options.log ?? silentLog;
    this.now = options.now ?? Date.now;
    this.rows = new LedgerRows(this.log);
    this.ledger = {
      put: row => this.batch(write => write.putRow(row)),
      get: path => this.live.look(environment => this.rows.get(environment, path)),
      delete: path => this.batch(write => write.deleteRow(path)),
      all: () => this.live.look(environment => this.rows.all(environment)),
      prepare: () => this.prepareRows(),
    };
  }

  /** Why nothing can be written; `undefined` where it can. */
  get readOnly(): string | undefined {
    return this.live.readOnly;
  }

  /** The memory, the reason why it cannot be used, or `undefined` if there is none. */
  getMemory(key: MemoryKey): Result<FileMemory> | undefined {
    return this.memory(key, decodeFileMemory);
  }

  /** As `getMemory`, without a look at the gist. */
  getRecall(key: MemoryKey): Result<RecallMemory> | undefined {
    return this.memory(key, decodeRecall);
  }

  /** As `getMemory`, without a look at what finds places. */
  getGist(key: MemoryKey): Result<GistMemory> | undefined {
    return this.memory(key, decodeGist);
  }

  hasMemory(key: MemoryKey): boolean {
    return this.live.look(({ memories }) => memories.doesExist(keyBytes(key)));
  }

  putMemory(key: MemoryKey, memory: FileMemory): Promise<void> {
    return this.batch(write => write.putMemory(key, memory));
  }

  deleteMemory(key: MemoryKey): Promise<void> {
    return this.batch(write => write.deleteMemory(key));
  }

  /** All memories with their size, time and path. Reads no memory. */
  listKeys(): StoredMemory[] {
    return this.live.look(({ memories, stamps }) => {
      const found = new Map<MemoryKey, StoredMemory>();
      for (const { key, value } of stamps.getRange()) {
        const stamp = decodeStamp(value);
        const text = Buffer.from(key).toString('latin1');
        found.set(text, { key: text, ...(stamp.ok ? stamp.value : OF_NOBODY) });
      }
      for (const key of memories.getKeys()) {
        const text = Buffer.from(key).toString('latin1');
        if (!found.has(text)) found.set(text, { key: text, ...OF_NOBODY });
      }
      return [...found.values()];
    });
  }

  putBlob(name: string, bytes: Uint8Array): Promise<void> {
    return this.batch(write => write.putBlob(name, bytes));
  }

  /** The bytes, the reason why they cannot be used, or `undefined` if there is no such blob. */
  getBlob(name: string): Result<Uint8Array> | undefined {
    const bytes = this.read('blobs', bytesOf(name));
    if (bytes === undefined) return undefined;
    const blob = decodeBlob(bytes);
    if (!blob.ok) return blob;
    return blob.value.name === name ? ok(blob.value.bytes) : failed('blob of another name');
  }

  /** Names of the blobs that begin so, ordered. Reads no blob. */
  blobNames(prefix: string): string[] {
    const start = Buffer.from(prefix, 'utf8');
    return this.live.look(({ blobs }) => {
      const names: string[] = [];
      for (const key of blobs.getKeys({ start })) {
        if (Buffer.compare(key.subarray(0, start.byteLength), start) !== 0) break;
        names.push(Buffer.from(key).toString('utf8'));
      }
      return names;
    });
  }

  /**
   * Runs `actions` in one transaction: all of it is on the disk when the promise resolves, or nothing is when it rejects
   * (`disk-full`, `permission`, `locked`, `internal`; a `RangeError` for arguments that contradict each other). `actions` must not be asynchronous.
   */
  async batch(actions: (write: StoreWriter) => void): Promise<void> {
    await this.live.ready();
    this.commit((environment, note) => actions(this.writer(environment, note)));
  }

  /**
   * Deletes memories that nothing needs. Kept are those a ledger row refers to, those in `keep`, and of the rest the newest
   * up to `keepBytes`. Returns what went.
   */
  async collectGarbage(options: GarbageOptions): Promise<{ memories: number; bytes: number }> {
    const gone = { memories: 0, bytes: 0 };
    await this.live.ready();
    this.commit(environment => {
      const needed = new Set<string>(options.keep);
      for (const row of this.ledger.all()) for (const key of keysOf(row)) needed.add(key);
      const free = this.listKeys().filter(memory => !needed.has(memory.key));
      free.sort((a, b) => b.writtenAt - a.writtenAt || (a.key < b.key ? -1 : 1));
      let kept = 0;
      let full = false;
      for (const memory of free) {
        full ||= memory.path === '' || kept + memory.bytes > options.keepBytes;
        if (full) {
          removeMemory(environment, memory.key);
          gone.memories++;
          gone.bytes += memory.bytes;
        } else kept += memory.bytes;
      }
    });
    return gone;
  }

  /**
   * Removes the row and every memory (of all contents, models and settings) of `path`; with a `/` at its end, of all that
   * lies in that folder; with them goes what `also` deletes, if anything was there. No read finds them any more; their bytes
   * stay in unused parts of the data file until it is compacted, by the last that closes it or the next that opens it alone.
   */
  async forget(path: string, also?: (write: StoreWriter) => void): Promise<{ rows: number; memories: number }> {
    const gone = { rows: 0, memories: 0 };
    await this.live.ready();
    this.commit(environment => {
      const isFolder = path.endsWith('/');
      const rows = isFolder ? this.ledger.all().map(row => row.path) : [path];
      for (const name of rows) {
        if (isFolder && !name.startsWith(path)) continue;
        if (this.rows.remove(environment, name)) gone.rows++;
      }
      const prefix = keyPrefixOfPath(path);
      for (const memory of this.listKeys()) {
        // Of a memory of nobody only the key can tell that it is another's.
        const isKept = memory.path !== '' && !memory.path.startsWith(path);
        if (isFolder ? isKept : !memory.key.startsWith(prefix)) continue;
        removeMemory(environment, memory.key);
        gone.memories++;
      }
      if (gone.rows + gone.memories === 0) return;
      markForCompaction(this.folder);
      also?.(this.writer(environment));
    });
    return gone;
  }

  /** The same with all rows and memories. */
  async forgetAll(also?: (write: StoreWriter) => void): Promise<void> {
    await this.live.ready();
    this.commit(environment => {
      markForCompaction(this.folder);
      for (const { path } of this.ledger.all()) this.rows.remove(environment, path);
      for (const { key } of this.listKeys()) removeMemory(environment, key);
      also?.(this.writer(environment));
    });
  }

  /** Whether another process reads the workspace now. */
  get isReadElsewhere(): boolean {
    const { now, options } = this;
    const holder = this.live.look(({ lease }) => leaseHolder({ database: () => lease, now, times: options.lease }));
    return holder !== undefined && holder !== process.pid;
  }

  /**
   * Makes this process the one that reads the workspace, if no other living process is. The lease ends by `dispose`, with
   * the store, or when its process dies; `lease.lost` is aborted if another process took it, e.g. after a long sleep.
   */
  async tryBecomeReader(): Promise<ReaderLease | HeldLease> {
    await this.live.ready();
    const lease = takeLease({
      database: () => this.live.now.lease,
      commit: action => this.commit((_, note) => action() && note()),
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
      await this.live.close();
    }
  }

  /** `note` is told when something is certainly written. */
  private writer(environment: Environment, note: () => void = () => undefined): StoreWriter {
    const { blobs, memories, stamps } = environment;
    return {
      putRow: row => this.rows.put(environment, row),
      deleteRow: path => void this.rows.remove(environment, path),
      putMemory: (key, memory) => {
        if (!keyFits(key, memory.path, memory.contentHash))
          throw new RangeError(`Not the key of ${memory.path}: ${key}`);
        const bytes = encodeFileMemory(memory);
        const stamp = encodeStamp({ writtenAt: this.now(), bytes: bytes.byteLength, path: memory.path });
        memories.putSync(keyBytes(key), Buffer.from(bytes.buffer));
        stamps.putSync(keyBytes(key), Buffer.from(stamp.buffer));
        note();
      },
      deleteMemory: key => removeMemory(environment, key),
      putBlob: (name, bytes) => {
        blobs.putSync(bytesOf(name), Buffer.from(encodeBlob(name, bytes).buffer));
        note();
      },
      deleteBlob: name => void blobs.removeSync(bytesOf(name)),
    };
  }

  private memory<T extends MemoryHead>(
    key: MemoryKey,
    decode: (bytes: Uint8Array) => Result<T>,
  ): Result<T> | undefined {
    const bytes = this.read('memories', keyBytes(key));
    if (bytes === undefined) return undefined;
    const memory = decode(bytes);
    if (!memory.ok) return memory;
    if (!keyFits(key, memory.value.path, memory.value.contentHash)) return failed('memory of another file');
    return memory;
  }

  private async prepareRows(): Promise<void> {
    const others = new GiveWay();
    const loading = this.live.look(environment => this.rows.loading(environment));
    while (this.live.look(() => loading.next()).done !== true) await others.step();
  }

  /** `action` calls `note` when it has certainly written something besides rows: rows that are known stay so. */
  private commit(action: (environment: Environment, note: () => void) => void): void {
    let transaction: number | undefined;
    let hasWritten = false;
    try {
      this.live.commit(environment => {
        this.rows.begin(environment);
        action(environment, () => (hasWritten = true));
        transaction = environment.root.getWriteTxnId();
      });
    } catch (error) {
      transaction = undefined;
      throw error;
    } finally {
      this.rows.end(transaction, hasWritten);
    }
  }

  private read(name: ContentName, key: Uint8Array): Uint8Array | undefined {
    return this.live.look(environment => environment[name].getBinary(key));
  }
}

function removeMemory({ memories, stamps, blobs }: Environment, key: MemoryKey): void {
  for (const side of SIDES) blobs.removeSync(bytesOf(placesName(key, side)));
  memories.removeSync(keyBytes(key));
  stamps.removeSync(keyBytes(key));
}

/** What is written beside what is in use, and then takes its place. */
export const SIDES = [0, 1] as const;
export type Side = (typeof SIDES)[number];

/** Name of the blob that says where a memory's slots are in the workspace state; it leaves with the memory. */
export function placesName(key: MemoryKey, side: Side): string {
  return `${['places', 'places2'][side]} ${key}`;
}

/** Keys are ASCII; one that damage changed may have other bytes, and is found again by them. */
function keyBytes(key: MemoryKey): Uint8Array {
  return Buffer.from(key, 'latin1');
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
