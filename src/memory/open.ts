/** Opens the memory of a folder: its store under the data folder, its files, an engine that starts when it is needed. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, codeOf, silentLog, type Log } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { withBudgets } from './budget-defaults.js';
import { closeStore } from './close-store.js';
import { forgetEverything } from './forgetting.js';
import { LazyEngine } from './lazy-engine.js';
import type { KnownModel } from './portable/index.js';
import { DEFAULT_SETTINGS, type MemorySettings } from './settings.js';
import { filesOf } from './source-files.js';
import { openStore, storeFolder, type LeaseTimes } from './store/index.js';
import type { Coverage, WorkspaceMemory } from './workspace-memory.js';
import { Workspace } from './workspace.js';
import { coverageOf } from './workspace-status.js';

export interface OpenOptions {
  /** The folder to remember. */
  readonly root: string;
  /** Where stores lie; one folder for all workspaces of the user. */
  readonly data: string;
  /** The engine, or how to start it. It is not disposed of with the memory. */
  readonly engine: Engine | (() => Promise<Engine>);
  /** What is known of the model before it is started, so that a refresh with nothing to read need not start it. */
  readonly model?: KnownModel;
  readonly settings?: Partial<MemorySettings>;
  readonly log?: Log;
  /** Milliseconds between tries while another process reads; 1,000 if not given. */
  readonly leaseRetry?: number;
  /** Times of the reader's lease, for tests. */
  readonly lease?: LeaseTimes;
}

/** Throws a `LongviewError` if the folder is not there or the store cannot be opened. */
export async function openWorkspaceMemory(options: OpenOptions): Promise<WorkspaceMemory> {
  const log = options.log ?? silentLog;
  const settings = { ...DEFAULT_SETTINGS, ...options.settings };
  const root = await realpath(options.root).catch((error: unknown) => {
    throw new LongviewError(codeOf(error), `There is no folder ${options.root}: check the path.`, { cause: error });
  });
  const store = await openStore(storeFolder(options.data, root), { workspace: root, log, lease: options.lease });
  await store.ledger.prepare();
  const budgeted = await withBudgets(settings, options.data);
  return new Workspace({
    root,
    store,
    files: filesOf(root, settings),
    engine: new LazyEngine(options.engine),
    model: options.model?.fingerprint,
    known: options.model,
    settings: budgeted,
    log,
    leaseRetry: options.leaseRetry ?? 1000,
  });
}

/** Whether a folder (its real path) has a store under `data`. */
export function hasMemory(data: string, root: string): boolean {
  return existsSync(join(storeFolder(data, root), 'data.mdb'));
}

/** Drops everything that is remembered of a folder that is there no more (its real path, as it was). */
export async function forgetGone(data: string, root: string, log: Log = silentLog): Promise<Coverage> {
  const store = await openStore(storeFolder(data, root), { workspace: root, log });
  try {
    await forgetEverything(store);
    return coverageOf([]);
  } finally {
    await closeStore(store, log);
  }
}
