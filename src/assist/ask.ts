/**
 * A question about a folder, answered: read what is unread, recall places, let the model write over them, check what it
 * cites. What was recalled is reported before the first word. Never trusts the model's text: it is data to be checked.
 */
import { LongviewError, codeOf, throwIfCancelled, type ProgressListener } from '../base/index.js';
import type { Engine, GenerateResult } from '../engine/index.js';
import { questionTerms, termsOf, type Coverage, type RecalledSpan, type WorkspaceMemory } from '../memory/index.js';
import {
  checkCitations,
  isWithin,
  overlaps,
  placeOf,
  placeOnly,
  shownPlace,
  type Citation,
  type Place,
} from './citations.js';
import { coverageLine, reasonsLine } from './coverage.js';
import { KeptSentences } from './kept-sentences.js';
import { completed, withoutLoops } from './loops.js';
import { checkNames } from './names.js';
import { PROMPT_LIMITS, promptOf, styleFor, type PassageOrder, type PromptStyle } from './prompt.js';
import { quoteOf, type Quote } from './quote.js';
import { reranked } from './rerank.js';

export interface AskRequest {
  readonly memory: WorkspaceMemory;
  readonly engine: Engine;
  readonly question: string;
  /** Tokens written at most; default by the model's size. */
  readonly maxTokens?: number;
  /** Answer from what is in the memory, without looking for changes first. */
  readonly now?: boolean;
  /** Lines of an editor that the question is about: the first passage, whatever is recalled. */
  readonly selection?: Place & { readonly text: string };
  /** Places recalled; default 6. */
  readonly places?: number;
  /** How many of them the prompt shows at most, and in which order; default by the model's size, the best one last. */
  readonly passages?: number;
  readonly order?: PassageOrder;
  /** Tokens of the prompt at most; default by the model's size. */
  readonly promptTokens?: number;
  /**
   * What the model attends to beside the window: gists that the best files have (default), the composed workspace state before
   * them, or nothing. The workspace's takes as long again as the rest of an answer and changes none that was measured
   * (docs/measurements, Answers).
   */
  readonly states?: 'files' | 'workspace' | 'none';
  /** Files whose gists are paged in; default 2. */
  readonly gists?: number;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** Called once, before any text. */
  readonly onRecalled?: (spans: readonly RecalledSpan[]) => void;
  /** Text as the model writes it, not checked yet; `AskResult.answer` is what to keep. */
  readonly onText?: (text: string) => void;
}

/** Tokens written, where the caller does not say: of a small model's sentences the later ones are rarely kept. */
const MOST_TOKENS: Record<PromptStyle, number> = { plain: 80, numbered: 160 };

/** Places quoted beside a small model's sentences. */
const MOST_QUOTES = 2;

export type RecalledPlace = Place & Pick<RecalledSpan, 'score' | 'focus' | 'cut'>;

/** The contract of `longview ask --json`. Milliseconds from the call. */
export interface AskResult {
  readonly answer: string;
  readonly recalled: readonly RecalledPlace[];
  readonly citations: readonly Citation[];
  /** Names of code in the answer that stand in none of the files recalled; struck out in it. */
  readonly unknownNames: readonly string[];
  readonly coverage: Coverage;
  readonly timing: {
    /** Time and tokens of reading files into the memory in this call. */
    readonly readMs: number;
    readonly readTokens: number;
    /** To the first text of the answer, reading included. */
    readonly firstTokenMs: number;
    readonly totalMs: number;
    readonly promptTokens: number;
    readonly writtenTokens: number;
  };
  readonly model: string;
  readonly provider: string;
}

export async function ask(request: AskRequest, options: AskOptions = {}): Promise<AskResult> {
  const { memory, engine } = request;
  const { signal, onProgress } = options;
  const question = request.question.trim();
  if (question === '') throw new LongviewError('usage', 'The question is empty: write what you want to know.');
  const start = performance.now();
  const canRead = !request.now && memory.readOnly === undefined;
  let report = canRead ? await memory.refresh({ signal, onProgress }) : undefined;
  // Nothing is known of the folder yet: at least say how many files wait.
  if (request.now && memory.coverage().total === 0) await memory.scan({ signal, onProgress });
  const recall = (): Promise<readonly RecalledSpan[]> =>
    memory.recall(soughtFor(question, request.selection), { limit: request.places ?? 6, signal, onProgress });
  let spans = await recall();
  if (report && memory.coverage().stale > 0) {
    // Recall compares hashes: it found a change that left size and time as they were.
    const again = await memory.refresh({ signal, onProgress });
    report = { ...again, tokensRead: report.tokensRead + again.tokensRead, readMs: report.readMs + again.readMs };
    spans = await recall();
  }
  throwIfCancelled(signal);
  // What a selection asks is in its lines as much as in the question. A larger model sees all places in one prompt, in time.
  if (!request.selection && styleFor(engine.model) === 'plain')
    spans = await orderOf(request, question, spans, options);
  options.onRecalled?.(spans);

  const writing = performance.now() - start;
  const passages = withSelection(spans, request.selection);
  const written = passages.length > 0 ? await write(request, question, passages, options) : undefined;
  const coverage = memory.coverage();
  const answer = [written?.text ?? nothingFound(memory), coverageLine(coverage)].join('\n\n');
  const totalMs = performance.now() - start;
  return {
    answer,
    recalled: spans.map(withoutText),
    citations: written?.citations ?? [],
    unknownNames: written?.unknownNames ?? [],
    coverage,
    timing: {
      readMs: Math.round(report?.readMs ?? 0),
      readTokens: report?.tokensRead ?? 0,
      firstTokenMs: Math.round(written ? writing + written.untilFirstMs : totalMs),
      totalMs: Math.round(totalMs),
      promptTokens: written?.promptTokens ?? 0,
      writtenTokens: written?.writtenTokens ?? 0,
    },
    model: engine.model.name,
    provider: engine.model.provider.name,
  };
}

