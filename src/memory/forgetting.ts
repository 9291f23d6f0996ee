/**
 * Forgetting one file, a folder or everything: what leaves the store, what the ledger will say of it, and what to do where the
 * store can't be written. A file that was forgotten by its name stays so, as a skipped row, for as long as it lies on the disk
 * as it lay then, or until it is asked for again. Never changes a file of the workspace.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, codeOf } from '../base/index.js';
import { forgottenRow, isForgotten, wasForgotten } from './forgotten.js';
import { deleteState } from './kept-state.js';
import { SUMMARY_MARK } from './ledger-scan.js';
import { isWithoutRoom } from './ledger-view.js';
import type { LedgerRow, Store, StoreWriter } from './store/index.js';

/** Removes a file or a folder; gives its rows as they were. Throws `not-found`, and what `withAdvice` does. */
export async function forgetPath(store: Store, path: string, root: string): Promise<LedgerRow[]> {
  return withAdvice(path, store, async () => {
    for (const name of path.endsWith('/') ? [path] : [path, `${path}/`]) {
      const rows = store.ledger
        .all()
        .filter(row => row.path === name || (name.endsWith('/') && row.path.startsWith(name)));
      const kept = (await onDisk(rows, root)).filter(row => row.state !== 'skipped' || isForgotten(row));
      const { memories } = await store.forget(name, write => {
        for (const row of kept) write.putRow(forgottenRow(row));
        deleteWhatWasMade(write, store);
      });
      if (memories > 0 || rows.some(row => !isForgotten(row))) return rows;
    }
    throw new LongviewError('not-found', `${path} is not in the memory: see the paths in the list of files.`);
  });
}

/** The same with all that is remembered. */
export async function forgetEverything(store: Store): Promise<LedgerRow[]> {
  return withAdvice('The folder', store, async () => {
    const rows = store.ledger.all();
    await store.forgetAll(write => deleteWhatWasMade(write, store));
    return rows;
  });
}

/** What was made of several files: it may hold the forgotten one. */
function deleteWhatWasMade(write: StoreWriter, store: Store): void {
  deleteState(write, store);
  write.deleteBlob(SUMMARY_MARK);
}

/** Makes forgotten files new to the next look at the folder. */
export async function bringBackForgotten(store: Store): Promise<void> {
  const rows = store.ledger.all().filter(isForgotten);
  if (rows.length === 0) return;
  await store.batch(write => rows.forEach(row => write.deleteRow(row.path)));
}

/** Rows without a row now that the next look at the folder will find: they wait, or are skipped as before. */
export async function foundAgain(rows: readonly LedgerRow[], root: string, store: Store): Promise<LedgerRow[]> {
  const left = (await onDisk(rows, root)).filter(row => store.ledger.get(row.path) === undefined);
  return left.map(row =>
    row.state === 'skipped' && !isForgotten(row) ? row : { ...row, state: 'waiting', parts: [], reason: undefined },
  );
}

async function onDisk(rows: readonly LedgerRow[], root: string): Promise<LedgerRow[]> {
  const there = await Promise.all(
    rows.map(row =>
      access(join(root, row.path)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return rows.filter((_, at) => there[at]);
}

/** Writes what was found out of a file, unless it was forgotten since. False, and nothing written, where that is so. */
export async function unlessForgotten(
  path: string,
  store: Store,
  actions: (write: StoreWriter) => void,
): Promise<boolean> {
  let isThere = false;
  await store.batch(write => {
    isThere = !wasForgotten(path, store);
    if (isThere) actions(write);
  });
  return isThere;
}

/** Where the disk is full even what takes space away needs some: says how to go on. */
async function withAdvice<T>(what: string, store: Store, forget: () => Promise<T>): Promise<T> {
  try {
    return await forget();
  } catch (error) {
    if (!isWithoutRoom(error)) throw error;
    const [reason, first] =
      codeOf(error) === 'disk-full'
        ? ['the disk is full or fails', 'Free some space and try again']
        : [`${store.folder} may not be written`, 'Allow it and try again'];
    const remove = process.platform === 'win32' ? `rmdir /s /q "${store.folder}"` : `rm -r '${store.folder}'`;
    const advice = `${first}, or delete all memory of this folder, with no Longview running: ${remove}`;
    throw new LongviewError(codeOf(error), `${what} was not forgotten: ${reason}. ${advice}`, { cause: error });
  }
}
