/**
 * What changed in a workspace since a commit, or since changes were summarized last: a sentence a file, at the lines that
 * changed; files that are gone or are not read are named. Remembers what was told, so that the next summary goes on there.
 */
import { createHash } from 'node:crypto';
import { codeOf, escaped } from '../base/index.js';
import type { WorkspaceMemory } from '../memory/index.js';
import type { Place } from './citations.js';
import { changedLines, changesSince, commitOf, type ChangedFile, type LineRange } from './git.js';
import { mainSection, textLines, type Draft } from './summary-draft.js';
import { sectionsOf, type Section } from './summary-sections.js';
import type { SentenceTask } from './summary-sentence.js';

/** Changes that were found, before anything of them is read. */
export interface FoundChanges {
  readonly commit: string;
  readonly files: readonly ChangedFile[];
  /** How the summary begins, e.g. with what it compares. */
  readonly notes: readonly string[];
  /** Digests of changes that were told last time. */
  readonly told: ReadonlySet<string>;
}

/** What is remembered: the commit of then, and digests of the files that differed from it. Names no file. */
interface Mark {
  readonly commit: string;
  readonly told: readonly string[];
}

export async function findChanges(
  since: string | undefined,
  memory: WorkspaceMemory,
  signal?: AbortSignal,
): Promise<FoundChanges> {
  const { root } = memory;
  const found = async (name: string, note: string, told: readonly string[] = []): Promise<FoundChanges> => {
    const commit = await commitOf(root, name, signal);
    const notes = [`${note} (commit ${commit.slice(0, 10)}).`];
    return { commit, files: await changesSince(root, commit, signal), notes, told: new Set(told) };
  };
  if (since !== undefined) return found(since, `Changes since ${since}`);
  const mark = markOf(memory.summaryMark());
  if (!mark) return found('HEAD', 'No changes were summarized here before: compared with the last commit');
  try {
    return await found(mark.commit, 'Changes since the last summary of changes', mark.told);
  } catch (error) {
    if (codeOf(error) !== 'not-found') throw error;
    return found('HEAD', 'The commit of the last summary of changes is gone: compared with the last commit', mark.told);
  }
}

export async function draftOfChanges(
  { commit, files, notes, told }: FoundChanges,
  most: number,
  memory: WorkspaceMemory,
  signal?: AbortSignal,
): Promise<Draft> {
  const changed = files.filter(file => !told.has(digestOf(file, memory)));
  const readable = changed.filter(({ path, status }) => status !== 'deleted' && memory.hashOf(path) !== undefined);
  const gone = changed.filter(({ status }) => status === 'deleted');
  const unread = changed.filter(file => !readable.includes(file) && !gone.includes(file));
  const chosen = [...readable].sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, most);
  const tasks: SentenceTask[] = [];
  let sections = 0;
  for (const file of readable) {
    const source = await memory.source(file.path);
    if (!source.ok) continue;
    const ranges = file.status === 'new' ? [] : await changedLines(memory.root, commit, file, signal);
    const task = taskOf(file, textLines(source.value), ranges);
    sections += task.touched;
    if (chosen.includes(file) && task.sentence) tasks.push(task.sentence);
  }
  const reasons = new Map(memory.files().map(({ path, reason }) => [path, reason]));
  return {
    tasks,
    sections,
    files: changed.length,
    workspace: false,
    notes: [
      ...notes,
      ...(changed.length === 0 ? ['Nothing changed.'] : []),
      ...list('Deleted', gone, () => undefined),
      ...list(
        'Changed too, without a sentence',
        readable.filter(file => !chosen.includes(file)),
        () => undefined,
      ),
      ...list('Changed, but not read', unread, ({ path }) => reasons.get(path)),
    ],
  };
}

/** Keeps what the next summary of changes begins after: all that differs from the last commit now has been told. */
export async function rememberChanges(memory: WorkspaceMemory, signal?: AbortSignal): Promise<void> {
  const commit = await commitOf(memory.root, 'HEAD', signal);
  const files = await changesSince(memory.root, commit, signal);
  const mark: Mark = { commit, told: files.map(file => digestOf(file, memory)) };
  await memory.keepSummaryMark(new TextEncoder().encode(JSON.stringify(mark)));
}

