/**
 * `longview summarize`: what a file, some of its lines or a folder is about, or what changed in it, each sentence with its place, as Markdown on
 * stdout. The memory is that of the nearest folder above that has one, or is a repository.
 */
import { statSync } from 'node:fs';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import {
  shownPlace,
  summarize,
  summaryCoverageLine,
  type SummaryResult,
  type SummaryTarget,
} from '../../assist/index.js';
import { LongviewError, escaped } from '../../base/index.js';
import { confinedPath, workspaceAround } from '../confined-path.js';
import { linesOfFile } from '../file-lines.js';
import { dataOf, withHouse, type Call } from '../house.js';
import { ensureModel, type ConsentFlags } from '../model-consent.js';
import { count, duration } from '../text.js';

export interface SummarizeFlags extends ConsentFlags {
  readonly lines?: string;
  readonly changes?: boolean;
  readonly since?: string;
  readonly maxSentences?: number;
}

export async function runSummarize(call: Call, given: string, flags: SummarizeFlags): Promise<void> {
  const { surface, signal } = call;
  const { root, target, note } = await locate(given, flags, signal);
  if (note !== undefined) surface.note(note);
  await ensureModel(call, flags);
  const result = await withHouse(call, root, flags, async ({ memory, engine }) =>
    summarize(
      { memory, engine: await engine(), target, maxSentences: flags.maxSentences },
      {
        signal,
        onProgress: surface.progress,
        onSentence: flags.json ? undefined : ({ text, places }) => surface.out(`- ${lineOf(text, places)}\n`),
      },
    ),
  );
  const { timing } = result;
  if (timing.readTokens > 0) surface.note(`Read ${count(timing.readTokens)} tokens in ${duration(timing.readMs)}.`);
  if (flags.json) surface.json(result);
  else surface.out(endOf(result));
}

function lineOf(text: string, places: SummaryResult['summary'][number]['places']): string {
  return `${text} (${places.map(shownPlace).join(', ')})`;
}

/** What follows the sentences: notes and coverage. */
function endOf({ notes, coverage }: SummaryResult): string {
  return `\n${[...notes, summaryCoverageLine(coverage)].join('\n\n')}\n`;
}

interface Located {
  readonly root: string;
  readonly target: SummaryTarget;
  /** What is not as it was asked for. */
  readonly note?: string;
}

/** Which workspace a path belongs to, and what of it is meant. */
async function locate(given: string, flags: SummarizeFlags, signal: AbortSignal): Promise<Located> {
  const stat = statSync(resolve(given), { throwIfNoEntry: false });
  if (!stat) throw new LongviewError('not-found', `There is no file or folder ${escaped(resolve(given))}`);
  const around = (folder: string): string => workspaceAround(folder, dataOf(flags)) ?? folder;
  const path = confinedPath(given, around);
  const root = around(stat.isDirectory() ? path : dirname(path));
  const inside = relative(root, path).split(sep).join('/');
  if (flags.changes === true || flags.since !== undefined) {
    if (flags.lines !== undefined) throw new LongviewError('usage', 'Give --lines or changes, not both.');
    if (inside !== '') throw new LongviewError('usage', `Changes are those of a whole workspace: name ${root}`);
    return { root, target: { kind: 'changes', since: flags.since } };
  }
  if (flags.lines !== undefined) {
    if (stat.isDirectory())
      throw new LongviewError('usage', `${basename(path)} is a folder; --lines are those of a file.`);
    return { root, ...selection(inside, flags.lines, await linesOfFile(root, inside, signal)) };
  }
  if (!stat.isDirectory()) return { root, target: { kind: 'file', path: inside } };
  return { root, target: inside === '' ? { kind: 'workspace' } : { kind: 'folder', path: inside } };
}

function selection(path: string, lines: string, text: readonly string[]): Omit<Located, 'root'> {
  const [, from, to] = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(lines) ?? [];
  const startLine = Number(from);
  const all = text.at(-1) === '' ? text.slice(0, -1) : text; // What follows the last line end is no line.
  const wanted = Number(to ?? from);
  const endLine = Math.min(wanted, all.length);
  if (!(startLine >= 1 && startLine <= endLine)) {
    throw new LongviewError('usage', `--lines ${lines}: give lines of the file as FIRST-LAST; it has ${all.length}.`);
  }
  return {
    target: { kind: 'selection', path, startLine, endLine, text: all.slice(startLine - 1, endLine).join('\n') },
    ...(wanted > endLine && {
      note: `${basename(path)} ends at line ${endLine}: lines ${startLine}-${endLine} it is.`,
    }),
  };
}
