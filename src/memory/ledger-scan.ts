/**
 * Brings the ledger up to date with what is on disk, without the engine: new files wait, changed ones are stale, what is
 * gone leaves. A file whose time changed but whose bytes did not only gets its row refreshed.
 */
import { throwIfCancelled, type ProgressListener } from '../base/index.js';
import type { Known, SeenFile, SourceFiles } from './source-files.js';
import { isWhole, keysOf, partsOf, type LedgerRow, type Store, type StoreWriter } from './store/index.js';
import { orderForReading } from './walk/index.js';

/** Name of the blob that holds the workspace state; a file that leaves takes the state with it, to be composed again. */
export const STATE_BLOB = 'state';
/** Name of the blob that holds the mark of the last summary of changes. */
export const SUMMARY_MARK = 'summary mark';
/** Name of the blob that says, in ASCII, the fingerprint of the model that the state is of. */
export const STATE_MODEL_BLOB = 'state-model';
/** Reason of a file whose text the engine failed on. */
export const NOT_FOR_THE_MODEL = 'not readable by the model';
/** A file the engine failed on is left alone that long (milliseconds), unless it changes: each try may cost a restart. */
const RETRY_AFTER = 3_600_000;

/** True if the reason of a skipped file may have passed by itself, so that it is tried again. */
function mayHavePassed({ reason, readAt = 0 }: LedgerRow): boolean {
  if (reason === NOT_FOR_THE_MODEL) return Date.now() - readAt > RETRY_AFTER;
  return reason === 'unreadable' || reason === 'changing';
}

export interface ScanParts {
  readonly store: Store;
  readonly files: SourceFiles;
  /** Paths to read before all others. */
  readonly first?: readonly string[];
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

export interface ScanResult {
  /** Paths to read, in reading order. */
  readonly waiting: readonly string[];
  /** Files that had a memory and are gone. */
  readonly gone: number;
}

export async function scanLedger({ store, files, first, signal, onProgress }: ScanParts): Promise<ScanResult> {
  const before = new Map(store.ledger.all().map(row => [row.path, row]));
  const changes: ((write: StoreWriter) => void)[] = [];
  const waiting: LedgerRow[] = [];
  let seen = 0;
  let gone = 0;
  const leave = (row: LedgerRow): void => {
    if (!isWhole(row)) return;
    gone++;
    changes.push(write => write.deleteBlob(STATE_BLOB));
  };
  const known: Known = (path, size, mtimeMs) => {
    const row = before.get(path);
    if (row?.size !== size || row.mtimeMs !== mtimeMs) return undefined;
    if (partsOf(row).length > 0) return true;
    return row.state === 'skipped' && !mayHavePassed(row) ? row.reason : undefined;
  };
  for await (const file of files.walk(known, signal)) {
    throwIfCancelled(signal);
    onProgress?.({ task: 'Looking for changes', done: ++seen, unit: 'files', item: file.path });
    const old = before.get(file.path);
    before.delete(file.path);
    const row = await nextRow(file, old, store, files);
    if (row.state === 'waiting' || row.state === 'reading' || row.state === 'stale') waiting.push(row);
    if (old && !isWhole(row)) leave(old);
    if (!old || !sameRow(old, row)) changes.push(write => write.putRow(row));
  }
  throwIfCancelled(signal);
  for (const row of before.values()) {
    leave(row);
    changes.push(write => write.deleteRow(row.path));
  }
  for (let at = 0; at < changes.length; at += 5000) {
    await store.batch(write => changes.slice(at, at + 5000).forEach(change => change(write)));
  }
  return { waiting: orderForReading(waiting, { first }).map(row => row.path), gone };
}

async function nextRow(
  file: SeenFile,
  old: LedgerRow | undefined,
  store: Store,
  files: SourceFiles,
): Promise<LedgerRow> {
  const { path, size, mtimeMs } = file;
  const fresh: LedgerRow = { path, size, mtimeMs, contentHash: '', state: 'waiting' };
  if (file.skipped !== undefined) return { ...fresh, state: 'skipped', reason: file.skipped };
  if (!old) return fresh;
  const untouched = old.size === size && old.mtimeMs === mtimeMs;
  const keys = keysOf(old);
  if (keys.length === 0 || !keys.every(key => store.hasMemory(key))) {
    const stays = old.state === 'skipped' && untouched && !mayHavePassed(old);
    return stays ? old : fresh;
  }
  if (untouched) return old;
  if (old.state === 'reading') return fresh;
  const source = await files.read(path);
  if (source.ok && source.value.contentHash === old.contentHash) {
    return { ...old, size, mtimeMs, state: old.state === 'coarse' ? 'coarse' : 'read', reason: undefined };
  }
  return { ...old, size, mtimeMs, state: 'stale', reason: source.ok ? undefined : source.reason };
}

function sameRow(a: LedgerRow, b: LedgerRow): boolean {
  return JSON.stringify(a) === JSON.stringify({ ...b });
}
