/**
 * What the editor and the Longview server say to each other, besides LSP's `initialize`, `shutdown`, `exit` and `$/cancelRequest`.
 * Types and method names only: nothing here runs. Lines count from 1, paths are relative to the folder with `/`,
 * times are milliseconds. Fields may be added, never renamed.
 */
import type { StatusReply } from './status-reply.js';

/** Requests, client to server. Each may be cancelled; a failure's `data` is a `Failure`. */
export const method = {
  ping: 'longview/ping',
  status: 'longview/status',
  read: 'longview/read',
  ask: 'longview/ask',
  forget: 'longview/forget',
  exportMemory: 'longview/exportMemory',
  importMemory: 'longview/importMemory',
  files: 'longview/files',
  freshness: 'longview/freshness',
  recall: 'longview/recall',
  recallAt: 'longview/recallAt',
  summarize: 'longview/summarize',
  commit: 'longview/commit',
  generate: 'longview/generate',
  countTokens: 'longview/countTokens',
  model: 'longview/model',
  models: 'longview/models',
  installModel: 'longview/installModel',
} as const;

/** Notifications, server to client. `id` is that of the request's params. */
export const event = {
  progress: 'longview/progress',
  recalled: 'longview/recalled',
  text: 'longview/text',
  sentence: 'longview/sentence',
  changed: 'longview/changed',
  log: 'longview/log',
  notice: 'longview/notice',
} as const;

/** Notifications, client to server. */
export const notice = {
  /** LSP's own: files or folders that were made, changed or deleted, of folders that requests were about. */
  changedFiles: 'workspace/didChangeWatchedFiles',
} as const;

export interface ChangedFilesParams {
  /** `type`: 1 made, 2 changed, 3 deleted. */
  readonly changes: readonly { readonly uri: string; readonly type: 1 | 2 | 3 }[];
}

export interface Failure {
  /** A code of `base`'s errors, e.g. `not-found`. */
  readonly code: string;
}

/** Answered at once, whatever else is going on. */
export interface PingReply {
  readonly process: number;
  /** What the queue works on now. */
  readonly task?: string;
  readonly waiting: number;
}

export interface FolderParams {
  /** A `file:` URI of a workspace folder. */
  readonly folder: string;
}

export interface WorkParams extends FolderParams {
  /** Chosen by the client, unique in its connection; comes back in the notifications. */
  readonly id: string;
}

export interface AskParams extends WorkParams {
  readonly question: string;
  /** Answers from what is read already. */
  readonly now?: boolean;
  readonly maxTokens?: number;
  /** Lines of an editor that the question is about. */
  readonly selection?: Selection;
}

/** Lines as the editor shows them, saved or not. */
export interface Selection extends Place {
  readonly text: string;
}

export interface ForgetParams extends WorkParams {
  /** The whole folder's memory when missing. */
  readonly path?: string;
}

export interface Place {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** Where the lines stand in a document, e.g. `page 3`; none where they are the file's own. */
  readonly place?: string;
}

export interface RecalledPlace extends Place {
  readonly score: number;
  /** Characters that its text leaves out at its end, where its lines are very long; none where it is whole. */
  readonly cut?: number;
}

export interface CitedPlace extends Place {
  readonly ok: boolean;
  /** What the check found wrong. */
  readonly why?: string;
}

export interface CoverageCounts {
  readonly total: number;
  readonly read: number;
  readonly stale: number;
  readonly waiting: number;
  readonly coarse: number;
  readonly skipped: number;
  /** Of the read ones, those of which something gave no text; missing where there are none. */
  readonly partly?: number;
}

export interface AskReply {
  readonly answer: string;
  readonly recalled: readonly RecalledPlace[];
  readonly citations: readonly CitedPlace[];
  /** Names of code that stand in none of the files recalled; struck out in the answer. */
  readonly unknownNames: readonly string[];
  readonly coverage: CoverageCounts;
  readonly timing: {
    readonly readMs: number;
    readonly firstTokenMs: number;
    readonly totalMs: number;
    readonly readTokens: number;
    readonly writtenTokens: number;
  };
  readonly model: string;
  readonly provider: string;
}

