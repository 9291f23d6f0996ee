/**
 * The memory of one workspace: the ledger, the file memories, recall and the workspace state behind one interface.
 * Calls that change the ledger run one at a time, and only one process reads at a time. What needs no model (ledger,
 * status, forgetting) never starts the engine.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { failed, ok, throwIfCancelled, type Log, type Result } from '../base/index.js';
import type { Engine, PackedSlots } from '../engine/index.js';
import { closeStore } from './close-store.js';
import { documentKind, placeName } from './documents/index.js';
import { forgetEverything, forgetPath, foundAgain } from './forgetting.js';
import type { LazyEngine } from './lazy-engine.js';
import { dropState } from './kept-state.js';
import { SUMMARY_MARK, scanLedger } from './ledger-scan.js';
import { LedgerView, isWithoutRoom } from './ledger-view.js';
import {
  exportMemory,
  importMemory,
  type ExportOptions,
  type ExportReport,
  type ImportReport,
  type KnownModel,
} from './portable/index.js';
import { RecallIndex } from './recall-index.js';
import { recallSpans } from './recall.js';
import { Refresher } from './refresh.js';
import type { MemorySettings } from './settings.js';
import { pathsOfShard, type Shard } from './shards.js';
import type { SeenFile, SourceFiles, SourceText } from './source-files.js';
import { gistKeyOf, isWhole, tokensOf, type LedgerRow, type Store } from './store/index.js';
import { TextCache } from './text-cache.js';
import type {
  ChangeReport,
  Coverage,
  FileStatus,
  ReadReport,
  RecalledSpan,
  RefreshOptions,
  WorkOptions,
  WorkspaceMemory,
  WorkspaceStatus,
} from './workspace-memory.js';
import { DefinitionFinder } from './workspace-definitions.js';
import { StateKeeper, type StateWork } from './workspace-state.js';
import { coverageOf, statusOf } from './workspace-status.js';

export interface WorkspaceParts {
  readonly root: string;
  readonly store: Store;
  readonly files: SourceFiles;
  readonly engine: LazyEngine;
  /** Fingerprint of the model, when it is known without starting the engine. */
  readonly model: string | undefined;
  /** The same with what exports need to know besides. */
  readonly known: KnownModel | undefined;
  readonly settings: MemorySettings;
  readonly log: Log;
  /** Milliseconds between tries to become the reader. */
  readonly leaseRetry: number;
}

export class Workspace implements WorkspaceMemory {
  readonly root: string;
  private readonly store: Store;
  private readonly index: RecallIndex;
  readonly definitions: DefinitionFinder;
  private readonly state: StateKeeper;
  private readonly ledger: LedgerView;
  private readonly refresher: Refresher;
  private readonly cache = new TextCache();
  private readonly closing = new AbortController();
  private last: Promise<unknown> = Promise.resolve();
  /** Refreshes without a share of the processor, running or waiting for their turn: somebody waits for them. */
  private awaited = 0;
  /** Of the refresh that runs or waits for its turn: settled when its scan is done. */
  private refreshScan: Promise<void> | undefined;

  /** Use `openWorkspaceMemory`. */
  constructor(private readonly parts: WorkspaceParts) {
    this.root = parts.root;
    this.store = parts.store;
    this.index = new RecallIndex(parts.store);
    this.definitions = new DefinitionFinder(parts);
    this.state = new StateKeeper(parts.store, parts.settings, parts.log);
    this.ledger = new LedgerView({
      ...parts,
      model: () => parts.model ?? parts.engine.started?.model.fingerprint,
    });
    this.refresher = new Refresher({ ...parts, ledger: this.ledger, index: this.index, state: this.state });
  }

  get isReading(): boolean {
    return this.refreshScan !== undefined || this.store.isReadElsewhere;
  }

  get readOnly(): string | undefined {
    return this.store.readOnly;
  }

  async scan(options: WorkOptions = {}): Promise<Coverage> {
    if (this.readOnly !== undefined) return this.coverage();
    if (this.refreshScan) {
      // What reads keeps the ledger up to date itself.
      await this.refreshScan;
      return this.coverage();
    }
    return this.alone(options, async work => {
      // Another process that reads keeps the ledger up to date itself.
      const lease = await this.store.tryBecomeReader();
      if ('heldBy' in lease) return this.coverage();
      try {
        await scanLedger({ ...work, store: this.store, files: this.parts.files });
        return this.coverage();
      } finally {
        await lease.dispose();
      }
    });
  }

