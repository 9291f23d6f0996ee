/**
 * One refresh of a workspace's memory: becomes the one process that reads, scans, reads what waits, brings the workspace
 * state up to date. What was read stays whenever it ends. Never runs twice at a time: that is the caller's to see to.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { throwIfCancelled, type Log } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { Budget } from './budget.js';
import { bringBackForgotten } from './forgetting.js';
import { GistRoom } from './gist-room.js';
import { placedKeys } from './kept-state.js';
import type { LazyEngine } from './lazy-engine.js';
import { isToBeRead, scanLedger, type ScanResult } from './ledger-scan.js';
import type { LedgerView } from './ledger-view.js';
import { lookUpFiles } from './look-up.js';
import { coarsenessOf, memoryEndings } from './memory-keys.js';
import { readFiles, type ReadCounts } from './read-files.js';
import type { RecallIndex } from './recall-index.js';
import type { MemorySettings } from './settings.js';
import type { SourceFiles } from './source-files.js';
import { keysOf, type LedgerRow, type ReaderLease, type Store } from './store/index.js';
import { orderForReading } from './walk/index.js';
import type { ReadReport, RefreshOptions } from './workspace-memory.js';
import type { StateKeeper } from './workspace-state.js';

export interface RefreshParts {
  readonly store: Store;
  readonly files: SourceFiles;
  readonly engine: LazyEngine;
  /** Fingerprint of the model, when it is known without starting the engine. */
  readonly model: string | undefined;
  readonly settings: MemorySettings;
  readonly log: Log;
  /** Milliseconds between tries to become the reader. */
  readonly leaseRetry: number;
  readonly ledger: LedgerView;
  readonly index: RecallIndex;
  readonly state: StateKeeper;
}

export interface RefreshWork extends RefreshOptions {
  readonly signal: AbortSignal;
  /** `RefreshOptions.cpuShare`, as it is now. */
  readonly share?: () => number | undefined;
  /** The ledger says what is on the disk, as far as this process sees to it. */
  readonly onScanned: () => void;
}

/** Times that files whose memory turned out bad are read again in one run. */
const MOST_REPAIRS = 2;

interface Counts extends ReadCounts {
  gone: number;
}

export class Refresher {
  /** The file that is being read now. */
  reading: string | undefined;
  /** Memories may be there that nothing needs. */
  private isGarbageDue = false;

  constructor(private readonly parts: RefreshParts) {}

  async run(work: RefreshWork): Promise<ReadReport> {
    const start = performance.now();
    const counts: Counts = { read: 0, failed: 0, tokens: 0, gone: 0 };
    await this.asReader(work, own => this.readAll(own, counts));
    return {
      filesRead: counts.read,
      filesForgotten: counts.gone,
      filesFailed: counts.failed,
      tokensRead: counts.tokens,
      readMs: performance.now() - start,
    };
  }

  /**
   * Runs `action` as the one process that reads, with a signal that the end of that aborts too; again where another process
   * took over meanwhile.
   */
  async asReader<T>(work: RefreshWork, action: (work: RefreshWork) => Promise<T>): Promise<T> {
    for (;;) {
      const lease = await this.becomeReader(work);
      try {
        return await action({ ...work, signal: AbortSignal.any([work.signal, lease.lost]) });
      } catch (error) {
        // After a long sleep of the machine another process may have taken over: wait for it and look again.
        if (!lease.lost.aborted || work.signal.aborted) throw error;
      } finally {
        await lease.dispose();
      }
    }
  }

  /** Scans, and lets files stand on memories that are there; reads nothing into memory. For `asReader`. */
  async lookUp(work: RefreshWork, model: string): Promise<void> {
    const { store, files, settings, log } = this.parts;
    const { waiting } = await scanLedger({ ...work, store, files });
    work.onScanned();
    const gists = new GistRoom(store.ledger.all(), settings);
    await lookUpFiles(waiting, { ...work, store, files, model, settings, log, gists });
  }

