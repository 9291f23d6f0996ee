/** How the ledger says that a file was forgotten: its row is gone, or says so. Never forgets anything: that is `forgetting.ts`. */
import type { LedgerRow, Store } from './store/index.js';

const FORGOTTEN = 'forgotten';

/** The row of a file that is on the disk and stays forgotten while it is as it was. */
export function forgottenRow({ path, size, mtimeMs }: LedgerRow): LedgerRow {
  return { path, size, mtimeMs, contentHash: '', state: 'skipped', reason: FORGOTTEN };
}

export function isForgotten({ state, reason }: LedgerRow): boolean {
  return state === 'skipped' && reason === FORGOTTEN;
}

/** Of a file that had a row: a look at the folder gives every file one. */
export function wasForgotten(path: string, store: Store): boolean {
  const row = store.ledger.get(path);
  return row === undefined || isForgotten(row);
}