function markOf(bytes: Uint8Array | undefined): Mark | undefined {
  if (!bytes) return undefined;
  try {
    const { commit, told } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Mark>;
    return typeof commit === 'string' && Array.isArray(told) ? { commit, told } : undefined;
  } catch {
    return undefined; // As if there had been none.
  }
}

function digestOf({ path, status }: ChangedFile, memory: WorkspaceMemory): string {
  const content = status === 'deleted' ? 'deleted' : (memory.hashOf(path) ?? 'not read');
  return createHash('sha256').update(`${path}\0${content}`).digest('hex').slice(0, 32);
}

function sizeOf({ status, added, removed }: ChangedFile): number {
  // Lines of a file that git does not know yet are not counted; it is all new.
  return status === 'new' ? Math.max(added, 50) : added + removed;
}

/** Changed places of a file that a sentence names at most. */
const MOST_PLACES = 5;
/** Lines shown before a change. */
const LINES_BEFORE = 3;

/** The sentence of a file, and how many of its sections were touched. */
function taskOf(
  file: ChangedFile,
  lines: readonly string[],
  ranges: readonly LineRange[],
): { sentence?: SentenceTask; touched: number } {
  const { path } = file;
  const sections = sectionsOf(path, lines);
  if (sections.length === 0) return { touched: 0 };
  const lead = leadOf(file, ranges.length);
  if (ranges.length === 0) {
    // New as a whole, or under another name alone.
    return { sentence: { sections: [mainSection(sections)], about: 'file', lead }, touched: sections.length };
  }
  const places = ranges.map(range => ({
    path,
    startLine: Math.min(range.startLine, lines.length),
    endLine: Math.min(range.endLine, lines.length),
  }));
  const touches = (section: Section): number => places.reduce((sum, place) => sum + overlap(section, place), 0);
  const touched = sections.filter(section => touches(section) > 0);
  const main = touched.reduce<Section | undefined>(
    (best, section) => (best && touches(best) >= touches(section) ? best : section),
    undefined,
  );
  const section = main ? from(main, places) : mainSection(sections);
  const largest = [...places].sort((a, b) => b.endLine - b.startLine - (a.endLine - a.startLine)).slice(0, MOST_PLACES);
  return {
    sentence: { sections: [section], about: 'part', lead, places: largest.sort((a, b) => a.startLine - b.startLine) },
    touched: touched.length,
  };
}

/** A section from a little before its first change on. */
function from(section: Section, places: readonly Place[]): Section {
  const first = places.find(place => overlap(section, place) > 0);
  const skip = Math.max(0, (first?.startLine ?? 0) - LINES_BEFORE - section.startLine);
  return { ...section, startLine: section.startLine + skip, lines: section.lines.slice(skip) };
}

function overlap(a: LineRange, b: LineRange): number {
  return Math.max(0, Math.min(a.endLine, b.endLine) - Math.max(a.startLine, b.startLine) + 1);
}

function leadOf({ path, status, from: old, added, removed }: ChangedFile, places: number): string {
  const name = escaped(path);
  if (status === 'new') return `\`${name}\` is new`;
  const moved = old === undefined ? '' : `was \`${escaped(old)}\``;
  if (places === 0) return `\`${name}\` ${moved || 'changed'}`;
  const where = `changed in ${places} place${places === 1 ? '' : 's'} (+${added} −${removed} lines)`;
  return `\`${name}\` ${moved === '' ? where : `${moved}, ${where}`}`;
}

/** Names in a note at most. */
const MOST_NAMES = 20;

function list(what: string, files: readonly ChangedFile[], why: (file: ChangedFile) => string | undefined): string[] {
  if (files.length === 0) return [];
  const names = files.slice(0, MOST_NAMES).map(file => {
    const reason = why(file);
    return `\`${escaped(file.path)}\`${reason === undefined ? '' : ` (${reason})`}`;
  });
  const more = files.length > MOST_NAMES ? ` and ${files.length - MOST_NAMES} more` : '';
  return [`${what}: ${names.join(', ')}${more}.`];
}
