/**
 * Reads ignore files: of a folder, of the folders above the root up to the top of its repository, and the repository's
 * `info/exclude`. Never fails: a file that cannot be read has no rules. The user's global Git excludes are not read.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { IgnoreRules, escapePattern } from './ignore-rules.js';
import type { RuleFile, RuleGroup } from './ignore-rules.js';

const FILES: readonly { readonly name: string; readonly group: RuleGroup }[] = [
  { name: '.gitignore', group: 'git' },
  { name: '.longviewignore', group: 'longview' },
];

/**
 * Left out everywhere unless a stronger rule takes it back: packages that were installed, caches of tools, and what file
 * managers leave. Folders such as `build`, `dist`, `target` and `vendor` are not here: they may hold sources, and
 * where they do not, a `.gitignore` says so.
 */
const BUILT_IN = [
  'node_modules/',
  '.venv/',
  '__pycache__/',
  '.mypy_cache/',
  '.pytest_cache/',
  '.ruff_cache/',
  '.tox/',
  '.gradle/',
  '.terraform/',
  '.next/',
  '.nuxt/',
  '.turbo/',
  '.parcel-cache/',
  '.DS_Store',
  'Thumbs.db',
];

/** More than this of an ignore file is not read. */
const MOST_BYTES = 1 << 20;

/** File systems that do not tell `A` from `a` by default, as Git assumes on these systems. */
export const IGNORE_CASE = process.platform === 'win32' || process.platform === 'darwin';

/** Ignore files among `names`, which are the entries of `folder`; `base` as in `RuleFile`, `shown` for details. */
export async function rulesIn(
  folder: string,
  base: string,
  shown: string,
  names: { has(name: string): boolean },
): Promise<RuleFile[]> {
  const files: RuleFile[] = [];
  for (const { name, group } of FILES) {
    if (!names.has(name)) continue;
    const lines = await linesOf(join(folder, name));
    if (lines.length > 0) files.push({ group, base, name: shown + name, lines });
  }
  return files;
}

export interface StartRules {
  /** What holds at the root before the root's own files are read. */
  readonly rules: IgnoreRules;
  /** Put before a path relative to the root, it is what `rules` asks for: the root relative to its repository's top. */
  readonly prefix: string;
}

/**
 * Rules of the repository around `root`, of the settings (`exclude`, in `.gitignore` syntax plus `{a,b}`) and of what the user
 * named (relative to the root). If the repository ignores the root itself (the user opened an installed package, say), none
 * of its rules apply.
 */
export async function startRules(
  root: string,
  exclude: readonly string[],
  named: readonly string[],
): Promise<StartRules> {
  const around = (await repositoryRules(root)) ?? { rules: IgnoreRules.of([], IGNORE_CASE), prefix: '' };
  const base = around.prefix;
  const files: RuleFile[] = [{ group: 'built-in', base, name: 'always', lines: BUILT_IN }];
  if (exclude.length > 0) {
    files.push({ group: 'exclude', base, name: 'settings', lines: exclude.flatMap(expandBraces) });
  }
  if (named.length > 0) {
    files.push({ group: 'named', base, name: 'named', lines: named.map(path => `!/${escapePattern(path)}`) });
  }
  return { rules: around.rules.with(files), prefix: base };
}

/** `{a,b}` of editor globs, which `.gitignore` does not know, as several rules. */
export function expandBraces(glob: string): string[] {
  const braces = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(glob);
  if (braces === null) return [glob];
  const [, before, choices, after] = braces as unknown as [string, string, string, string];
  return choices.split(',').flatMap(choice => expandBraces(before + choice + after));
}

/** Rules from the top of the repository that holds `root` down to above `root`; none if it ignores `root`. */
async function repositoryRules(root: string): Promise<StartRules | undefined> {
  const top = await repositoryTop(root);
  if (top === undefined) return undefined;
  const excluded = await linesOf(join(await gitFolder(join(top, '.git')), 'info', 'exclude'));
  let rules = IgnoreRules.of([{ group: 'git', base: '', name: '.git/info/exclude', lines: excluded }], IGNORE_CASE);
  let prefix = '';
  for (const name of relative(top, root).split(sep).filter(Boolean)) {
    const folder = join(top, prefix);
    const shown = `${relative(root, folder).split(sep).join('/')}/`;
    rules = rules.with(await rulesIn(folder, prefix, shown, { has: () => true }));
    prefix += `${name}/`;
    const verdict = rules.decide(prefix);
    if (verdict.ignored) return undefined;
    rules = rules.entering(prefix, verdict);
  }
  return { rules, prefix };
}

async function repositoryTop(root: string): Promise<string | undefined> {
  for (let folder = root; ; folder = dirname(folder)) {
    const found = await stat(join(folder, '.git')).catch(() => undefined);
    if (found !== undefined) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** The folder with `info/exclude`: `.git` itself, or where the `.git` file of a worktree or submodule leads. */
async function gitFolder(git: string): Promise<string> {
  const [first] = await linesOf(git);
  const link = /^gitdir: (.+)$/.exec(first ?? '')?.[1];
  if (link === undefined) return git;
  const own = resolve(dirname(git), link);
  const [common] = await linesOf(join(own, 'commondir'));
  return common === undefined ? own : resolve(own, common);
}

async function linesOf(path: string): Promise<string[]> {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > MOST_BYTES) return [];
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '').split(/\r?\n/);
  } catch {
    return [];
  }
}