/** Best first; as recalled where the engine was lost meanwhile, which the answer starts anew. */
async function orderOf(
  { engine }: AskRequest,
  question: string,
  spans: readonly RecalledSpan[],
  options: AskOptions,
): Promise<readonly RecalledSpan[]> {
  try {
    return await reranked({ engine, question, spans }, options);
  } catch (error) {
    if (isRestart(error)) return spans;
    throw error;
  }
}

/** A span as it is told to others: they read the file, or have it opened. */
export function withoutText(span: RecalledSpan): RecalledPlace {
  const { score, focus, cut } = span;
  return { ...placeOnly(span), score, ...(focus && { focus }), ...(cut !== undefined && { cut }) };
}

interface Written {
  readonly text: string;
  readonly citations: readonly Citation[];
  readonly unknownNames: readonly string[];
  readonly untilFirstMs: number;
  readonly promptTokens: number;
  readonly writtenTokens: number;
}

async function write(
  request: AskRequest,
  question: string,
  spans: readonly RecalledSpan[],
  { signal, onText }: AskOptions,
): Promise<Written> {
  const { memory, engine } = request;
  const start = performance.now();
  const style = styleFor(engine.model);
  const budget = request.promptTokens ?? PROMPT_LIMITS[style].tokens;
  const countTokens = (text: string): Promise<number> => engine.countTokens(text);
  const { passages, order } = request;
  const prompt = { question, style, spans, passages, order, budget, countTokens };
  const { messages, answerPrefix, places } = await promptOf(prompt);
  // What is surely there stands first, before the model has written a word.
  const quotes = style === 'plain' ? quotesOf(spans, places, request) : [];
  const untilQuotes = performance.now() - start;
  for (const quote of quotes) onText?.(`${quote.text}\n\n`);
  let prepared = 0;
  let sentences: KeptSentences | undefined;
  const generate = async (): Promise<GenerateResult> => {
    sentences = style === 'plain' ? new KeptSentences(messages.at(-1)!.content, answerPrefix, onText) : undefined;
    const kept = sentences;
    const states = await statesFor(request, spans, signal);
    prepared = performance.now() - start;
    return engine.generate(
      {
        messages,
        answerPrefix,
        states,
        maxTokens: request.maxTokens ?? MOST_TOKENS[style],
        temperature: 0,
        repetitionPenalty: 1.1,
        stop: ['\nQuestion:', '\n[1] ', '\nFile ', '<|im_start|>'],
      },
      { signal, onText: kept ? text => kept.push(text) : onText },
    );
  };
  const result = await generate().catch(async (error: unknown) => {
    if (!isRestart(error)) throw error;
    return generate().catch((again: unknown) => {
      // What its end was says more than what was lost by it.
      throw codeOf(again) === 'stale' ? error : again;
    });
  });
  if (result.stopReason === 'cancelled') throw new LongviewError('cancelled', 'Cancelled.');
  const whole = result.stopReason === 'length' ? completed(result.text) : result.text;
  const words = sentences ? sentences.end(result.stopReason === 'end') : withoutLoops(whole).trim();
  const cited = await checkCitations(words, places, memory, request.selection);
  const citations = [...cited.citations];
  for (const { place } of quotes) {
    if (!citations.some(one => one.ok && isWithin(place, one))) citations.push({ ...place, ok: true });
  }
  const about = await textsAbout(request, spans, citations);
  const { text, unknown } = checkNames(
    cited.text,
    citations.map(citation => `\`${placeOf(citation)}\``),
    about,
  );
  const nothing = sentences ? NO_SENTENCE : 'The model wrote nothing.';
  const parts = [...quotes.map(quote => quote.text), text === '' ? nothing : text];
  if (!citations.some(citation => citation.ok)) {
    const nearest = (places.length > 0 ? places : spans).slice(0, 3);
    const shown = nearest.map(async place => {
      const { path, startLine, endLine } = place;
      return shownPlace({ ...place, place: await memory.placeName(path, startLine, endLine) });
    });
    parts.push(`The answer names no place that holds. Places recalled: ${(await Promise.all(shown)).join(', ')}`);
  }
  if (!request.selection && !namesTheQuestion(question, spans)) {
    parts.push('No word of the question stands in the places recalled, so they may not answer it.');
  }
  const { promptTokens, writtenTokens, firstTokenMs } = result;
  return {
    ...{ text: parts.join('\n\n'), citations, unknownNames: unknown },
    ...{ untilFirstMs: quotes.length > 0 ? untilQuotes : prepared + firstTokenMs, promptTokens, writtenTokens },
  };
}

