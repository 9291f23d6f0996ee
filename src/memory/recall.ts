/**
 * From a question to the lines that answer it: the engine's attention masses on slots become masses on lines, lines
 * become blocks of the files as they are on disk, words are fused in, and the best places come back with their exact text.
 * Never shows a file that is not the one that was read: such files are reported as changed and left out.
 */
import { codeOf, throwIfCancelled, type Result } from '../base/index.js';
import type { CallOptions, Engine, RecallParameters, RecallScores } from '../engine/index.js';
import type { Block } from './block.js';
import { placeName, type Places } from './documents/index.js';
import { focusOf } from './focus.js';
import { GiveWay } from './give-way.js';
import { bm25, bm25OfTexts, questionTerms, termsOf } from './lexical.js';
import { PartMasses } from './part-masses.js';
import {
  attentionScore,
  bestByFirstScore,
  distinct,
  fusedScores,
  rowScore,
  standardised,
  type Candidate,
} from './rank.js';
import type { IndexedPart, RecallIndex } from './recall-index.js';
import { FileLines, cutText, recalledTexts, shownText, type RecalledText } from './recalled-text.js';
import type { SourceText } from './source-files.js';
import { spanShares, type PlacedBlock } from './span-shares.js';
import type { CutText, TextCache } from './text-cache.js';
import { TextMass, lastLineOf } from './text-mass.js';
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
const MOST_PER_TEXT = 3;
const WINDOW_LINES = 16;
/** Files read from disk at a time. */
const READ_AT_ONCE = 16;

export async function recallSpans(question: string, limit: number, work: RecallParts): Promise<RecalledSpan[]> {
  const parts = work.index.all();
  if (parts.length === 0 || limit <= 0) return [];
  const scores = await scored(question, parts, work);
  throwIfCancelled(work.signal);
  const { keyHeadOf } = work.engine.model.recall;
  const { parameters } = scores;
  const masses = new PartMasses(parts, scores, keyHeadOf);
  const texts = recalledTexts(parts).map(text => scorable(text, parts, masses));
  // Words alone show only once a text is cut, so without heads none is left out.
  const most = keyHeadOf.length === 0 ? texts.length : MOST_TEXTS;
  const chosen = (await chooseTexts(question, texts, parameters, most)).map(at => texts[at]!);
  const cuts = await cutTexts(chosen, work);
  const candidates = await fused(question, chosen, cuts, { ...work, parameters, slotStart: scores.slotStart });
  return exact(candidates, limit, { ...work, parameters }, chosen);
}

/** A text and what is known of its lines. */
export interface ScorableText {
  readonly text: RecalledText;
  /** Made anew each time: of a large memory, the masses of all lines would take gigabytes. */
  readonly mass: () => TextMass;
  /** The last of its lines with a token. */
  readonly lastLine: number;
}

function scorable(text: RecalledText, parts: readonly IndexedPart[], masses: PartMasses): ScorableText {
  const last = text.parts.reduce((line, at) => Math.max(line, lastLineOf(parts[at]!)), 0);
  return {
    text,
    mass: () => new TextMass(text.parts.map(at => masses.of(at))),
    lastLine: Math.min(last, text.lastLine),
  };
}

/** A model that has no recall heads scores nothing: its places are found by words alone. */
async function scored(question: string, all: readonly IndexedPart[], parts: RecallParts): Promise<RecallScores> {
  if (parts.engine.model.recall.keyHeadOf.length === 0) {
    const none = { slots: [], mass: [], rest: [] };
    const { parameters } = parts.engine.model.recall;
    return { rows: 0, slotStart: new Uint32Array(all.length + 1), mass: none, nullMass: none, parameters };
  }
  return withSlots(parts, all, (ids, options) => parts.engine.scoreRecall(question, ids, options));
}

