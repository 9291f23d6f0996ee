/**
 * From a question to the lines that answer it: the engine's attention masses on slots become masses on lines, lines
 * become blocks of the files as they are on disk, words are fused in, and the best places come back with their exact text.
 * Never shows a file that is not the one that was read: such files are reported as changed and left out.
 */
import { codeOf, throwIfCancelled, type Result } from '../base/index.js';
import type { Engine, RecallParameters, RecallScores } from '../engine/index.js';
import type { Block } from './block.js';
import { linesOf } from './blocks.js';
import { bm25, questionTerms, termsOf } from './lexical.js';
import { LineMass } from './line-mass.js';
import { attentionScore, distinct, standardised, type Candidate, type TextMass } from './rank.js';
import type { IndexedFile, RecallIndex } from './recall-index.js';
import type { SourceText } from './source-files.js';
import type { CutText, TextCache } from './text-cache.js';
import type { RecalledSpan } from './workspace-memory.js';

export interface RecallParts {
  readonly engine: Engine;
  readonly index: RecallIndex;
  readonly cache: TextCache;
  readonly lexicalWeight: number;
  readonly read: (path: string) => Promise<Result<SourceText>>;
  /** Told of each file whose bytes are not the ones read. */
  readonly onChanged: (path: string) => void;
  readonly signal?: AbortSignal;
}

/** Texts that are cut into blocks for one question at most; chosen by attention and by their names. */
const MOST_TEXTS = 400;
const MOST_PER_FILE = 3;
const WINDOW_LINES = 16;
/** Files read from disk at a time. */
const READ_AT_ONCE = 16;

export async function recallSpans(question: string, limit: number, parts: RecallParts): Promise<RecalledSpan[]> {
  const files = parts.index.all();
  if (files.length === 0 || limit <= 0) return [];
  const scores = await scored(question, files, parts);
  throwIfCancelled(parts.signal);
  const { keyHeadOf, parameters } = parts.engine.model.recall;
  const masses = files.map((file, at) => massOf(file, scores, scores.slotStart[at]!, keyHeadOf));
  // Words alone show only once a text is cut, so without heads none is left out.
  const most = keyHeadOf.length === 0 ? files.length : MOST_TEXTS;
  const chosen = chooseTexts(question, files, masses, parameters, most);
  const cuts = await cutTexts(
    chosen.map(at => files[at]!),
    parts,
  );
  const candidates = fused(question, chosen, cuts, files, masses, parameters, parts.lexicalWeight);
  return exact(candidates, limit, parts, files);
}

/** A model that has no recall heads scores nothing: its places are found by words alone. */
async function scored(question: string, files: readonly IndexedFile[], parts: RecallParts): Promise<RecallScores> {
  if (parts.engine.model.recall.keyHeadOf.length === 0) {
    const none = new Float32Array(0);
    return { rows: 0, slotStart: new Uint32Array(files.length + 1), mass: none, nullMass: none };
  }
  const ids = files.map(file => file.key);
  try {
    await parts.index.push(parts.engine);
    return await parts.engine.scoreRecall(question, ids, { signal: parts.signal });
  } catch (error) {
    if (codeOf(error) !== 'stale' && codeOf(error) !== 'engine-crashed') throw error;
    // The engine was started anew in the meantime and has lost the slots.
    await parts.index.push(parts.engine);
    return parts.engine.scoreRecall(question, ids, { signal: parts.signal });
  }
}

function massOf(file: IndexedFile, scores: RecallScores, first: number, keyHeadOf: readonly number[]): TextMass {
  const { provenance, slots, tokens } = file;
  return { tokens, mass: LineMass.of(provenance, slots, tokens.length, scores, first, keyHeadOf) };
}

