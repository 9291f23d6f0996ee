/**
 * Forgetting one file, a folder or everything: what leaves the store, what the ledger will say of it, and what to do where the
 * store can't be written. Never changes a file of the workspace.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, codeOf } from '../base/index.js';
import { isWithoutRoom } from './ledger-view.js';
import type { LedgerRow, Store, StoreWriter } from './store/index.js';

/** Removes a file or a folder; gives its rows as they were. Throws `not-found`, and what `withAdvice` does. */
export async function forgetPath(store: Store, path: string): Promise<LedgerRow[]> {
  return withAdvice(path, store, async () => {
    for (const name of path.endsWith('/') ? [path] : [path, `${path}/`]) {
      const rows = store.ledger
        .all()
        .filter(row => row.path === name || (name.endsWith('/') && row.path.startsWith(name)));
      const gone = await store.forget(name);
      if (gone.rows + gone.memories > 0) return rows;
    }
    throw new LongviewError('not-found', `${path} is not in the memory: see the paths in the list of files.`);
  });
}

/** The same with all that is remembered. */
export async function forgetEverything(store: Store): Promise<LedgerRow[]> {
  return withAdvice('The folder', store, async () => {
    const rows = store.ledger.all();
    const memories = store.listKeys();
    await store.batch(write => {
      for (const row of rows) write.deleteRow(row.path);
      for (const { key } of memories) write.deleteMemory(key);
    });
    return rows;
  });
}

/** Rows of forgotten files that the next look at the folder will find: they wait, or are skipped as before. */
export async function foundAgain(rows: readonly LedgerRow[], root: string): Promise<LedgerRow[]> {
  const there = await Promise.all(
    rows.map(row =>
      access(join(root, row.path)).then(
        () => true,
        () => false,
      ),
    ),
  );
  const left = rows.filter((_, at) => there[at]);
  return left.map(row => (row.state === 'skipped' ? row : { ...row, state: 'waiting', parts: [] }));
}

/**
 * Writes what was found out of a file, unless it was forgotten since: a look at the folder gives every file a row, which
 * forgetting takes away. False, and nothing written, where that is so.
 */
export async function unlessForgotten(
  path: string,
  store: Store,
  actions: (write: StoreWriter) => void,
): Promise<boolean> {
  let isThere = false;
  await store.batch(write => {
    isThere = store.ledger.get(path) !== undefined;
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