  lookAt(paths: readonly string[], options: WorkOptions = {}): Promise<ChangeReport | undefined> {
    if (this.readOnly !== undefined) return Promise.resolve(undefined);
    return this.alone(options, async work => {
      const lease = await this.store.tryBecomeReader();
      if ('heldBy' in lease) return undefined;
      try {
        const { changes, waiting } = await scanLedger({ ...work, store: this.store, files: this.parts.files, paths });
        return { changes, waiting: waiting.length };
      } finally {
        await lease.dispose();
      }
    });
  }

  refresh(options: RefreshOptions = {}): Promise<ReadReport> {
    let onScanned = (): void => undefined;
    const scanned = new Promise<void>(resolve => (onScanned = resolve));
    this.refreshScan = scanned;
    const { cpuShare } = options;
    if (cpuShare === undefined) this.awaited++;
    const share = (): number | undefined => (this.awaited > 0 ? undefined : cpuShare);
    const run = this.alone(options, work => this.refresher.run({ ...options, ...work, share, onScanned }));
    return run.finally(() => {
      if (cpuShare === undefined) this.awaited--;
      onScanned();
      if (this.refreshScan === scanned) this.refreshScan = undefined;
    });
  }

  coverage(): Coverage {
    return coverageOf(this.ledger.rows());
  }

  status(): WorkspaceStatus {
    return statusOf(this.ledger.rows(), this.store, this.state.stored(this.ledger.model), dataBytes(this.store.folder));
  }

  files(): FileStatus[] {
    return this.ledger.rows().map(row => this.fileStatus(row));
  }

  file(path: string): FileStatus | undefined {
    const row = this.ledger.row(path);
    return row && this.fileStatus(row);
  }

  async recall(question: string, options: WorkOptions & { readonly limit: number }): Promise<RecalledSpan[]> {
    throwIfCancelled(options.signal);
    const rows = this.ledger.readRows();
    await this.ledger.setAside(await this.index.sync(rows));
    if (rows.length === 0) return [];
    const changed = new Set<string>();
    const spans = await recallSpans(question, options.limit, {
      engine: await this.parts.engine.get(),
      index: this.index,
      cache: this.cache,
      lexicalWeight: this.parts.settings.lexicalWeight,
      read: path => this.parts.files.read(path),
      onChanged: path => changed.add(path),
      signal: options.signal,
    });
    throwIfCancelled(options.signal);
    await this.ledger.markStale(changed);
    await this.ledger.markUsed(spans.map(span => span.path));
    return spans;
  }

  async states(
    paths: readonly string[],
    options: WorkOptions & { readonly workspace?: boolean } = {},
  ): Promise<string[]> {
    const rows = this.ledger.readRows();
    const engine = await this.parts.engine.get();
    const work = stateWork(engine, options);
    const gists = new Map(rows.map(row => [row.path, gistKeyOf(row)]));
    const keys = paths.flatMap(path => gists.get(path) ?? []);
    const put = (workspace: boolean): Promise<string[] | undefined> => this.state.inEngine.put(engine, keys, workspace);
    const upToDate = async (): Promise<void> => this.ledger.setAside(await this.state.bringUpToDate(rows, work));
    try {
      const workspace = options.workspace ?? true;
      if (workspace && !(await this.state.takeOut(this.ledger.rows(), work))) await upToDate();
      const ids = await put(workspace);
      if (ids) return ids;
      await dropState(this.store);
      await upToDate();
      return (await put(true)) ?? [];
    } catch (error) {
      if (!isWithoutRoom(error)) throw error;
      // The kept state may hold what is gone, or be damaged.
      return (await put(false)) ?? [];
    }
  }

  gist(path: string): PackedSlots | undefined {
    const row = this.ledger.row(path);
    const key = row && gistKeyOf(row);
    const memory = key === undefined ? undefined : this.store.getGist(key);
    return memory?.ok && memory.value.gist.slots > 0 ? memory.value.gist : undefined;
  }

  hashOf(path: string): string | undefined {
    const row = this.store.ledger.get(path);
    return row && isWhole(row) ? row.contentHash : undefined;
  }

  async source(path: string): Promise<Result<string>> {
    const source = await this.sourceText(path);
    return source.ok ? ok(source.value.text) : source;
  }

  async placeName(path: string, startLine: number, endLine: number): Promise<string | undefined> {
    if (!documentKind(path)) return undefined;
    const source = await this.sourceText(path);
    const places = source.ok ? source.value.places : undefined;
    return places && placeName(places, startLine, endLine);
  }

