/**
 * The texts that a calibration reads: source files of some folders whose doc comments ask for their functions, the ones
 * that ask most a token first, and what is held out of them. Depends on names and contents alone. Never reads the model.
 */
import { realpath } from 'node:fs/promises';
import { LongviewError } from '../base/index.js';
import { DEFAULT_SETTINGS, filesOf } from '../memory/index.js';
import { docQuestions } from './doc-questions.js';
import type { DocText } from './doc-questions.js';
import { languageOfPath } from './function-heads.js';

export interface SourceDoc extends DocText {
  /** Relative to its folder. */
  readonly path: string;
  readonly tokens: number;
}

/** Shorter texts hold nothing to confuse a function with, longer ones take the whole of a calibration. */
const CHARACTERS = { least: 500, most: 40_000 };
/** Of one file: so that no file decides alone. */
const MOST_QUESTIONS = 40;
const PART_HELD_OUT = 1 / 5;
/** Training on fewer only learns them by heart. */
export const LEAST_QUESTIONS = 40;

/** Texts of at most `tokens` in all. Throws `usage` where they ask too little, `not-found` for a folder that is not there. */
export async function gatherDocs(
  folders: readonly string[],
  tokens: number,
  count: (text: string) => number,
  signal?: AbortSignal,
): Promise<readonly SourceDoc[]> {
  const found: { doc: DocText; path: string; order: number }[] = [];
  for (const folder of folders) {
    const files = filesOf(await realFolder(folder), DEFAULT_SETTINGS);
    for await (const { path, skipped } of files.walk(() => undefined, { signal })) {
      if (skipped !== undefined || path.endsWith('.d.ts') || !languageOfPath(path)) continue;
      const read = await files.read(path, signal);
      const doc = read.ok ? docQuestions(path, read.value.text) : undefined;
      if (!doc || doc.questions.length === 0) continue;
      if (doc.text.length < CHARACTERS.least || doc.text.length > CHARACTERS.most) continue;
      const order = (doc.questions.length / doc.text.length) * (0.4 + share(path));
      found.push({ doc: { ...doc, questions: doc.questions.slice(0, MOST_QUESTIONS) }, path, order });
    }
  }
  found.sort((a, b) => b.order - a.order || (a.path < b.path ? -1 : 1));
  const docs: SourceDoc[] = [];
  let total = 0;
  for (const { doc, path } of found) {
    const own = count(doc.text);
    if (total + own > tokens) continue;
    total += own;
    docs.push({ ...doc, path, tokens: own });
  }
  checkQuestions(docs, found.length);
  return docs;
}

function checkQuestions(docs: readonly SourceDoc[], files: number): void {
  const questions = questionsOf(docs);
  if (questions >= LEAST_QUESTIONS && docs.length > 1) return;
  const where = docs.length === 1 ? '1 file' : `${docs.length} files`;
  const advice =
    docs.length < files ? 'allow more with --tokens' : "name more folders, or none to take Longview's own sources";
  throw new LongviewError(
    'usage',
    `Found ${questions} functions with a doc comment to ask for in ${where}; calibration needs at least ${LEAST_QUESTIONS} in 2 files (Python, TypeScript, JavaScript, Go, Rust): ${advice}.`,
  );
}

export function questionsOf(docs: readonly DocText[]): number {
  return docs.reduce((sum, { questions }) => sum + questions.length, 0);
}

/** Whole files that only measure, about a fifth of the questions; never all. */
export function split(docs: readonly SourceDoc[]): { readonly training: SourceDoc[]; readonly heldOut: SourceDoc[] } {
  const wanted = questionsOf(docs) * PART_HELD_OUT;
  const byChance = [...docs].sort((a, b) => share(`held out ${a.path}`) - share(`held out ${b.path}`));
  const heldOut: SourceDoc[] = [];
  for (const doc of byChance) {
    const missing = wanted - questionsOf(heldOut);
    // A file of many questions only where it overshoots by less than is missing.
    if (doc.questions.length - missing < missing) heldOut.push(doc);
  }
  if (heldOut.length === 0) heldOut.push(byChance.reduce((a, b) => (b.questions.length < a.questions.length ? b : a)));
  return { training: docs.filter(doc => !heldOut.includes(doc)), heldOut };
}

/** Texts in groups of at most `tokens` each, a longer text alone. */
export function inGroups(docs: readonly SourceDoc[], tokens: number): SourceDoc[][] {
  const groups: SourceDoc[][] = [];
  let room = 0;
  for (const doc of docs) {
    if (doc.tokens > room) {
      groups.push([]);
      room = tokens;
    }
    groups.at(-1)!.push(doc);
    room -= doc.tokens;
  }
  return groups;
}

async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (cause) {
    throw new LongviewError('not-found', `There is no folder ${folder}.`, { cause });
  }
}

/** A number from 0 to 1 that a text has to itself (FNV-1a, mixed). */
function share(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