/** `longview/read`. */
export interface ReadParams extends WorkParams {
  /** False: reads what is known to be new or changed (`longview/changed`), without a look at the other files. */
  readonly walk?: boolean;
  /** False: the workspace state is left for a later `read`, though files in it changed. */
  readonly state?: boolean;
  /** True: reads what was forgotten, too; else it stays forgotten until it changes. With a walk. */
  readonly forgotten?: boolean;
  /** Percent of the machine's processor time that it takes at most, by pauses; none where somebody waits for it. Default: no pauses. */
  readonly cpuShare?: number;
}

export interface ReadReply {
  readonly filesRead: number;
  readonly filesForgotten: number;
  readonly filesFailed: number;
  readonly tokensRead: number;
  readonly readMs: number;
  /** After it. */
  readonly coverage: CoverageCounts;
}

/** `longview/exportMemory`: what is remembered of the folder, into one file; one that is there is replaced. */
export interface ExportMemoryParams extends WorkParams {
  /** Absolute path. */
  readonly file: string;
}

export interface ExportMemoryReply {
  readonly files: number;
  readonly tokens: number;
  /** Of the file. */
  readonly bytes: number;
  /** Files whose memory cannot go along: partly read, or coarse. */
  readonly leftOut: number;
}

/** `longview/importMemory`: exported memories into the folder's; ends what is being read, which is to be asked for again. */
export interface ImportMemoryParams extends WorkParams {
  /** Absolute paths. */
  readonly files: readonly string[];
}

export interface ImportMemoryReply {
  /** Files of the folder that the exports hold. */
  readonly files: number;
  /** Memories that were not there yet. */
  readonly added: number;
  readonly known: number;
  readonly coverage: CoverageCounts;
}

/** `longview/files`: one row for each file of the ledger, by path; answered whatever else runs, without a look at the disk. */
export interface FilesReply {
  readonly files: readonly FileRow[];
  /** The figures of the same moment. */
  readonly status: StatusReply;
}

export type FileState = 'waiting' | 'reading' | 'read' | 'stale' | 'coarse' | 'skipped';

export interface FileRow {
  readonly path: string;
  readonly state: FileState;
  /** Why it is skipped; of a file that was read, what of it was not. */
  readonly reason?: string;
  readonly tokens: number;
}

export interface FileParams extends WorkParams {
  readonly path: string;
}

/** `longview/freshness`: what the memory knows of one file; no `file` where the ledger has no such path. */
export interface FreshnessReply {
  readonly file?: FileRow;
}

/** `longview/recall`: places for a question, with their exact text; writes nothing. */
export interface RecallParams extends WorkParams {
  readonly question: string;
  /** Places wanted. */
  readonly limit: number;
}

export interface RecallReply {
  readonly places: readonly (RecalledPlace & { readonly text: string })[];
  readonly coverage: CoverageCounts;
}

/** `longview/recallAt`: the distant definitions of an identifier. */
export interface RecallAtParams extends FileParams {
  readonly identifier: string;
  readonly line: number;
  /** Column of the identifier's first character, in UTF-16 units from 1. */
  readonly column: number;
  /** Text of the document up to and including the identifier, its last 4,000 characters: may be unsaved. */
  readonly before: string;
  readonly languageId: string;
}

export interface DefinitionCandidate extends RecalledPlace {
  readonly name: string;
  /** The definition's first line or lines. */
  readonly signature: string;
  /** Comment or docstring that belongs to it. */
  readonly documentation?: string;
  readonly languageId?: string;
}

