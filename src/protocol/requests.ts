/** Which request takes which params and gives which reply, by the method names of messages.ts. Types only. */
import type {
  AskParams,
  AskReply,
  CountTokensReply,
  ExportMemoryParams,
  ExportMemoryReply,
  FileParams,
  FilesReply,
  ForgetParams,
  FreshnessReply,
  GenerateParams,
  GenerateReply,
  ImportMemoryParams,
  ImportMemoryReply,
  InstallModelParams,
  ModelReply,
  ModelsReply,
  PingReply,
  ReadParams,
  ReadReply,
  RecallAtParams,
  RecallAtReply,
  RecallParams,
  RecallReply,
  SummarizeParams,
  SummaryReply,
  WorkParams,
} from './messages.js';
import type { StatusReply } from './status-reply.js';

interface Request<P, R> {
  readonly params: P;
  readonly reply: R;
}

export interface RequestTypes {
  readonly 'longview/ping': Request<object, PingReply>;
  readonly 'longview/status': Request<WorkParams, StatusReply>;
  readonly 'longview/files': Request<WorkParams, FilesReply>;
  readonly 'longview/freshness': Request<FileParams, FreshnessReply>;
  readonly 'longview/read': Request<ReadParams, ReadReply>;
  readonly 'longview/ask': Request<AskParams, AskReply>;
  readonly 'longview/recall': Request<RecallParams, RecallReply>;
  readonly 'longview/recallAt': Request<RecallAtParams, RecallAtReply>;
  readonly 'longview/summarize': Request<SummarizeParams, SummaryReply>;
  /** The digest of a commit, to be asked before anything is read for changes since it. */
  readonly 'longview/commit': Request<WorkParams & { readonly since: string }, { readonly commit: string }>;
  readonly 'longview/generate': Request<GenerateParams, GenerateReply>;
  readonly 'longview/countTokens': Request<{ readonly id: string; readonly text: string }, CountTokensReply>;
  readonly 'longview/forget': Request<ForgetParams, null>;
  readonly 'longview/exportMemory': Request<ExportMemoryParams, ExportMemoryReply>;
  readonly 'longview/importMemory': Request<ImportMemoryParams, ImportMemoryReply>;
  readonly 'longview/model': Request<{ readonly id: string }, ModelReply>;
  readonly 'longview/models': Request<{ readonly id: string }, ModelsReply>;
  readonly 'longview/installModel': Request<InstallModelParams, ModelReply>;
}

export type Method = keyof RequestTypes;
export type ParamsOf<M extends Method> = RequestTypes[M]['params'];
export type ReplyOf<M extends Method> = RequestTypes[M]['reply'];
