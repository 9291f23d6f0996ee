/**
 * A summary of a selection, a file, a folder, the workspace or its changes: reads what is unread of it, then writes sentence
 * after sentence, each about the lines it names. Nothing is left out silently: the coverage says of how many sections and
 * files the sentences are. Never gives a place that was not checked.
 */
import { LongviewError, throwIfCancelled, type ProgressListener } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import type { Coverage, ReadReport, WorkspaceMemory } from '../memory/index.js';
import { checkPlace, placeOnly, type Place } from './citations.js';
import { coverageLine } from './coverage.js';
import { draftOfChanges, findChanges, rememberChanges, type FoundChanges } from './summary-changes.js';
import { draftOfFile, draftOfFolder, draftOfSelection, isUnder, type Draft, type TextOf } from './summary-draft.js';
import { SentenceWriter } from './summary-sentence.js';

/** Paths are relative to the folder of the memory. */
export type SummaryTarget =
  | ({ readonly kind: 'selection' } & TextOf)
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'workspace' }
  /** Since a commit, or since the last summary of changes; the last commit where there was none. */
  | { readonly kind: 'changes'; readonly since?: string };

export interface SummarizeRequest {
  readonly memory: WorkspaceMemory;
  readonly engine: Engine;
  readonly target: SummaryTarget;
  /** Default: 4 for a selection, 8 for a file, 12 for more. */
  readonly maxSentences?: number;
}

export interface SummarizeOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** Each sentence as it is there, its places checked. */
  readonly onSentence?: (sentence: SummarySentence) => void;
}

export interface SummarySentence {
  readonly text: string;
  /** At least one; each exists. */
  readonly places: readonly Place[];
  /** True where the words are the author's, in quotation marks or as code. */
  readonly quoted: boolean;
}

/** Of the folder's files by state, and what the sentences are about. */
export interface SummaryCoverage extends Coverage {
  /** Sections of the files that were looked at; `used`: a sentence is about them. */
  readonly sections: { readonly total: number; readonly used: number };
  readonly files: { readonly total: number; readonly used: number };
}

/** The contract of `longview summarize --json`. Milliseconds from the call. */
export interface SummaryResult {
  readonly summary: readonly SummarySentence[];
  readonly notes: readonly string[];
  readonly coverage: SummaryCoverage;
  readonly timing: {
    readonly readMs: number;
    readonly readTokens: number;
    /** To the first sentence, reading included. */
    readonly firstSentenceMs: number;
    readonly totalMs: number;
    readonly writtenTokens: number;
  };
  readonly model: string;
  readonly provider: string;
}

const DEFAULT_SENTENCES: Record<SummaryTarget['kind'], number> = {
  selection: 4,
  file: 8,
  folder: 12,
  workspace: 12,
  changes: 12,
};

