/**
 * What a summary will be made of, before a word is written: which sections get a sentence, and out of how many. One function
 * a kind of target. Reads through the memory alone.
 */
import { LongviewError, escaped } from '../base/index.js';
import { linesOf, type FileStatus, type WorkOptions, type WorkspaceMemory } from '../memory/index.js';
import type { Place } from './citations.js';
import { leftOut } from './coverage.js';
import { shares, spread } from './summary-plan.js';
import { sectionsOf, type Section } from './summary-sections.js';
import type { SentenceTask } from './summary-sentence.js';

export interface Draft {
  /** In the order of their places. */
  readonly tasks: readonly SentenceTask[];
  /** All there are of the target. */
  readonly sections: number;
  readonly files: number;
  /** What is to be said beside the sentences, e.g. which files were deleted. */
  readonly notes: readonly string[];
  /** Whether the workspace's state is attended to, beside each file's. */
  readonly workspace: boolean;
}

export type TextOf = Place & { readonly text: string };

/** Asked of the recall heads to find the files that matter most in a folder. */
const GENERIC_QUESTION = 'What is the purpose of this project and where does it start?';
const MOST_RECALLED = 60;
/** Sentences that one file of a folder gets at most. */
const MOST_PER_FILE = 3;

/** Lines of a text, without the empty one after its last newline. */
export function textLines(text: string): string[] {
  const lines = linesOf(text);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

export function draftOfSelection({ path, startLine, text }: TextOf, most: number): Draft {
  const sections = sectionsOf(path, textLines(text), startLine);
  return { ...base, tasks: tasksOf(sections, most), sections: sections.length, files: 1 };
}

export async function draftOfFile(path: string, most: number, memory: WorkspaceMemory): Promise<Draft> {
  const sections = sectionsOf(path, await linesAsRead(path, memory));
  const notes = notesOn(memory.files().filter(file => file.path === path));
  return { ...base, notes, tasks: tasksOf(sections, most), sections: sections.length, files: 1 };
}

/** `folder` is relative, without a slash at its end; empty for the workspace. */
export async function draftOfFolder(
  folder: string,
  most: number,
  memory: WorkspaceMemory,
  options: WorkOptions,
): Promise<Draft> {
  const files = memory.files().filter(file => isUnder(file.path, folder));
  const notes = notesOn(files);
  const read = files.filter(file => memory.hashOf(file.path) !== undefined);
  if (read.length === 0) return { ...base, notes, tasks: [], sections: 0, files: 0 };
  const recalled = await memory.recall(GENERIC_QUESTION, { ...options, limit: MOST_RECALLED });
  const rank = new Map<string, number>();
  recalled.forEach(({ path }, at) => rank.set(path, rank.get(path) ?? at));
  const weighed = read.map(({ path, tokens }) => ({
    path,
    tokens,
    weight: fileWeight(path.slice(folder === '' ? 0 : folder.length + 1), tokens, rank.get(path)),
  }));
  const chosen = chooseFiles(weighed, folder, most);
  const texts: { path: string; sections: Section[]; tokens: number }[] = [];
  let sections = 0;
  for (const { path, tokens } of chosen) {
    // A file that changed in this moment is left out; the coverage says so.
    const source = await memory.source(path);
    if (!source.ok) continue;
    const own = sectionsOf(path, textLines(source.value));
    sections += own.length;
    if (own.some(section => section.weight > 0)) texts.push({ path, sections: own, tokens });
  }
  const limits = texts.map(text => Math.min(MOST_PER_FILE, text.sections.filter(({ weight }) => weight > 0).length));
  const share = shares(
    texts.map(text => text.tokens),
    limits,
    most,
  );
  const tasks = texts.flatMap((text, at) => tasksOfFile(text.path, text.sections, share[at]!));
  return { ...base, notes, tasks, sections, files: read.length, workspace: folder === '' };
}

function notesOn(files: readonly FileStatus[]): string[] {
  const note = leftOut(files);
  return note === undefined ? [] : [note];
}

const base: Pick<Draft, 'notes' | 'workspace'> = { notes: [], workspace: false };

/** A section a sentence; beside each what lies between it and its neighbours, the heaviest first. */
export function tasksOf(sections: readonly Section[], most: number): SentenceTask[] {
  const chosen = spread(
    sections.map(section => section.weight),
    most,
  );
  return chosen.map((at, index) => {
    const from = index === 0 ? 0 : chosen[index - 1]! + 1;
    const to = chosen[index + 1] ?? sections.length;
    const beside = sections.slice(from, to).filter(section => section !== sections[at] && section.weight > 0);
    return { sections: [sections[at]!, ...beside.sort((a, b) => b.weight - a.weight)], about: 'part' };
  });
}

/** The first sentence is about the file, by the section that says most of it: one the author described, early. */
function tasksOfFile(path: string, sections: readonly Section[], count: number): SentenceTask[] {
  const lead = `\`${escaped(path)}\``;
  const main = mainSection(sections);
  const [others] = [sections.map(section => (section === main ? 0 : section.weight))];
  const rest = spread(others, count - 1).map(at => sections[at]!);
  const ordered = [main, ...rest].sort((a, b) => a.startLine - b.startLine);
  return ordered.map(section => ({ sections: [section], about: section === main ? 'file' : 'part', lead }));
}

/** The section that stands for its file: the first if its author describes it, else the heaviest. */
export function mainSection(sections: readonly Section[]): Section {
  const first = sections[0]!;
  if (first.ownWords !== undefined) return first;
  return sections.reduce((best, section) => (section.weight > best.weight ? section : best), first);
}

interface Weighed {
  readonly path: string;
  readonly tokens: number;
  readonly weight: number;
}

/** The heaviest files, but one of each sub-folder first, as long as there is room; by folder and path. */
export function chooseFiles<F extends Weighed>(files: readonly F[], folder: string, most: number): F[] {
  const heaviest = [...files].sort((a, b) => b.weight - a.weight || (a.path < b.path ? -1 : 1));
  const subfolders = new Map<string, F>();
  for (const file of heaviest) {
    const rest = file.path.slice(folder === '' ? 0 : folder.length + 1);
    const sub = rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : '';
    if (!subfolders.has(sub)) subfolders.set(sub, file);
  }
  const chosen = new Set([...subfolders.values()].slice(0, most));
  for (const file of heaviest) {
    if (chosen.size >= most) break;
    chosen.add(file);
  }
  return [...chosen].sort((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

const guide = /(^|\/)(readme|index|overview|introduction|architecture)[^/]*$/i;
const entry = /(^|\/)(index|main|mod|lib|app|__init__|__main__|cli|server|extension|setup|init)\.\w+$/i;
const minor =
  /(^|\/)(tests?|fixtures|examples?|vendor|third_party|node_modules|\.[^/]+)\/|(\.|_)(test|spec)\.|(^|\/)(license|changelog)/i;

/** Weight by name and size, and by where the recall heads put it (`rank` from 0). */
function fileWeight(path: string, tokens: number, rank: number | undefined): number {
  let weight = Math.log2(2 + tokens);
  if (rank !== undefined) weight *= 1 + 1 / (1 + rank / 8);
  if (guide.test(path)) weight *= 2.5;
  else if (entry.test(path)) weight *= 1.5;
  if (minor.test(path)) weight *= 0.5;
  return weight / Math.sqrt(1 + depth(path));
}

function depth(path: string): number {
  return path.split('/').length - 1;
}

export function isUnder(path: string, folder: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}

/** Throws what to do where a file has no memory. */
export async function linesAsRead(path: string, memory: WorkspaceMemory): Promise<string[]> {
  const file = memory.files().find(row => row.path === path);
  if (!file) throw new LongviewError('not-found', `There is no file ${path} in ${memory.root}`);
  if (file.state === 'skipped') {
    throw new LongviewError('unsupported', `${path} is not read (${file.reason ?? 'skipped'}), so it has no summary.`);
  }
  const source = await memory.source(path);
  if (!source.ok) throw new LongviewError('stale', `${path} has no summary now: ${source.reason}. Try again.`);
  return textLines(source.value);
}
