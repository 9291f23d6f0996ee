/** `longview recall FILE:LINE:COLUMN`: where the name at a place is defined in other files. Reads nothing into the memory. */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { placeOf, recallAt, type RecallAtResult } from '../../assist/index.js';
import { LongviewError, escaped } from '../../base/index.js';
import { hasMemory } from '../../memory/index.js';
import { confinedPath, workspaceAround } from '../confined-path.js';
import { linesOfFile } from '../file-lines.js';
import { dataOf, folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';

export interface RecallFlags extends GlobalFlags {
  /** The folder that was read; default: the nearest one around the file with a memory or a repository, else the current folder. */
  readonly dir?: string;
}

const nothingRead: RecallAtResult = {
  candidates: [],
  certainty: 'none',
  how: 'no file of this folder has been read yet',
  filesRead: 0,
};
const word = /[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu;

export async function runRecall(call: Call, place: string, flags: RecallFlags): Promise<void> {
  const { surface, signal } = call;
  const { file, line, column } = placeIn(place);
  const data = dataOf(flags);
  const absolute = realFile(file, data);
  const root = flags.dir === undefined ? rootAround(absolute, data) : folderOf(flags.dir);
  const path = relative(root, absolute).split(sep).join('/');
  if (path.startsWith('../'))
    throw new LongviewError('usage', `${escaped(file)} is not in ${root}: name its folder with --dir.`);
  const { identifier, before } = identifierAt(await linesOfFile(root, path, signal), line, column, file);
  // A folder that nobody had read gets no store because someone looked at a name.
  const found = hasMemory(data, root)
    ? await withHouse(call, root, flags, ({ memory }) =>
        recallAt({ memory, path, identifier, before }, { signal, patienceMs: { list: 600_000, model: 0 } }),
      )
    : nothingRead;
  if (flags.json) {
    surface.json(found);
    return;
  }
  surface.note(`${identifier}: ${found.how}.`);
  for (const candidate of found.candidates) {
    surface.out(`${placeOf(candidate)}  ${candidate.signature.replace(/\s*\n\s*/g, ' ')}\n`);
  }
}

/** Lines and columns count from 1; the file's name may hold colons. */
function placeIn(place: string): { file: string; line: number; column: number } {
  const match = /^(.+):([1-9]\d{0,8}):([1-9]\d{0,8})$/.exec(place);
  if (!match) {
    throw new LongviewError('usage', `"${place}" is no place: write FILE:LINE:COLUMN, both counted from 1.`);
  }
  return { file: match[1]!, line: Number(match[2]), column: Number(match[3]) };
}

function realFile(file: string, data: string): string {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new LongviewError('not-found', `There is no file ${escaped(path)}`);
  if (!found.isFile()) throw new LongviewError('usage', `${escaped(path)} is no file: write FILE:LINE:COLUMN.`);
  return confinedPath(file, folder => rootAround(join(folder, basename(file)), data));
}

/** The nearest folder around the file with a memory or a repository, else the current folder if the file is in it, else the file's. */
function rootAround(file: string, data: string): string {
  const nearest = workspaceAround(dirname(file), data);
  if (nearest !== undefined) return nearest;
  const current = realpathSync('.');
  return file.startsWith(current + sep) ? current : dirname(file);
}

/** The name that the column is in or just behind, and the text up to its end. */
function identifierAt(
  lines: readonly string[],
  line: number,
  column: number,
  file: string,
): { identifier: string; before: string } {
  const own = lines[line - 1];
  if (own === undefined) throw new LongviewError('usage', `${file} has ${lines.length} lines, no line ${line}.`);
  for (const match of own.matchAll(word)) {
    const end = match.index + match[0].length;
    if (column - 1 < match.index || column - 1 > end) continue;
    const before = `${lines.slice(0, line - 1).join('\n')}\n${own.slice(0, end)}`;
    return { identifier: match[0], before: line === 1 ? before.slice(1) : before };
  }
  throw new LongviewError('usage', `There is no name at ${file}:${line}:${column}.`);
}
