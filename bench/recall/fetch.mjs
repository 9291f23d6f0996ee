// What the recall benchmark takes from registries, by name and version, once, into a cache folder: archives are checked against
// their SHA-256 and unpacked there. Never committed, never part of a test. Uses the registries' own clients (pip, npm, apt-get).
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import envPaths from 'env-paths';
import { SetUpError, note } from '../../scripts/set-up.mjs';

const start = promisify(execFile);

export function cacheFolder() {
  const chosen = process.env.LONGVIEW_BENCH_CACHE;
  return chosen ? resolve(chosen) : join(envPaths('longview-bench', { suffix: '' }).cache, 'recall');
}

/** Standard output of a program. A failure is one line that says what was tried. */
export async function output(command, args, options = {}) {
  try {
    const { stdout } = await start(command, args, { maxBuffer: 1 << 30, ...options });
    return stdout;
  } catch (error) {
    const reason = String(error.stderr || error.message)
      .trim()
      .split('\n')
      .at(-1);
    throw new SetUpError(`${command} ${args.slice(0, 3).join(' ')} … failed: ${reason}`);
  }
}

/** Folder with what an archive holds. `source`: {registry, package, version, sha256, wheel?}. */
export async function fetched(source, cache = cacheFolder()) {
  const folder = join(cache, `${source.registry}-${source.package.replace('/', '-')}-${source.version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(`${folder}.part-`);
  try {
    note(`Fetching ${source.package} ${source.version} …`);
    await download[source.registry](source, work);
    const [name] = await readdir(work);
    const archive = join(work, name);
    const hash = await sha256(archive);
    if (hash !== source.sha256) {
      throw new SetUpError(`${name} has SHA-256 ${hash}, not ${source.sha256}: it is not what was measured.`);
    }
    const unpacked = join(work, 'unpacked');
    await mkdir(unpacked);
    if (name.endsWith('.whl')) await output(python, ['-m', 'zipfile', '-e', archive, unpacked]);
    else if (name.endsWith('.deb')) await output('dpkg-deb', ['-x', archive, unpacked]);
    else await output('tar', ['-xzf', archive, '-C', unpacked]);
    await rename(unpacked, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

/** The interpreter with pip, and for right answers jedi. */
export const python = process.platform === 'win32' ? 'python' : 'python3';

const download = {
  /** Sources unless `wheel`. pip checks the hash before it runs anything of the package. */
  async pypi({ package: name, version, sha256: hash, wheel }, work) {
    const list = `${work}.txt`;
    await writeFile(list, `${name}==${version} --hash=sha256:${hash}\n`);
    const kind = wheel ? ['--only-binary', ':all:'] : ['--no-binary', name];
    try {
      await output(python, ['-m', 'pip', 'download', '-q', '--no-deps', ...kind, '-r', list, '-d', work]);
    } finally {
      await rm(list, { force: true });
    }
  },
  async npm({ package: name, version }, work) {
    const shell = process.platform === 'win32';
    await output('npm', ['pack', '--silent', '--ignore-scripts', `${name}@${version}`], { cwd: work, shell });
  },
  async debian({ package: name, version }, work) {
    await output('apt-get', ['download', '-q', `${name}=${version}`], { cwd: work });
  },
};

async function sha256(path) {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path)) hash.update(bytes);
  return hash.digest('hex');
}