  private async becomeReader({ signal, onProgress, onScanned }: RefreshWork): Promise<ReaderLease> {
    for (;;) {
      const lease = await this.parts.store.tryBecomeReader();
      if (!('heldBy' in lease)) return lease;
      onScanned(); // Who reads keeps the ledger up to date.
      onProgress?.({ task: 'Another Longview is reading this folder', done: 0, unit: 'files' });
      await sleep(this.parts.leaseRetry, undefined, { signal }).catch(() => undefined);
      throwIfCancelled(signal);
    }
  }

  private async readAll(work: RefreshWork, counts: Counts): Promise<void> {
    const { store, files, settings, log, ledger, index, state } = this.parts;
    const engine = (): Promise<Engine> => this.parts.engine.get();
    if (work.forgotten === true) await bringBackForgotten(store);
    const { waiting, gone } = work.walk === false ? this.known(work) : await scanLedger({ ...work, store, files });
    counts.gone += gone;
    work.onScanned();
    const model = this.parts.model ?? (await engine()).model.fingerprint;
    const { only = () => true } = work;
    const wanted = new Set(waiting);
    const unusable = await index.sync(ledger.readRows());
    // A few files that changed are read without a look at all the others.
    if (work.state !== false) {
      const ending = memoryEndings(model, settings);
      const ofOthers = store.ledger.all().filter(row => isOfOther(row, ending));
      await ledger.setAside([...ofOthers, ...unusable]);
      await ledger.markUsed(work.first ?? []);
      for (const path of this.waitingPaths()) wanted.add(path);
    }
    const budget = new Budget({ ...work, store, engine, model, settings, log }, key => index.ramOf(key));
    await budget.keep();
    let paths = [...wanted].filter(only);
    for (let repair = 0; repair <= MOST_REPAIRS; repair++) {
      if (paths.length > 0) {
        const gists = new GistRoom(store.ledger.all(), settings);
        const onFile = (path: string | undefined): void => void (this.reading = path);
        const read = await readFiles(paths, {
          ...work,
          store,
          files,
          engine,
          model,
          settings,
          log,
          onFile,
          gists,
          budget,
        });
        counts.read += read.read;
        counts.failed += read.failed;
        counts.tokens += read.tokens;
      }
      if (work.only || work.state === false) break;
      const bad = await state.bringUpToDate(ledger.readRows(), { ...work, engine, model });
      await ledger.setAside(bad);
      if (bad.length === 0) break;
      paths = bad.map(row => row.path);
    }
    this.isGarbageDue ||= counts.read + gone > 0;
    if (work.state === false || !this.isGarbageDue) return;
    this.isGarbageDue = false;
    // What is still in the state can be taken out of it only while its memory is there.
    const keep = new Set(placedKeys(store));
    const keepBytes = Math.min(settings.keepBytes, budget.diskLeft);
    await store.collectGarbage({ keepBytes, keep });
  }

  /** As a scan that finds nothing new. */
  private known({ first }: RefreshWork): Pick<ScanResult, 'waiting' | 'gone'> {
    const rows = this.parts.store.ledger.all().filter(isToBeRead);
    return { waiting: orderForReading(rows, { first }).map(row => row.path), gone: 0 };
  }

  private waitingPaths(): string[] {
    return this.parts.store.ledger
      .all()
      .filter(row => row.state === 'waiting' || row.state === 'reading')
      .map(row => row.path);
  }
}

/** True if what the row stands on is of another model, or not as its state says. */
function isOfOther(row: LedgerRow, endings: ReturnType<typeof memoryEndings>): boolean {
  if (row.state === 'read') return !keysOf(row).every(key => key.endsWith(endings(row.path)));
  return row.state === 'coarse' && keysOf(row).some(key => coarsenessOf(key, row.path, endings) === undefined);
}