export async function summarize(request: SummarizeRequest, options: SummarizeOptions = {}): Promise<SummaryResult> {
  const { memory, engine, target } = request;
  const { signal, onProgress } = options;
  const most = request.maxSentences ?? DEFAULT_SENTENCES[target.kind];
  if (most < 1) throw new LongviewError('usage', 'A summary has at least one sentence.');
  const start = performance.now();
  const changes = target.kind === 'changes' ? await findChanges(target.since, memory, signal) : undefined;
  const report = await read(request, changes, options);
  const draft = await draftOf(request, changes, most, options);
  const shown = target.kind === 'selection' ? target : undefined;
  const writer = new SentenceWriter(engine);
  const summary: SummarySentence[] = [];
  let firstSentenceMs: number | undefined;
  for (const [at, task] of draft.tasks.entries()) {
    throwIfCancelled(signal);
    const { path } = task.sections[0]!;
    onProgress?.({ task: 'Summarizing', done: at, total: draft.tasks.length, unit: 'steps', item: path });
    const states = (): Promise<string[]> => memory.states([path], { signal, onProgress, workspace: draft.workspace });
    const sentence = await writer.write(task, states, signal);
    throwIfCancelled(signal);
    if (!sentence) continue;
    const checks = await Promise.all(sentence.places.map(place => checkPlace(place, memory, shown)));
    // The file changed while its sentence was written.
    if (!checks.every(({ ok }) => ok)) continue;
    const told = { ...sentence, places: checks.map(placeOnly) };
    firstSentenceMs ??= performance.now() - start;
    summary.push(told);
    options.onSentence?.(told);
  }
  if (changes) await rememberChanges(memory, signal);
  onProgress?.({ task: 'Summarizing', done: draft.tasks.length, total: draft.tasks.length, unit: 'steps' });
  const totalMs = performance.now() - start;
  return {
    summary,
    notes: summary.length === 0 && draft.notes.length === 0 ? ['There is nothing to summarize.'] : draft.notes,
    coverage: coverageOf(memory.coverage(), draft, summary),
    timing: {
      readMs: Math.round(report?.readMs ?? 0),
      readTokens: report?.tokensRead ?? 0,
      firstSentenceMs: Math.round(firstSentenceMs ?? totalMs),
      totalMs: Math.round(totalMs),
      writtenTokens: writer.writtenTokens,
    },
    model: engine.model.name,
    provider: engine.model.provider.name,
  };
}

/** E.g. `The sentences are about 8 of 31 sections, 1 file; nothing is said of the others. 12 of 14 files read, 0 stale, 2 skipped`. */
export function summaryCoverageLine(coverage: SummaryCoverage): string {
  const { sections, files } = coverage;
  const of = files.total === 1 ? '1 file' : `${files.used} of ${files.total} files`;
  const rest = sections.used < sections.total ? '; nothing is said of the others' : '';
  return `The sentences are about ${sections.used} of ${sections.total} sections, ${of}${rest}. ${coverageLine(coverage)}`;
}

/** Reads what the target needs, and nothing beside a reading that runs already or where nothing can be written. */
async function read(
  { memory, target }: SummarizeRequest,
  changes: FoundChanges | undefined,
  { signal, onProgress }: SummarizeOptions,
): Promise<ReadReport | undefined> {
  if (memory.readOnly !== undefined) return undefined;
  switch (target.kind) {
    case 'selection':
      // The text is given; nothing of the disk is needed.
      return undefined;
    case 'file':
      if (memory.isReading && memory.hashOf(target.path) !== undefined) return undefined;
      return memory.refresh({ signal, onProgress, only: path => path === target.path });
    case 'folder':
      if (memory.isReading) return undefined;
      return memory.refresh({ signal, onProgress, only: path => isUnder(path, target.path) });
    case 'workspace':
      return memory.isReading ? undefined : memory.refresh({ signal, onProgress });
    case 'changes': {
      const changed = new Set(changes?.files.map(file => file.path));
      return memory.isReading ? undefined : memory.refresh({ signal, onProgress, only: path => changed.has(path) });
    }
  }
}

function draftOf(
  { memory, target }: SummarizeRequest,
  changes: FoundChanges | undefined,
  most: number,
  { signal, onProgress }: SummarizeOptions,
): Draft | Promise<Draft> {
  switch (target.kind) {
    case 'selection':
      return draftOfSelection(target, most);
    case 'file':
      return draftOfFile(target.path, most, memory);
    case 'folder':
      return draftOfFolder(target.path, most, memory, { signal, onProgress });
    case 'workspace':
      return draftOfFolder('', most, memory, { signal, onProgress });
    case 'changes':
      return draftOfChanges(changes!, most, memory, signal);
  }
}

function coverageOf(coverage: Coverage, draft: Draft, summary: readonly SummarySentence[]): SummaryCoverage {
  const places = summary.flatMap(sentence => sentence.places);
  const used = new Set(places.map(place => `${place.path}:${place.startLine}`)).size;
  const files = new Set(places.map(place => place.path)).size;
  return {
    ...coverage,
    sections: { total: draft.sections, used },
    files: { total: draft.files, used: files },
  };
}
