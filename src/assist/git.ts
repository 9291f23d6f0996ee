/**
 * What git says changed in a folder: files, counts of lines, and which lines of the new text. Runs git with arguments, never
 * through a shell, and asks it to start none of the repository's programs. Never changes the repository.
 */
import { spawn } from 'node:child_process';
import { LongviewError, codeOf, throwIfCancelled } from '../base/index.js';

/** Paths are relative to the folder. */
export interface ChangedFile {
  readonly path: string;
  readonly status: 'new' | 'changed' | 'renamed' | 'deleted';
  /** Path before a renaming. */
  readonly from?: string;
  /** Lines; 0 for a file that git does not know yet, and for binary files. */
  readonly added: number;
  readonly removed: number;
}

/** Lines of the new text, both ends included. */
export interface LineRange {
  readonly startLine: number;
  readonly endLine: number;
}

/** Of the commit that a name stands for, its digest. Throws `not-found`, or `unsupported` where there is no git to ask. */
export async function commitOf(root: string, name: string, signal?: AbortSignal): Promise<string> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  const { code, out, err } = await git(root, args, signal);
  if (code === 0) return out.trim();
  if (/not a git repository/i.test(err)) {
    throw new LongviewError('unsupported', `${root} is in no git repository: changes are found with git.`);
  }
  if (err.trim() !== '') throw refused(err);
  const what = name === 'HEAD' ? 'The repository has no commit yet' : `There is no commit "${name}" in the repository`;
  throw new LongviewError('not-found', `${what}: nothing to compare with.`);
}

/** Files that differ from a commit, by path, those that git does not know yet included (but not what it ignores). */
export async function changesSince(root: string, commit: string, signal?: AbortSignal): Promise<ChangedFile[]> {
  const files = new Map<string, ChangedFile>();
  const counts = countsOf(await answer(root, [...diff, '--numstat', '-z', commit, '--', '.'], signal));
  const fields = (await answer(root, [...diff, '--name-status', '-z', commit, '--', '.'], signal)).split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const letter = fields[at]![0]!;
    const from = letter === 'R' || letter === 'C' ? fields[++at] : undefined;
    const path = fields[at + 1]!;
    const status = letter === 'A' || letter === 'C' ? 'new' : letter === 'D' ? 'deleted' : 'changed';
    const [added, removed] = counts.get(path) ?? [0, 0];
    if (letter === 'R') files.set(path, { path, status: 'renamed', from, added, removed });
    else files.set(path, { path, status, added, removed });
  }
  const others = await answer(root, ['ls-files', '--others', '--exclude-standard', '-z', '--', '.'], signal);
  for (const path of others.split('\0')) {
    // A file that was deleted from the index and is there again.
    if (path !== '' && files.get(path)?.status === 'deleted')
      files.set(path, { ...files.get(path)!, status: 'changed' });
    else if (path !== '') files.set(path, { path, status: 'new', added: 0, removed: 0 });
  }
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Where a file differs from a commit, in order; a place where lines were only removed is the line before it. */
export async function changedLines(
  root: string,
  commit: string,
  { path, from }: ChangedFile,
  signal?: AbortSignal,
): Promise<LineRange[]> {
  const paths = from === undefined ? [path] : [from, path];
  const text = await answer(root, [...diff, '-U0', commit, '--', ...paths], signal);
  return [...text.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].map(([, start, count = '1']) => {
    const startLine = Math.max(1, Number(start));
    return { startLine, endLine: startLine + Math.max(1, Number(count)) - 1 };
  });
}

const diff = ['diff', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules', '--relative', '-M'];

/** `added TAB removed TAB path NUL`, or with an empty path and `old NUL new NUL` behind it. */
function countsOf(text: string): Map<string, [number, number]> {
  const out = new Map<string, [number, number]>();
  const fields = text.split('\0');
  for (let at = 0; at < fields.length; at++) {
    const [added, removed, path] = fields[at]!.split('\t');
    if (path === undefined) continue;
    const name = path === '' ? fields[(at += 2)]! : path;
    out.set(name, [Number(added) || 0, Number(removed) || 0]);
  }
  return out;
}

async function answer(root: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
  const { code, out, err } = await git(root, args, signal);
  if (code !== 0) throw refused(err);
  return out;
}

function refused(err: string): LongviewError {
  return new LongviewError('unsupported', `git does not answer: ${err.trim().split('\n')[0] ?? 'no reason given'}`);
}

/** Neither hooks nor a monitor nor a pager of the repository is started, and no lock is taken. */
const quietly = [
  ...['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'core.quotePath=false'],
  ...['--no-pager', '--no-optional-locks', '--literal-pathspecs'],
];

/** Set by git for its hooks; the folder alone says which repository is meant. */
const ofHooks = new Set(['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']);

interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function git(root: string, args: readonly string[], signal?: AbortSignal): Promise<Answer> {
  throwIfCancelled(signal);
  return new Promise((resolve, reject) => {
    const own = Object.entries(process.env).filter(([name]) => !ofHooks.has(name));
    const env = { ...Object.fromEntries(own), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' };
    const child = spawn('git', [...quietly, ...args], { cwd: root, env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    const text = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text.out += piece));
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (text.err += piece));
    child.once('error', cause => {
      if (signal?.aborted) reject(new LongviewError('cancelled', 'Cancelled.'));
      else if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
        const message = 'Changes are found with git, and there is no git on this machine’s PATH.';
        reject(new LongviewError('unsupported', message, { cause }));
      } else reject(new LongviewError(codeOf(cause), `git could not be started: ${cause.message}`, { cause }));
    });
    child.once('close', code => resolve({ code, ...text }));
  });
}
