// The files of a repository that recall is measured on: a seeded choice up to a size, their doc comments taken out of the text,
// written to a folder of their own so that nothing else can be found there. Questions come from docQuestions and from prose.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SetUpError, root } from '../../scripts/set-up.mjs';
import { cacheFolder, fetched } from './fetch.mjs';
import { shuffled } from './figures.mjs';

const { docQuestions, languageOfPath } = await import(join(root, 'out/src/calibrate/index.js'));

/** Of source code, roughly; the model's own count is told with its figures. */
export const CHARACTERS_PER_TOKEN = 3.5;
/** A file with more than this share of the limit would leave too little for others. */
const MOST_SHARE = 0.4;

const skippedFolders =
  /^(?:\.|node_modules$|vendor$|dist$|out$|build$|target$|tests?$|__tests__$|testdata$|fixtures$|examples?$|bench(?:es|marks?)?$)/;
const skippedFiles = /(?:\.d\.[cm]?ts|\.min\.js|_test\.go|[._-](?:test|spec)\.[cm]?[jt]sx?|^test_.*\.py)$/;

/** Where the files of a repository lie: of the fixed list, or a folder given. */
export async function located(repository) {
  if (repository.folder) return { code: repository.folder, prose: proseOf(repository.folder) };
  const archive = await fetched(repository.source);
  const prose = repository.prose.map(path => join(archive, path));
  return { code: join(archive, repository.code), prose: prose.flatMap(proseOf) };
}

export function folderRepository(folder) {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new SetUpError(`There is no folder ${folder}.`);
  return { name: basename(folder), language: 'the folder given', folder };
}

/** Paths below a folder, in order, of the files that code or prose is taken from. */
export function pathsIn(folder, wanted) {
  const out = [];
  const walk = at => {
    for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name);
      if (entry.isDirectory() && !skippedFolders.test(entry.name)) walk(path);
      else if (entry.isFile() && wanted(entry.name)) out.push(relative(folder, path).split(sep).join('/'));
    }
  };
  walk(folder);
  return out;
}

export function isSource(name) {
  return languageOfPath(name) !== undefined && !skippedFiles.test(name);
}

/** A documentation file itself, or those of a folder: its README, its list of changes, and what lies in `docs`. */
function proseOf(path) {
  const isProse = name => /\.(?:md|rst|markdown)(?:\.gz)?$/i.test(name);
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  const all = pathsIn(path, isProse).filter(name => !/contribut|licen[sc]e/i.test(name));
  const isDocs = path.endsWith(`${sep}docs`);
  return all.filter(name => isDocs || /^(?:readme|change|history)|^docs?\//i.test(name)).map(name => join(path, name));
}

export function proseText(path) {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** `files`: [{path, text, lines, functions, questions}] without doc comments, by path; `folder`: where they lie. */
export async function prepared(repository, { tokens, seed }) {
  const { code, prose } = await located(repository);
  const most = tokens * CHARACTERS_PER_TOKEN;
  const files = [];
  let total = 0;
  for (const path of shuffled(pathsIn(code, isSource), seed)) {
    const found = docQuestions(path, readFileSync(join(code, path), 'utf8'));
    if (!found || found.functions.length === 0) continue;
    const size = found.text.length;
    if (size > most * MOST_SHARE || total + size > most) continue;
    total += size;
    files.push({ path, ...found, lines: found.text.split('\n') });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  if (files.length === 0)
    throw new SetUpError(`${repository.name}: no file with functions in a language that is known.`);
  const folder = join(cacheFolder(), 'stripped', `${repository.name}-${tokens}-${seed}`);
  await rm(folder, { recursive: true, force: true });
  for (const { path, text } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return { name: repository.name, language: repository.language, code, prose, folder, files, characters: total };
}