/** Asks the engine about the slots of parts, which are put there before; again if it was started anew in the meantime. */
async function withSlots<T>(
  { engine, index, signal }: RecallParts,
  parts: readonly IndexedPart[],
  ask: (ids: readonly string[], options: CallOptions) => Promise<T>,
): Promise<T> {
  const ids = parts.map(part => part.key);
  try {
    await index.push(engine);
    return await ask(ids, { signal });
  } catch (error) {
    if (codeOf(error) !== 'stale' && codeOf(error) !== 'engine-crashed') throw error;
    await index.push(engine);
    return ask(ids, { signal });
  }
}

/** Positions of the texts worth cutting: all of them, or the best by their best window and by words in their path. */
export async function chooseTexts(
  question: string,
  texts: readonly ScorableText[],
  parameters: RecallParameters,
  most = MOST_TEXTS,
): Promise<number[]> {
  const all = texts.map((_, at) => at);
  if (texts.length <= most) return all;
  const way = new GiveWay();
  const windows: number[] = [];
  for (const text of texts) {
    windows.push(bestWindow(text, parameters));
    await way.step();
  }
  const best = standardised(windows);
  const asked = new Set(questionTerms(question));
  const named = texts.map(({ text }) => termsOf(text.path).filter(term => asked.has(term)).length);
  const value = all.map(at => best[at]! + Math.min(2, named[at]!));
  return all.sort((a, b) => value[b]! - value[a]! || a - b).slice(0, most);
}

function bestWindow({ text, mass: massOfText, lastLine }: ScorableText, parameters: RecallParameters): number {
  const mass = massOfText();
  let best = -Infinity;
  for (let start = text.firstLine; start <= lastLine; start += WINDOW_LINES / 2) {
    best = Math.max(best, attentionScore(mass, { startLine: start, endLine: start + WINDOW_LINES - 1 }, parameters));
  }
  return best;
}

/** Blocks and terms of each text as read; `undefined` for those of a file that changed. Each file is read once. */
async function cutTexts(texts: readonly ScorableText[], parts: RecallParts): Promise<(CutText | undefined)[]> {
  const way = new GiveWay();
  const cuts = new Map<RecalledText, CutText>();
  const unknown = new Map<string, RecalledText[]>();
  for (const { text } of texts) {
    const known = parts.cache.get(cacheKeyOf(text));
    if (known) cuts.set(text, known);
    else unknown.set(text.path, [...(unknown.get(text.path) ?? []), text]);
  }
  const files = [...unknown.entries()];
  for (let at = 0; at < files.length; at += READ_AT_ONCE) {
    throwIfCancelled(parts.signal);
    await Promise.all(
      files.slice(at, at + READ_AT_ONCE).map(async ([path, own]) => {
        const source = await asRead(path, own[0]!.contentHash, parts);
        if (source === undefined) return;
        const lines = await FileLines.of(source.text);
        for (const text of own) {
          cuts.set(text, parts.cache.put(cacheKeyOf(text), await cutText(text, lines)));
          await way.step();
        }
      }),
    );
  }
  return texts.map(({ text }) => cuts.get(text));
}

function cacheKeyOf({ path, contentHash, firstLine }: RecalledText): string {
  return `${contentHash}:${firstLine}:${path}`;
}

async function asRead(path: string, contentHash: string, parts: RecallParts): Promise<SourceText | undefined> {
  const source = await parts.read(path);
  if (source.ok && source.value.contentHash === contentHash) return source.value;
  parts.onChanged(path);
  return undefined;
}

interface Scored extends PlacedBlock {
  readonly path: string;
  readonly stretch: number;
  readonly mass: TextMass;
  readonly attention: number;
  /** Position of its text among those that were cut. */
  readonly at: number;
}

interface ScoredParts extends RecallParts {
  /** As they are for a memory of this size. */
  readonly parameters: RecallParameters;
  /** Where each part's slots begin among all. */
  readonly slotStart: Uint32Array;
}

