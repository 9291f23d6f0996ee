/**
 * Looks up rows of the ledger. What was decoded once is not decoded again while its bytes stay the same, so that a look at
 * all rows costs little. Bad rows are told once and count as absent. Never writes but to remove those.
 */
import type { Log } from '../../base/index.js';
import type { ByteDatabase } from './databases.js';
import { decodeLedgerRow, ledgerKey } from './ledger-row.js';
import type { LedgerRow } from './ledger-row.js';

interface KnownRow {
  readonly bytes: Buffer;
  readonly row: LedgerRow;
}

export class LedgerRows {
  /** By keys as latin1. */
  private known = new Map<string, KnownRow>();
  /** Keys and bytes of rows that turned out bad; the next commit removes them. */
  private readonly bad = new Map<string, Buffer>();

  constructor(private readonly log: Log) {}

  get(ledger: ByteDatabase, path: string): LedgerRow | undefined {
    const key = ledgerKey(path);
    const bytes = ledger.getBinary(key);
    return bytes === undefined ? undefined : this.good(key, bytes)?.row;
  }

  /** All good rows, in the order of the keys' bytes. */
  all(ledger: ByteDatabase): LedgerRow[] {
    const rows: LedgerRow[] = [];
    // What is gone is known no longer.
    const known = new Map<string, KnownRow>();
    for (const { key, value } of ledger.getRange()) {
      const found = this.good(key, value);
      if (found === undefined) continue;
      known.set(idOf(key), found);
      rows.push(found.row);
    }
    this.known = known;
    return rows;
  }

  /** In a transaction. */
  dropBad(ledger: ByteDatabase): void {
    for (const [id, bad] of this.bad) {
      const key = Buffer.from(id, 'latin1');
      // Another process may have written it anew.
      if (ledger.getBinary(key)?.equals(bad)) ledger.removeSync(key);
    }
    this.bad.clear();
  }

  private good(key: Uint8Array, bytes: Uint8Array): KnownRow | undefined {
    const id = idOf(key);
    const known = this.known.get(id);
    if (known?.bytes.equals(bytes)) return known;
    const row = decodeLedgerRow(bytes);
    if (row.ok && Buffer.compare(key, ledgerKey(row.value.path)) === 0) {
      const found = { bytes: Buffer.from(bytes), row: row.value };
      this.known.set(id, found);
      return found;
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
