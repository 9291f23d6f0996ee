/**
 * The rows of the ledger in the environment that is open. All of them are kept as they were decoded last: up to date with what
 * this process writes, and looked through anew once another process has written, which the number of the last transaction
 * tells; then those are decoded again whose bytes are other ones. Bad rows are told once and count as absent.
 */
import type { Log } from '../../base/index.js';
import type { Databases } from './databases.js';
import { decodeLedgerRow, encodeLedgerRow, ledgerKey } from './ledger-row.js';
import type { LedgerRow } from './ledger-row.js';

interface KnownRows {
  readonly root: Databases['root'];
  /** Number of the transaction that they are the rows of. */
  transaction: number;
  /** By path, in the order of their keys. */
  readonly rows: Map<string, LedgerRow>;
}

interface DecodedRow {
  readonly bytes: Buffer;
  readonly row: LedgerRow;
}

/** Rows that are looked through in one step. */
const ROWS_AT_ONCE = 250;

export class LedgerRows {
  private known: KnownRows | undefined;
  /** By keys as latin1. */
  private decoded = new Map<string, DecodedRow>();
  /** Rows that the transaction that runs has written; undefined for those it has removed. */
  private changes: Map<string, LedgerRow | undefined> | undefined;
  /** Keys and bytes of rows that turned out bad; the next transaction removes them. */
  private readonly bad = new Map<string, Buffer>();

  constructor(private readonly log: Log) {}

  get({ ledger }: Databases, path: string): LedgerRow | undefined {
    const key = ledgerKey(path);
    const bytes = ledger.getBinary(key);
    return bytes === undefined ? undefined : this.good(key, bytes)?.row;
  }

  /** All good rows, in the order of their keys. */
  all(databases: Databases): LedgerRow[] {
    const { root, ledger } = databases;
    if (this.changes !== undefined && this.changes.size > 0) {
      return this.goodOf(ledger.getRange()).map(({ row }) => row);
    }
    if (!this.isKnown(root)) {
      const transaction = lastTransaction(root);
      // What is read until the end of the event's turn may be of a transaction before that.
      if (this.changes === undefined) root.resetReadTxn();
      this.know(root, transaction, this.goodOf(ledger.getRange()));
    }
    return [...this.known!.rows.values()];
  }

  /** Looks through all rows in steps, so that `all` has them, unless somebody writes meanwhile. Not in a transaction. */
  *loading({ root, ledger }: Databases): Generator<void> {
    if (this.isKnown(root)) return;
    const transaction = lastTransaction(root);
    const rows: DecodedRow[] = [];
    for (let start: Uint8Array | undefined; ;) {
      root.resetReadTxn();
      const entries = [...ledger.getRange({ start, exclusiveStart: start !== undefined, limit: ROWS_AT_ONCE })];
      rows.push(...this.goodOf(entries));
      if (entries.length < ROWS_AT_ONCE) break;
      start = Buffer.from(entries.at(-1)!.key);
      yield;
    }
    if (lastTransaction(root) === transaction) this.know(root, transaction, rows);
  }

  put({ ledger }: Databases, row: LedgerRow): void {
    ledger.putSync(ledgerKey(row.path), Buffer.from(encodeLedgerRow(row).buffer));
    this.changes?.set(row.path, row);
  }

  /** False where there was none. */
  remove({ ledger }: Databases, path: string): boolean {
    if (!ledger.removeSync(ledgerKey(path))) return false;
    this.changes?.set(path, undefined);
    return true;
  }

  /** To be called at the start of a transaction: removes rows that turned out bad. */
  begin({ ledger }: Databases): void {
    this.changes = new Map();
    for (const [id, bad] of this.bad) {
      const key = Buffer.from(id, 'latin1');
      // Another process may have written it anew.
      if (ledger.getBinary(key)?.equals(bad)) ledger.removeSync(key);
    }
    this.bad.clear();
  }

  /** To be called after it; `transaction`: its number, where it is on the disk; `hasWritten`: something besides rows. */
  end(transaction: number | undefined, hasWritten: boolean): void {
    const { known, changes } = this;
    this.changes = undefined;
    // One that wrote nothing has no number.
    if (transaction === undefined || changes === undefined || !(hasWritten || changes.size > 0)) return;
    if (known?.transaction !== transaction - 1) return;
    for (const [path, row] of changes) {
      if (row === undefined) known.rows.delete(path);
      else if (known.rows.has(path)) known.rows.set(path, row);
      // A new one would stand in the wrong place.
      else return void (this.known = undefined);
    }
    known.transaction = transaction;
  }

  private isKnown(root: Databases['root']): boolean {
    return this.known?.root === root && this.known.transaction === lastTransaction(root);
  }

  private know(root: Databases['root'], transaction: number, all: readonly DecodedRow[]): void {
    this.known = { root, transaction, rows: new Map(all.map(({ row }) => [row.path, row])) };
    // What is gone needs not be kept.
    if (this.decoded.size > all.length) {
      this.decoded = new Map(all.map(decoded => [idOf(ledgerKey(decoded.row.path)), decoded]));
    }
  }

  private goodOf(entries: Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>): DecodedRow[] {
    const rows: DecodedRow[] = [];
    for (const { key, value } of entries) {
      const row = this.good(key, value);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  private good(key: Uint8Array, bytes: Uint8Array): DecodedRow | undefined {
    const id = idOf(key);
    const before = this.decoded.get(id);
    if (before?.bytes.equals(bytes)) return before;
    const row = decodeLedgerRow(bytes);
    if (row.ok && Buffer.compare(key, ledgerKey(row.value.path)) === 0) {
      const decoded = { bytes: Buffer.from(bytes), row: row.value };
      this.decoded.set(id, decoded);
      return decoded;
    }
    if (!this.bad.has(id)) {
      const reason = row.ok ? 'another path' : row.reason;
      const path = Buffer.from(key).toString('utf8');
      this.log('warning', `The ledger row of ${path} is bad (${reason}); the file is read again.`);
    }
    this.bad.set(id, Buffer.from(bytes));
    return undefined;
  }
}

function idOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

/** Number of the last transaction of any process. */
function lastTransaction(root: Databases['root']): number {
  return (root.getStats() as { readonly lastTxnId: number }).lastTxnId;
}
