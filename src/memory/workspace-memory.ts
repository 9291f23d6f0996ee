/**
 * What the product can ask of a workspace's memory. The implementation is `openWorkspaceMemory` (open.ts).
 * Never writes answers: `assist` does that with what it finds here.
 */
import type { Disposable, ProgressListener, Result } from '../base/index.js';
import type { PackedSlots } from '../engine/index.js';
import type { Block } from './block.js';
import type { ExportOptions, ExportReport, ImportReport } from './portable/index.js';
import type { Shard } from './shards.js';
import type { WorkspaceDefinitions } from './workspace-definitions.js';

/** The contract of `--json` (product.md): counts of files by ledger state; `total` includes the skipped. */
export interface Coverage {
  readonly total: number;
  readonly read: number;
  readonly stale: number;
  readonly waiting: number;
  readonly coarse: number;
  readonly skipped: number;
  /** Of the read ones, those of which something gave no text; missing where there are none. */
  readonly partly?: number;
}

export interface FileStatus {
  readonly path: string;
  readonly state: 'waiting' | 'reading' | 'read' | 'stale' | 'coarse' | 'skipped';
  /** Why it is skipped; of a file that was read, what of it was not. */
  readonly reason?: string;
  readonly tokens: number;
}

export interface WorkspaceStatus {
  readonly coverage: Coverage;
  /** Counts of the skipped files by reason, the largest first. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly tokens: number;
  /** `made` and `tokens`, those of the files in it, are absent where there is none: it is composed at the next reading or question. */
  readonly state: {
    readonly slots: number;
    readonly bytes: number;
    readonly made?: 'composed' | 'patched';
    readonly tokens?: number;
  };
  readonly recall: { readonly slots: number; readonly bytes: number };
  readonly store: { readonly path: string; readonly bytes: number };
}

/** A place the question looked at. Lines count from 1, both ends included. */
export interface RecalledSpan {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** Where the lines stand in a document, e.g. `page 3`; none where they are the file's own. */
  readonly place?: string;
  readonly score: number;
  /** Exact text, read from disk again; its file's hash is the one that was read. The lines end where it does. */
  readonly text: string;
  /** Of a longer place, the lines that the question's attention finds most; none where the model has no recall heads. */
  readonly focus?: Pick<Block, 'startLine' | 'endLine'>;
  /** Characters of the place that its text leaves out at its end, where it is very long; none where it is whole. */
  readonly cut?: number;
}

export interface ReadReport {
  readonly filesRead: number;
  readonly filesForgotten: number;
  readonly filesFailed: number;
  readonly tokensRead: number;
  readonly readMs: number;
}

export interface WorkOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

export interface ChangeReport {
  /** Rows of the ledger that are not as they were. */
  readonly changes: number;
  /** Files that are new or not as they were read. */
  readonly waiting: number;
}

export interface RefreshOptions extends WorkOptions {
  /** Paths to read before all others, e.g. open files. */
  readonly first?: readonly string[];
  /** Reads these files alone and leaves the others waiting; the workspace state is not composed then. */
  readonly only?: (path: string) => boolean;
  /** False: takes the ledger's word for what is new or changed, instead of a walk. */
  readonly walk?: boolean;
  /** False: the workspace state is left for a later refresh, though files in it changed. */
  readonly state?: boolean;
  /** Percent of the machine's processor time that it takes at most, by pauses, while nothing waits for it. Default: no pauses. */
  readonly cpuShare?: number;
  /** True: reads what was forgotten, too; else it stays forgotten until it changes. With a walk. */
  readonly forgotten?: boolean;
}

export interface WorkspaceMemory extends Disposable {
  /** Absolute path of the folder. */
  readonly root: string;
  /**
   * Why nothing can be written, where that is so: then answers use what was read before, `scan` looks at nothing, and what
   * reads or forgets fails (`permission`).
   */
  readonly readOnly: string | undefined;
  /** What the files that were read define. */
  readonly definitions: WorkspaceDefinitions;
  /** Whether `refresh` runs, here or in another process. Recall, states and the ledger can be used beside it. */
  readonly isReading: boolean;
  /**
   * Walks the folder and brings the ledger up to date without reading anything into memory; beside a refresh it waits for
   * that one's walk.
   */
  scan(options?: WorkOptions): Promise<Coverage>;
  /**
   * Brings the ledger up to date with these paths of the folder (with `/`; the empty one is all of it) and what lies in them,
   * after a refresh that runs. A folder that was never looked at stays so. Undefined, and nothing done, where another process reads.
   */
  lookAt(paths: readonly string[], options?: WorkOptions): Promise<ChangeReport | undefined>;
  /** Scans, reads what is new or changed, drops what is gone, composes the workspace state. Safe to cancel: what was read stays. */
  refresh(options?: RefreshOptions): Promise<ReadReport>;
  coverage(): Coverage;
  status(): WorkspaceStatus;
  files(): FileStatus[];
  /** One row of `files`. */
  file(path: string): FileStatus | undefined;
  /** The best spans for a question, best first, of distinct places; stale files are left out. */
  recall(question: string, options: WorkOptions & { readonly limit: number }): Promise<RecalledSpan[]>;
  /**
   * Loads the workspace state (unless `workspace` is false) and the gists of these files into the engine; gives the ids
   * for `generate`.
   */
  states(paths: readonly string[], options?: WorkOptions & { readonly workspace?: boolean }): Promise<string[]>;
  /** The gist of one file, for summaries. */
  gist(path: string): PackedSlots | undefined;
  /** Hash of the file's bytes as read, or undefined when it was not read. */
  hashOf(path: string): string | undefined;
  /** Exact text of a file that was read, from disk again, if its bytes are still the ones read; else why not. */
  source(path: string): Promise<Result<string>>;
  /** Where lines of a document stand in it, e.g. `page 3`; undefined where they are the file's own, or `source` has none. */
  placeName(path: string, startLine: number, endLine: number): Promise<string | undefined>;
  /** Up to where changes were summarised last, as `keepSummaryMark` was given it; undefined where it is damaged. */
  summaryMark(): Uint8Array | undefined;
  /** Kept until something of the folder is forgotten. */
  keepSummaryMark(mark: Uint8Array): Promise<void>;
  /**
   * Drops the memory of a file, or of what lies in a folder, and recomposes. What of it is on the disk stays forgotten until it
   * changes or is asked for (`RefreshOptions.forgotten`). A path that is not in the memory is a `not-found` error. Gives the
   * coverage that the next look at the folder will find.
   */
  forget(path: string, options?: WorkOptions): Promise<Coverage>;
  /** Drops everything of this workspace. */
  forgetAll(): Promise<Coverage>;
  /** Writes what is remembered into one file, for another machine or folder; looks at no file of the workspace. */
  exportTo(file: string, options?: ExportOptions): Promise<ExportReport>;
  /**
   * Takes exports over, after all of them were checked; files of the folder that are as they were read there then count as
   * read. Throws where one is damaged, or of another model, version or settings; then nothing is taken.
   */
  importFrom(files: readonly string[], options?: WorkOptions): Promise<ImportReport>;
  /** Files that one of several machines reads (`only` of a refresh): all of them have the same folder. */
  shard(shard: Shard, options?: WorkOptions): Promise<ReadonlySet<string>>;
}
