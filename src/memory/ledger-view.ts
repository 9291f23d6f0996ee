/**
 * The ledger as one model sees it: a row that stands on another model's memory stands on this one's, where it is kept, or
 * waits. Looking changes nothing: the other model finds its rows as it left them. Never reads files.
 */
import type { Log } from '../base/index.js';
import { STATE_BLOB } from './ledger-scan.js';
import { memoryKeyOf } from './read-files.js';
import type { MemorySettings } from './settings.js';
import type { LedgerRow, Store } from './store/index.js';

export interface LedgerViewParts {
  readonly store: Store;
  readonly settings: MemorySettings;
  readonly log: Log;
  /** Fingerprint of the model that looks; while it is not known, rows are shown as they are. */
  readonly model: () => string | undefined;
}

export class LedgerView {
  constructor(private readonly parts: LedgerViewParts) {}

  get model(): string | undefined {
    return this.parts.model();
  }

  rows(): LedgerRow[] {
    const ending = this.ending();
    return this.parts.store.ledger.all().map(row => this.seen(row, ending));
  }

  row(path: string): LedgerRow | undefined {
    const row = this.parts.store.ledger.get(path);
    return row && this.seen(row, this.ending());
  }

  /** Files whose memory stands for what is on the disk. */
  readRows(): LedgerRow[] {
    return this.rows().filter(row => row.state === 'read' && row.memoryKey !== undefined);
  }

  /** Makes files wait whose memory cannot be used: damaged, or of another model. */
  async setAside(rows: readonly LedgerRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { store, log } = this.parts;
    for (const { path, memoryKey } of rows) {
      if (memoryKey !== undefined && store.hasMemory(memoryKey)) {
        log('info', `The memory of ${path} is not usable as it is; the file is read again.`);
      }
    }
    await store.batch(write => {
      for (const { path, size, mtimeMs } of rows) {
        write.putRow({ path, size, mtimeMs, contentHash: '', state: 'waiting' });
      }
      write.deleteBlob(STATE_BLOB);
    });
  }

  async markStale(paths: ReadonlySet<string>): Promise<void> {
    if (paths.size === 0) return;
    const { store } = this.parts;
    await store.batch(write => {
      for (const path of paths) {
        const row = store.ledger.get(path);
        if (row?.state === 'read') write.putRow({ ...row, state: 'stale' });
      }
    });
  }

  private seen(row: LedgerRow, ending: string): LedgerRow {
    const { model, settings, store } = { ...this.parts, model: this.model };
    if (model === undefined || row.memoryKey?.endsWith(ending) !== false) return row;
    const { path, size, mtimeMs, contentHash } = row;
    const memoryKey = memoryKeyOf(path, contentHash, model, settings);
    const memory = store.getMemory(memoryKey);
    if (!memory?.ok) return { path, size, mtimeMs, contentHash: '', state: 'waiting' };
    return { ...row, memoryKey, tokens: memory.value.tokens, slots: memory.value.recall.slots };
  }

  /** What the memories of the model and the settings have in common: the last two parts of their keys. */
  private ending(): string {
    if (this.model === undefined) return '';
    const key = memoryKeyOf('', '', this.model, this.parts.settings);
    return key.slice(key.lastIndexOf('.', key.lastIndexOf('.') - 1));
  }
}
