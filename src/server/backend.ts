/**
 * What the handlers need of the product, in plain data: no LSP here, and no handler knows how an engine is started.
 * The real one is `openBackend` (live-backend.ts); tests of the wire put their own in its place.
 */
import type { Disposable, ProgressListener } from '../base/index.js';
import type { ChangeReport } from '../memory/index.js';
import type {
  AskReply,
  ExportMemoryReply,
  FilesReply,
  GenerateParams,
  GenerateReply,
  FreshnessReply,
  ImportMemoryReply,
  InstallModelParams,
  ModelReply,
  ModelsReply,
  ReadParams,
  ReadReply,
  RecallReply,
  RecallAtParams,
  RecallAtReply,
  RecalledPlace,
  Selection,
  StatusReply,
  SummarizeParams,
  SummaryReply,
  SummarySentence,
} from '../protocol/index.js';

export interface Work {
  readonly signal: AbortSignal;
  readonly onProgress: ProgressListener;
}

export interface Question {
  readonly question: string;
  readonly now: boolean;
  readonly maxTokens?: number;
  readonly selection?: Selection;
}

export interface AskListeners {
  readonly onRecalled: (recalled: readonly RecalledPlace[]) => void;
  readonly onText: (text: string) => void;
}

/** `root` is the absolute path of a workspace folder, here and below. */
export interface MemoryBackend {
  status(root: string, work: Work): Promise<StatusReply>;
  /** What the ledger knows now: looks at no file. */
  files(root: string): Promise<FilesReply>;
  freshness(root: string, path: string): Promise<FreshnessReply>;
  read(
    root: string,
    how: Pick<ReadParams, 'walk' | 'state' | 'forgotten' | 'cpuShare'>,
    work: Work,
  ): Promise<ReadReply>;
  /**
   * Brings the ledger up to date with paths that changed (relative, with `/`; the empty one is everything); a folder that
   * nobody had read stays unknown. Undefined where another process reads it.
   */
  lookAt(root: string, paths: readonly string[], signal: AbortSignal): Promise<ChangeReport | undefined>;
  /** Everything of the folder when `path` is missing. */
  forget(root: string, path: string | undefined, work: Work): Promise<void>;
  /** Absolute paths of the files. */
  exportMemory(root: string, file: string, work: Work): Promise<ExportMemoryReply>;
  importMemory(root: string, files: readonly string[], work: Work): Promise<ImportMemoryReply>;
}

export interface AskBackend {
  ask(root: string, question: Question, work: Work & AskListeners): Promise<AskReply>;
}

export interface RecallBackend {
  /** Places for a question, of files that are still as they were read. Looks for changes first, reads nothing. */
  recall(root: string, question: string, limit: number, work: Work): Promise<RecallReply>;
}

/** The model itself, without any folder. */
export interface ChatBackend {
  generate(
    request: Omit<GenerateParams, 'id'>,
    work: Work & { readonly onText: (text: string) => void },
  ): Promise<GenerateReply>;
  countTokens(text: string): Promise<number>;
}

export interface Summarizer {
  summarize(
    root: string,
    request: Pick<SummarizeParams, 'target' | 'maxSentences'>,
    work: Work & { readonly onSentence: (sentence: SummarySentence) => void },
  ): Promise<SummaryReply>;
  /** The digest of the commit that a name stands for. Throws `not-found`, or `unsupported` where there is no git to ask. */
  commitOf(root: string, since: string, signal: AbortSignal): Promise<string>;
}

export interface ModelBackend {
  model(): Promise<ModelReply>;
  models(): Promise<ModelsReply>;
  installModel(wanted: Pick<InstallModelParams, 'name' | 'from'>, work: Work): Promise<ModelReply>;
}

export interface RecallAtBackend {
  recallAt(root: string, use: RecallAtParams, signal: AbortSignal): Promise<RecallAtReply>;
}

export interface Backend
  extends
    MemoryBackend,
    AskBackend,
    Summarizer,
    RecallBackend,
    RecallAtBackend,
    ChatBackend,
    ModelBackend,
    Disposable {}