export interface RecallAtReply {
  /** Best first. */
  readonly candidates: readonly DefinitionCandidate[];
  /** `one`: exactly one definition of that name is known and nothing speaks against it; `ranked`: several, ordered, or one in doubt; `none`. */
  readonly certainty: 'one' | 'ranked' | 'none';
  /** How they were found, for the user: e.g. `only definition of this name in 1,204 files read`. */
  readonly how: string;
  /** Files whose definitions are known. */
  readonly filesRead?: number;
}

/** What `longview/summarize` is about. Paths are relative to the folder. */
export type SummaryTarget =
  | {
      readonly kind: 'selection';
      readonly path: string;
      readonly startLine: number;
      readonly endLine: number;
      readonly text: string;
    }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'workspace' }
  /** Since a commit; where `since` is missing, since the last summary of changes, or the last commit if there was none. */
  | { readonly kind: 'changes'; readonly since?: string };

export interface SummarizeParams extends WorkParams {
  readonly target: SummaryTarget;
  readonly maxSentences?: number;
}

export interface SummarySentence {
  readonly text: string;
  /** At least one; each was checked. */
  readonly places: readonly Place[];
  /** The words are the author's, not the model's. */
  readonly quoted: boolean;
}

/** The next sentence; nothing of it changes later. */
export interface SentenceEvent {
  readonly id: string;
  readonly sentence: SummarySentence;
}

export interface SummaryReply {
  readonly summary: readonly SummarySentence[];
  /** What is to be said beside the sentences, e.g. which files were deleted. Markdown. */
  readonly notes: readonly string[];
  readonly coverage: CoverageCounts;
  /** For the user: of how many sections and files the sentences are, and the coverage. */
  readonly basis: string;
  readonly timing: { readonly totalMs: number; readonly readTokens: number; readonly writtenTokens: number };
  readonly model: string;
}

/** `longview/generate`: the model itself, for the editor's chat. Text comes by `longview/text`. */
export interface GenerateParams {
  readonly id: string;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly stop?: readonly string[];
}

export interface GenerateReply {
  readonly text: string;
  readonly promptTokens: number;
  readonly writtenTokens: number;
  readonly stopReason: 'end' | 'length' | 'stop' | 'cancelled';
}

export interface CountTokensReply {
  readonly tokens: number;
}

export interface InstallModelParams {
  readonly id: string;
  /** Default: the model of the server's options. */
  readonly name?: string;
  /** A checkpoint on disk (.gguf, .safetensors or folder) instead of a download. */
  readonly from?: string;
}

/** Something that works otherwise than it was asked to: the user is to see it. */
export interface NoticeEvent {
  readonly message: string;
}

export interface ModelsReply {
  /** What runs now. */
  readonly engine?: { readonly model: string; readonly provider: string; readonly reason: string };
  readonly models: readonly (ModelReply & { readonly isDefault: boolean })[];
}

export interface ModelReply {
  readonly name: string;
  readonly installed: boolean;
  /** For the consent to a download. */
  readonly downloadBytes: number;
  readonly diskBytes: number;
  readonly source: string;
  readonly license: string;
  /** Why the one that is there can't be used. */
  readonly problem?: string;
}

export interface ProgressEvent {
  readonly id: string;
  readonly task: string;
  readonly done: number;
  readonly total?: number;
  readonly unit: 'bytes' | 'tokens' | 'files' | 'steps';
  readonly item?: string;
  /** Of work that counts in another unit and goes through files. */
  readonly files?: { readonly done: number; readonly total: number };
}

export interface RecalledEvent {
  readonly id: string;
  readonly recalled: readonly RecalledPlace[];
}

/** The next piece of the answer. */
export interface TextEvent {
  readonly id: string;
  readonly text: string;
}

/** Files of a folder changed, and the ledger says so already; nothing was read. */
export interface ChangedEvent {
  readonly folder: string;
  /** Changed files that can be read. */
  readonly waiting: number;
}

export interface LogEvent {
  readonly level: 'error' | 'warning' | 'info' | 'debug';
  readonly message: string;
}
