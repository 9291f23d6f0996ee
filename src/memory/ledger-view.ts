/**
 * The ledger as one model sees it: a row that stands on another model's memory stands on this one's, where it is kept, or
 * waits. Looking changes nothing: the other model finds its rows as it left them. Never reads files.
 */
import { codeOf, messageOf, type Log } from '../base/index.js';
import { wasForgotten } from './forgotten.js';
import { dropState } from './kept-state.js';
import { coarsenessOf, memoryEndings, memoryKeyOf, withEnding } from './memory-keys.js';
import { hashOfParts } from './parts.js';
import type { MemorySettings } from './settings.js';
import {
  filePart,
  hasWholeGist,
  isOfUse,
  keysOf,
  partsOf,
  type FilePart,
  type LedgerRow,
  type Store,
} from './store/index.js';

/** A row is written at most so often for being used. */
const USED_STEP_MS = 3_600_000;

export interface LedgerViewParts {
  readonly store: Store;
  readonly settings: MemorySettings;
  readonly log: Log;
  /** Fingerprint of the model that looks; while it is not known, rows are shown as they are. */
  readonly model: () => string | undefined;
}

/** Whether something could not be written because the disk is full or may only be read. */
export function isWithoutRoom(error: unknown): boolean {
  return ['disk-full', 'permission'].includes(codeOf(error));
}

export class LedgerView {
  /** Rows that stand on memories of `seenBy` as they are. */
  private own = new WeakSet<LedgerRow>();
  private seenBy: string | undefined;

  constructor(private readonly parts: LedgerViewParts) {}

  get model(): string | undefined {
    return this.parts.model();
  }

  rows(): LedgerRow[] {
    const endings = this.endings();
    return this.parts.store.ledger.all().map(row => this.seen(row, endings));
  }

  row(path: string): LedgerRow | undefined {
    const row = this.parts.store.ledger.get(path);
    return row && this.seen(row, this.endings());
  }

  /** Files whose memory stands for what is on the disk. */
  readRows(): LedgerRow[] {
    return this.rows().filter(row => isOfUse(row));
  }

  /** Makes files wait whose memory cannot be used: damaged, or of another model. */
  async setAside(rows: readonly LedgerRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { store, log } = this.parts;
    for (const row of rows) {
      if (keysOf(row).some(key => store.hasMemory(key))) {
        log('info', `The memory of ${row.path} is not usable as it is; the file is read again.`);
      }
    }
    await this.note(async () => {
      await store.batch(write => {
        for (const { path, size, mtimeMs } of rows) {
          // It may have been forgotten since it was looked at.
          if (wasForgotten(path, store)) continue;
          write.putRow({ path, size, mtimeMs, contentHash: '', state: 'waiting' });
        }
      });
      await dropState(store);
    });
  }

  async markStale(paths: ReadonlySet<string>): Promise<void> {
    if (paths.size === 0) return;
    const { store } = this.parts;
    await this.note(() =>
      store.batch(write => {
        for (const path of paths) {
          const row = store.ledger.get(path);
          if (row && isOfUse(row)) write.putRow({ ...row, state: 'stale' });
        }
      }),
    );
  }

  /** Answers go on where what they found can't be noted. */
  private async note(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isWithoutRoom(error)) throw error;
      this.parts.log('info', `Not noted: ${messageOf(error)}`);
    }
  }

  /** Notes that files were recalled or are open, to an hour: what is long out of use is coarsened first. */
  async markUsed(paths: Iterable<string>): Promise<void> {
    const { store } = this.parts;
    const now = Date.now();
    const late = [...new Set(paths)].filter(path => {
      const row = store.ledger.get(path);
      return row !== undefined && now - (row.usedAt ?? 0) > USED_STEP_MS;
    });
    if (late.length === 0) return;
    await this.note(() =>
      store.batch(write => {
        for (const path of late) {
          const row = store.ledger.get(path);
          if (row) write.putRow({ ...row, usedAt: now });
        }
      }),
    );
  }

  private seen(row: LedgerRow, endings: ReturnType<typeof memoryEndings> | undefined): LedgerRow {
    const { path, size, mtimeMs } = row;
    const { seenBy: model } = this;
    if (endings === undefined || model === undefined || this.own.has(row)) return row;
    if (keysOf(row).every(key => coarsenessOf(key, path, endings) !== undefined)) {
      this.own.add(row);
      return row;
    }
    const ending = endings(path);
    const waiting: LedgerRow = { path, size, mtimeMs, contentHash: '', state: 'waiting' };
    const parts: FilePart[] = [];
    const hashes: string[] = [];
    for (const { key: other, firstLine } of partsOf(row)) {
      const key = withEnding(other, ending);
      const memory = this.parts.store.getRecall(key);
      if (!memory?.ok) return waiting;
      parts.push(filePart(firstLine, key, memory.value));
      hashes.push(memory.value.contentHash);
    }
    const fine: LedgerRow = { ...row, state: row.state === 'coarse' ? 'read' : row.state, parts, gist: undefined };
    // One model may have read the file with gists and the other without.
    if (row.state === 'reading' || !hasWholeGist(parts)) return fine;
    const gist = memoryKeyOf(path, hashOfParts(hashes), model, this.parts.settings);
    return this.parts.store.hasMemory(gist) ? { ...fine, gist } : waiting;
  }

  /** What the memories of the model and the settings have in common; none while the model is not known. */
  private endings(): ReturnType<typeof memoryEndings> | undefined {
    const { model } = this;
    if (model === undefined) return undefined;
    if (model !== this.seenBy) this.own = new WeakSet();
    this.seenBy = model;
    return memoryEndings(model, this.parts.settings);
  }
}
