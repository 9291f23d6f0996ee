/**
 * The ledger as one model sees it: a row that stands on another model's memory stands on this one's, where it is kept, or
 * waits. Looking changes nothing: the other model finds its rows as it left them. Never reads files.
 */
import { memoryKeyOf } from './read-files.js';
import type { MemorySettings } from './settings.js';
import type { LedgerRow, Store } from './store/index.js';

/** `model`: fingerprint; while it is not known, rows are shown as they are. */
export function rowsOfModel(store: Store, model: string | undefined, settings: MemorySettings): LedgerRow[] {
  const ending = model === undefined ? '' : endingOf(model, settings);
  return store.ledger.all().map(row => rowOfModel(row, store, model, settings, ending));
}

/** The same for one row of the ledger. */
export function rowOfModel(
  row: LedgerRow,
  store: Store,
  model: string | undefined,
  settings: MemorySettings,
  ending = model === undefined ? '' : endingOf(model, settings),
): LedgerRow {
  if (model === undefined || row.memoryKey?.endsWith(ending) !== false) return row;
  const { path, size, mtimeMs, contentHash } = row;
  const memoryKey = memoryKeyOf(path, contentHash, model, settings);
  const memory = store.getMemory(memoryKey);
  if (!memory?.ok) return { path, size, mtimeMs, contentHash: '', state: 'waiting' };
  return { ...row, memoryKey, tokens: memory.value.tokens, slots: memory.value.recall.slots };
}

/** What the memories of one model and settings have in common: the last two parts of their keys. */
function endingOf(model: string, settings: MemorySettings): string {
  const key = memoryKeyOf('', '', model, settings);
  return key.slice(key.lastIndexOf('.', key.lastIndexOf('.') - 1));
}