/** Positions of the files worth cutting: all of them, or the best by their best window and by words in their path. */
export function chooseTexts(
  question: string,
  files: readonly Pick<IndexedFile, 'path'>[],
  masses: readonly TextMass[],
  parameters: RecallParameters,
  most = MOST_TEXTS,
): number[] {
  const all = files.map((_, at) => at);
  if (files.length <= most) return all;
  const best = standardised(masses.map(text => bestWindow(text, parameters)));
  const asked = new Set(questionTerms(question));
  const named = files.map(file => termsOf(file.path).filter(term => asked.has(term)).length);
  const value = all.map(at => best[at]! + Math.min(2, named[at]!));
  return all.sort((a, b) => value[b]! - value[a]! || a - b).slice(0, most);
}

function bestWindow(text: TextMass, parameters: RecallParameters): number {
  let best = -Infinity;
  for (let start = 1; start < text.tokens.length; start += WINDOW_LINES / 2) {
    best = Math.max(best, attentionScore(text, { startLine: start, endLine: start + WINDOW_LINES - 1 }, parameters));
  }
  return best;
}

/** Blocks and terms of each file as read; `undefined` for a file that changed. */
async function cutTexts(files: readonly IndexedFile[], parts: RecallParts): Promise<(CutText | undefined)[]> {
  const out: (CutText | undefined)[] = [];
  for (let at = 0; at < files.length; at += READ_AT_ONCE) {
    throwIfCancelled(parts.signal);
    const some = files.slice(at, at + READ_AT_ONCE);
    out.push(
      ...(await Promise.all(
        some.map(async file => {
          const known = parts.cache.get(file.key);
          if (known) return known;
          const text = await textAsRead(file, parts);
          return text === undefined ? undefined : parts.cache.put(file.key, file.path, text);
        }),
      )),
    );
  }
  return out;
}

async function textAsRead(file: IndexedFile, parts: RecallParts): Promise<string | undefined> {
  const source = await parts.read(file.path);
  if (source.ok && source.value.contentHash === file.contentHash) return source.value.text;
  parts.onChanged(file.path);
  return undefined;
}

function fused(
  question: string,
  chosen: readonly number[],
  cuts: readonly (CutText | undefined)[],
  files: readonly IndexedFile[],
  masses: readonly TextMass[],
  parameters: RecallParameters,
  lexicalWeight: number,
): Candidate[] {
  const blocks: (Block & { path: string })[] = [];
  const attention: number[] = [];
  const texts: { index: CutText['terms']; blocks: readonly Block[] }[] = [];
  cuts.forEach((cut, at) => {
    if (!cut) return;
    const file = chosen[at]!;
    texts.push({ index: cut.terms, blocks: cut.blocks });
    for (const block of cut.blocks) {
      blocks.push({ ...block, path: files[file]!.path });
      attention.push(parameters.weight.length === 0 ? 0 : attentionScore(masses[file]!, block, parameters));
    }
  });
  const words = standardised(lexicalWeight === 0 ? blocks.map(() => 0) : [...bm25(questionTerms(question), texts)]);
  return standardised(attention)
    .map((score, at) => ({ ...blocks[at]!, score: score + lexicalWeight * words[at]! }))
    .filter((_, at) => Number.isFinite(attention[at]!));
}

/** The best candidates whose files are, now, still the ones read. */
async function exact(
  candidates: readonly Candidate[],
  limit: number,
  parts: RecallParts,
  files: readonly IndexedFile[],
): Promise<RecalledSpan[]> {
  const byPath = new Map(files.map(file => [file.path, file]));
  const texts = new Map<string, string[] | undefined>();
  const out: RecalledSpan[] = [];
  for (const { path, startLine, endLine, score } of distinct(candidates, MOST_PER_FILE)) {
    if (!texts.has(path)) {
      const text = await textAsRead(byPath.get(path)!, parts);
      texts.set(path, text === undefined ? undefined : linesOf(text));
    }
    const lines = texts.get(path);
    if (!lines) continue;
    out.push({ path, startLine, endLine, score, text: lines.slice(startLine - 1, endLine).join('\n') });
    if (out.length >= limit) break;
  }
  return out;
}
