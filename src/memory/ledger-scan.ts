/**
 * Brings the ledger up to date with what is on disk, without the engine: new files wait, changed ones are stale, what is
 * gone leaves. A file whose time changed but whose bytes did not only gets its row refreshed.
 */
import { throwIfCancelled, type ProgressListener, walkedAfterChangeOf } from '../base/index.js';
import { isForgotten, wasForgotten } from './forgotten.js';
import { GiveWay } from './give-way.js';
import { inOrder } from './in-order.js';
import type { Known, SeenFile, SourceFiles } from './source-files.js';
import { isWhole, keysOf, partsOf, type LedgerRow, type Store, type StoreWriter } from './store/index.js';
import { orderForReading } from './walk/index.js';

/** Name of the blob that holds the mark of the last summary of changes. */
export const SUMMARY_MARK = 'summary mark';
/** Reason of a file whose text the engine failed on. */
export const NOT_FOR_THE_MODEL = 'not readable by the model';
/** A file the engine failed on is left alone that long (milliseconds), unless it changes: each try may cost a restart. */
const RETRY_AFTER = 3_600_000;

/** Files that are hashed at a time. */
const FILES_AT_ONCE = 4;
/** Rows of one transaction. */
const ROWS_AT_ONCE = 250;
/** So many rows are looked at beside those of a scan of some paths. */
const MOST_LOOKED_AT_AGAIN = 100;

/** True if the reason of a skipped file may have passed by itself, so that it is tried again. */
function mayHavePassed({ reason, readAt = 0 }: LedgerRow): boolean {
  if (reason === NOT_FOR_THE_MODEL) return Date.now() - readAt > RETRY_AFTER;
  return reason === 'unreadable' || reason === 'changing';
}

/** True if a refresh reads the file. */
export function isToBeRead({ state }: LedgerRow): boolean {
  return state === 'waiting' || state === 'reading' || state === 'stale';
}

export interface ScanParts {
  readonly store: Store;
  readonly files: SourceFiles;
  /** What changed, where it is known: looks there only; the rows come out as those of a whole scan (but see `WalkOptions.only`). */
  readonly paths?: readonly string[];
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
  /** Rows written or removed. */
  readonly changes: number;
}

export async function scanLedger(parts: ScanParts): Promise<ScanResult> {
  const { store, files, first, signal, onProgress } = parts;
  await store.ledger.prepare();
  const before = new Map(store.ledger.all().map(row => [row.path, row]));
  const only = parts.paths && partOf(parts.paths, before);
  // Of a folder that nobody had looked at, some files are not what is to be known.
  if (parts.paths && before.size === 0) return { waiting: [], gone: 0, changes: 0 };
  const covered = new Set<string>();
  const changes: ((write: StoreWriter) => void)[] = [];
  const waiting: LedgerRow[] = [];
  let seen = 0;
  let gone = 0;
  const leave = (row: LedgerRow): void => {
    if (isWhole(row)) gone++;
  };
  const known: Known = (path, size, mtimeMs) => {
    const row = before.get(path);
    if (row?.size !== size || row.mtimeMs !== mtimeMs) return undefined;
    if (partsOf(row).length > 0 || row.state === 'waiting') return true;
    return row.state === 'skipped' && !mayHavePassed(row) ? row.reason : undefined;
  };
  const walk = files.walk(known, { only, onCovered: path => void covered.add(path), signal });
  const rows = inOrder(walk, FILES_AT_ONCE, async file => {
    const old = before.get(file.path);
    return { old, row: await nextRow(file, old, store, files) };
  });
  for await (const { old, row } of rows) {
    throwIfCancelled(signal);
    onProgress?.({ task: 'Looking for changes', done: ++seen, unit: 'files', item: row.path });
    before.delete(row.path);
    if (isToBeRead(row)) waiting.push(row);
    if (old && !isWhole(row)) leave(old);
    if (old && sameRow(old, row)) continue;
    changes.push(write => {
      // What was forgotten meanwhile stays so until the next look.
      if (!old || isForgotten(old) || !wasForgotten(row.path, store)) write.putRow(row);
    });
  }
  throwIfCancelled(signal);
  for (const row of before.values()) {
    if (only && !isCovered(row.path, covered)) continue;
    leave(row);
    changes.push(write => write.deleteRow(row.path));
  }
  const others = new GiveWay();
  for (let at = 0; at < changes.length; at += ROWS_AT_ONCE) {
    await store.batch(write => changes.slice(at, at + ROWS_AT_ONCE).forEach(change => change(write)));
    await others.step();
  }
  await store.ledger.prepare();
  return { waiting: orderForReading(waiting, { first }).map(row => row.path), gone, changes: changes.length };
}

/** What to walk after changes of `paths`; undefined for everything. */
function partOf(paths: readonly string[], rows: ReadonlyMap<string, LedgerRow>): string[] | undefined {
  const walked = paths.map(walkedAfterChangeOf).filter(path => path !== undefined);
  if (walked.includes('')) return undefined;
  return [...walked.map(path => outermost(path, rows)), ...toLookAtAgain(rows)];
}

/** The path, or a folder on the way to it that was a file or was skipped as a whole: then nothing is known of the rest of it. */
function outermost(path: string, rows: ReadonlyMap<string, LedgerRow>): string {
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    const folder = path.slice(0, end);
    if (rows.has(folder) || rows.has(`${folder}/`)) return folder;
  }
  return path;
}

/** What an event elsewhere may have changed: links that led nowhere, files that could not be opened. */
function toLookAtAgain(rows: ReadonlyMap<string, LedgerRow>): string[] {
  const again: string[] = [];
  for (const row of rows.values()) {
    if (again.length === MOST_LOOKED_AT_AGAIN) break;
    if (row.state === 'skipped' && (row.reason === 'unreadable' || row.reason === 'outside workspace')) {
      again.push(row.path);
    }
  }
  return again;
}

/** True if the path, or a folder it is in, is among `covered`. */
function isCovered(path: string, covered: ReadonlySet<string>): boolean {
  if (covered.has(path)) return true;
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    if (covered.has(path.slice(0, end))) return true;
  }
  return false;
}

/** What the walk alone decides, by rules that may have changed: a file that it gives now is to be read. */
function isByRule({ reason = '' }: LedgerRow): boolean {
  return /^(ignored|secret|generated|minified|lock file|too large|outside workspace|link)$/.test(reason);
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
    const stays = old.state === 'skipped' && untouched && !mayHavePassed(old) && !isByRule(old);
    return stays ? old : fresh;
  }
  if (untouched) return old;
  if (old.state === 'reading') return fresh;
  const source = await files.read(path);
  if (source.ok && source.value.contentHash === old.contentHash) {
    return { ...old, size, mtimeMs, state: old.state === 'coarse' ? 'coarse' : 'read', reason: source.value.partial };
  }
  return { ...old, size, mtimeMs, state: 'stale', reason: source.ok ? undefined : source.reason };
}

function sameRow(a: LedgerRow, b: LedgerRow): boolean {
  return JSON.stringify(a) === JSON.stringify({ ...b });
}