  private async sourceText(path: string): Promise<Result<SourceText>> {
    const hash = this.hashOf(path);
    if (hash === undefined) return failed('file was not read');
    const source = await this.parts.files.read(path);
    if (!source.ok) return source;
    if (source.value.contentHash !== hash) return failed('file changed since it was read');
    return source;
  }

  summaryMark(): Uint8Array | undefined {
    const blob = this.store.getBlob(SUMMARY_MARK);
    return blob?.ok ? blob.value : undefined;
  }

  keepSummaryMark(mark: Uint8Array): Promise<void> {
    if (this.readOnly !== undefined) return Promise.resolve();
    return this.store.putBlob(SUMMARY_MARK, mark);
  }

  forget(path: string, options: WorkOptions = {}): Promise<Coverage> {
    return this.alone(options, work => this.afterForgetting(forgetPath(this.store, path, this.root), work));
  }

  forgetAll(): Promise<Coverage> {
    return this.alone({}, work => this.afterForgetting(forgetEverything(this.store), work));
  }

  private async afterForgetting(forgotten: Promise<LedgerRow[]>, work: WorkOptions): Promise<Coverage> {
    const gone = await forgotten;
    await this.index.sync(this.ledger.readRows());
    const engine = this.parts.engine.started;
    if (engine) {
      await this.index.push(engine);
      await this.state.release(engine);
      const rows = this.ledger.readRows();
      await this.ledger.setAside(await this.state.bringUpToDate(rows, stateWork(engine, work)));
    }
    return coverageOf([...this.ledger.rows(), ...(await foundAgain(gone, this.root, this.store))]);
  }

  /** Beside whatever else runs: it changes nothing. */
  async exportTo(file: string, options: ExportOptions = {}): Promise<ExportReport> {
    const signal = AbortSignal.any([this.closing.signal, ...(options.signal ? [options.signal] : [])]);
    const model = await this.knownModel();
    const { store, settings } = this.parts;
    return exportMemory(file, { store, settings, model, rows: this.ledger.rows() }, { ...options, signal });
  }

  importFrom(files: readonly string[], options: WorkOptions = {}): Promise<ImportReport> {
    return this.alone(options, async work => {
      const { store, settings } = this.parts;
      const parts = { store, settings, model: await this.knownModel(), refresher: this.refresher };
      return { ...(await importMemory(files, parts, work)), coverage: this.coverage() };
    });
  }

  async shard(shard: Shard, options: WorkOptions = {}): Promise<ReadonlySet<string>> {
    const files: SeenFile[] = [];
    // Whatever this machine knows of them already.
    for await (const file of this.parts.files.walk(() => undefined, { signal: options.signal })) {
      throwIfCancelled(options.signal);
      if (file.skipped === undefined) files.push(file);
    }
    return pathsOfShard(files, shard);
  }

  async dispose(): Promise<void> {
    this.closing.abort();
    this.definitions.close();
    await this.last;
    await closeStore(this.store, this.parts.log);
  }

  /** Runs after the calls before it, with a signal that the memory's end aborts too. */
  private alone<T>(
    options: WorkOptions,
    work: (options: WorkOptions & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const signal = AbortSignal.any([this.closing.signal, ...(options.signal ? [options.signal] : [])]);
    const run = this.last.then(async () => {
      throwIfCancelled(signal);
      try {
        return await work({ ...options, signal });
      } catch (error) {
        throwIfCancelled(signal); // One kind of error for all ways to be cancelled.
        throw error;
      } finally {
        this.definitions.changed();
      }
    });
    this.last = run.catch(() => undefined);
    return run;
  }

  /** The model in use; where it is not known before it is started, it is started, and where there is none, undefined. */
  private async knownModel(): Promise<KnownModel | undefined> {
    if (this.parts.known) return this.parts.known;
    const engine = await this.parts.engine.get().catch(() => undefined);
    return engine && { fingerprint: engine.model.fingerprint, name: engine.model.name };
  }

  private fileStatus(row: LedgerRow): FileStatus {
    const { path, state, reason } = row;
    return {
      path,
      state: path === this.refresher.reading ? 'reading' : state === 'reading' ? 'waiting' : state,
      ...(reason === undefined ? {} : { reason }),
      tokens: tokensOf(row),
    };
  }
}

function stateWork(engine: Engine, options: WorkOptions): StateWork {
  return { ...options, engine: () => Promise.resolve(engine), model: engine.model.fingerprint };
}

function dataBytes(folder: string): number {
  return statSync(join(folder, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0;
}
