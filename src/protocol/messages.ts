/**
 * What the editor and the Longview server say to each other, besides LSP's `initialize`, `shutdown`, `exit` and `$/cancelRequest`.
 * Types and method names only: nothing here runs. Lines count from 1, paths are relative to the folder with `/`,
 * times are milliseconds. Fields may be added, never renamed.
 */

/** `initializationOptions` of `initialize`. */
export interface ServerOptions {
  /** Data folder; the user's own when missing. */
  readonly data?: string;
  /** Name of an installed model; the default one when missing. */
  readonly model?: string;
  readonly threads?: number;
}

/** Requests, client to server. Each may be cancelled; a failure's `data` is a `Failure`. */
export const method = {
  ping: 'longview/ping',
  status: 'longview/status',
  read: 'longview/read',
  ask: 'longview/ask',
  forget: 'longview/forget',
  model: 'longview/model',
  installModel: 'longview/installModel',
} as const;

/** Notifications, server to client. `id` is that of the request's params. */
export const event = {
  progress: 'longview/progress',
  recalled: 'longview/recalled',
  text: 'longview/text',
  log: 'longview/log',
} as const;

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
}

export interface ForgetParams extends WorkParams {
  /** The whole folder's memory when missing. */
  readonly path?: string;
}

export interface Place {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}

export interface RecalledPlace extends Place {
  readonly score: number;
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
}

export interface AskReply {
  readonly answer: string;
  readonly recalled: readonly RecalledPlace[];
  readonly citations: readonly CitedPlace[];
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

export interface StatusReply {
  readonly coverage: CoverageCounts;
  readonly tokens: number;
  readonly state: { readonly slots: number; readonly bytes: number };
  readonly recall: { readonly slots: number; readonly bytes: number };
  readonly store: { readonly path: string; readonly bytes: number };
}

export interface ReadReply {
  readonly filesRead: number;
  readonly filesForgotten: number;
  readonly filesFailed: number;
  readonly tokensRead: number;
  readonly readMs: number;
}

export interface ModelReply {
  readonly name: string;
  readonly installed: boolean;
  /** For the consent to a download. */
  readonly downloadBytes: number;
  readonly diskBytes: number;
  readonly source: string;
  readonly license: string;
}

export interface ProgressEvent {
  readonly id: string;
  readonly task: string;
  readonly done: number;
  readonly total?: number;
  readonly unit: 'bytes' | 'tokens' | 'files' | 'steps';
  readonly item?: string;
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

export interface LogEvent {
  readonly level: 'error' | 'warning' | 'info' | 'debug';
  readonly message: string;
}