const NO_SENTENCE = 'The model wrote no sentence that rests on the places recalled; they may not answer the question.';

/** The best places of the prompt in their own lines; of what is selected, which the user sees, the place alone. */
function quotesOf(
  spans: readonly RecalledSpan[],
  places: readonly Place[],
  { question, selection }: AskRequest,
): Quote[] {
  const isShown = (span: Place): boolean => places.some(place => isWithin(place, span));
  const isSelected = (span: Place): boolean => selection !== undefined && overlaps(span, selection);
  const others = spans.filter(span => isShown(span) && !isSelected(span));
  const quotes = others.slice(0, MOST_QUOTES).map(span => quoteOf(span, question));
  if (!selection) return quotes;
  return [{ place: placeOnly(selection), text: `${shownPlace(selection)} (selected)` }, ...quotes];
}

/** The whole text of the files that were recalled or cited, the question, and the paths of all files. */
async function textsAbout(
  { memory, question, selection }: AskRequest,
  spans: readonly RecalledSpan[],
  citations: readonly Citation[],
): Promise<string[]> {
  const paths = new Set([...spans, ...citations.filter(({ ok }) => ok)].map(({ path }) => path));
  const texts = [
    question,
    selection?.text ?? '',
    memory
      .files()
      .map(({ path }) => path)
      .join('\n'),
  ];
  for (const span of spans) texts.push(span.text);
  for (const path of paths) {
    const source = await memory.source(path);
    if (source.ok) texts.push(source.value);
  }
  return texts;
}

const NAME = /[\p{L}_$][\p{L}\p{N}_$]{3,}/gu;
const MOST_NAMES = 24;

/**
 * What is recalled for: about lines that are selected, a question such as "Where is it thrown?" says little, and the names in
 * them say what it is about. The whole lines found fewer of the right places (docs/measurements).
 */
function soughtFor(question: string, selection: AskRequest['selection']): string {
  if (!selection) return question;
  const names = new Set([...selection.text.matchAll(NAME)].map(([name]) => name));
  return [question, ...[...names].slice(0, MOST_NAMES)].join(' ');
}

/** The engine was started anew and has lost the states. */
function isRestart(error: unknown): boolean {
  return codeOf(error) === 'stale' || codeOf(error) === 'engine-crashed';
}

/** The selection before all that was recalled, which need not say it again. */
function withSelection(spans: readonly RecalledSpan[], selection: AskRequest['selection']): readonly RecalledSpan[] {
  if (!selection) return spans;
  return [{ ...selection, score: spans[0]?.score ?? 0 }, ...spans.filter(span => !isWithin(span, selection))];
}

/** Ids of the states to attend to. */
async function statesFor(
  { memory, states = 'files', gists = 2 }: AskRequest,
  spans: readonly RecalledSpan[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  if (states === 'none') return [];
  const best = [...new Set(spans.map(span => span.path))].slice(0, gists);
  return memory.states(best, { signal, workspace: states === 'workspace' });
}

function namesTheQuestion(question: string, spans: readonly RecalledSpan[]): boolean {
  const asked = questionTerms(question);
  const there = new Set(spans.flatMap(span => termsOf(`${span.path} ${span.text}`)));
  return asked.length === 0 || asked.some(term => there.has(term));
}

function nothingFound(memory: WorkspaceMemory): string {
  const { coverage, skipped } = memory.status();
  if (coverage.total === 0) return 'Nothing was found: there is no file in this folder.';
  if (coverage.skipped === coverage.total) {
    return `Nothing was found: no file of this folder can be read (${reasonsLine(skipped)}).`;
  }
  if (coverage.read === 0 && coverage.stale > 0) {
    return 'Nothing was found: what was read of this folder has changed since. Read it again.';
  }
  return coverage.read === 0
    ? 'Nothing was found: no file of this folder has been read yet.'
    : 'Nothing was found for this question in the files that were read.';
}