/** Blocks by attention and words: the best by their first score are scored row by row. */
async function fused(
  question: string,
  texts: readonly ScorableText[],
  cuts: readonly (CutText | undefined)[],
  work: ScoredParts,
): Promise<Candidate[]> {
  const { keyHeads } = work.engine.model.recall;
  const { parameters } = work;
  const blocks: Scored[] = [];
  const indexed: { index: CutText['terms']; blocks: readonly Block[]; path: string }[] = [];
  const way = new GiveWay();
  for (const [of, cut] of cuts.entries()) {
    if (!cut) continue;
    const { path, parts, firstLine: stretch } = texts[of]!.text;
    const mass = texts[of]!.mass();
    const at = indexed.push({ index: cut.terms, blocks: cut.blocks, path }) - 1;
    for (const block of cut.blocks) {
      const attention = keyHeads === 0 ? 0 : attentionScore(mass, block, parameters);
      blocks.push({ block, parts, tokens: mass.tokensOn(block), path, stretch, mass, attention, at });
    }
    await way.step();
  }
  const asked = work.lexicalWeight === 0 ? [] : questionTerms(question);
  const words = [...(await bm25(asked, indexed))];
  const first = blocks.map(block => block.attention);
  const best = bestByFirstScore(first, words, work.lexicalWeight);
  const shortlist = best.map(at => blocks[at]!);
  const ofTexts = await bm25OfTexts(asked, indexed);
  const scores = fusedScores(
    {
      attention: await rowScores(question, shortlist, work),
      words: best.map(at => words[at]!),
      wordsOfText: shortlist.map(({ at }) => ofTexts[at]!),
    },
    work.lexicalWeight,
  );
  return shortlist.map(({ block, path, stretch }, at) => ({ ...block, path, stretch, score: scores[at]! }));
}

/** The whole formula of `rank.ts` for some blocks. */
async function rowScores(question: string, blocks: readonly Scored[], work: ScoredParts): Promise<number[]> {
  const { keyHeads } = work.engine.model.recall;
  const { parameters, slotStart } = work;
  if (keyHeads === 0 || blocks.length === 0) return blocks.map(({ attention }) => attention);
  const parts = work.index.all();
  const shares = await spanShares(blocks, parts, slotStart, keyHeads);
  const { found, nullMass } = await withSlots(work, parts, (ids, options) =>
    work.engine.scoreSpans(question, ids, shares, options),
  );
  return blocks.map(({ mass, block }, at) => {
    const own = (of: Float32Array): number[] => parameters.weight.map((_, head) => of[head * blocks.length + at]!);
    return rowScore(own(found), mass, block, parameters, nullMass && own(nullMass));
  });
}

/** The best candidates whose files are, now, still the ones read. */
async function exact(
  candidates: readonly Candidate[],
  limit: number,
  parts: RecallParts & Pick<ScoredParts, 'parameters'>,
  texts: readonly ScorableText[],
): Promise<RecalledSpan[]> {
  const files = new Map<string, { lines: FileLines; places?: Places } | undefined>();
  const out: RecalledSpan[] = [];
  for (const { path, stretch, startLine, endLine, score } of distinct(candidates, MOST_PER_TEXT)) {
    const { text, mass } = texts.find(one => one.text.path === path && one.text.firstLine === stretch)!;
    if (!files.has(path)) {
      const source = await asRead(path, text.contentHash, parts);
      files.set(path, source && { lines: await FileLines.of(source.text), places: source.places });
    }
    const file = files.get(path);
    if (!file) continue;
    const shown = shownText(file.lines, startLine, endLine);
    const place = file.places && placeName(file.places, startLine, shown.endLine);
    const focus = focusOf({ startLine, endLine: shown.endLine }, mass(), parts.parameters);
    out.push({ path, startLine, ...shown, ...(place !== undefined && { place }), ...(focus && { focus }), score });
    if (out.length >= limit) break;
  }
  return out;
}
