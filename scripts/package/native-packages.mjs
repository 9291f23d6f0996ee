// The packages that cannot be bundled, with the binaries of one platform only: onnxruntime-node and lmdb.
// What this machine has no binaries for comes from the npm registry and is held against package-lock.json.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetUpError, root, run } from '../set-up.mjs';

/** VS Code's names of the platforms that both libraries have binaries for. */
export const targets = ['win32-x64', 'win32-arm64', 'linux-x64', 'linux-arm64', 'darwin-arm64'];

/** Puts the native packages of `target` under `folder` (a node_modules). */
export async function copyNativePackages(target, folder) {
  const [platform, arch] = target.split('-');
  const copy = (from, to = from) => {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    cpSync(join(root, 'node_modules', from), join(folder, to), { recursive: true, filter: isNeeded });
  };
  const copyScripts = (name, folders) => {
    for (const part of ['package.json', 'LICENSE', ...folders]) {
      if (existsSync(join(root, 'node_modules', name, part))) copy(`${name}/${part}`);
    }
  };

  copyScripts('onnxruntime-node', ['dist']);
  copyScripts('onnxruntime-common', ['dist/cjs']);
  const binaries = `onnxruntime-node/bin/napi-v6/${platform}/${arch}`;
  if (!existsSync(join(root, 'node_modules', binaries)))
    throw new SetUpError(`onnxruntime-node has no binaries for ${target}.`);
  copy(binaries);
  // The same library under two names: the binding asks for the short one.
  for (const file of readdirSync(join(folder, binaries))) {
    if (/^libonnxruntime\.\d+\.\d+\.\d+\.dylib$/.test(file)) rmSync(join(folder, binaries, file));
  }

  copyScripts('lmdb', ['dist', 'dict', 'util', ...scriptsOf('lmdb')]);
  for (const name of lmdbNeeds()) copy(name);
  const lmdb = await platformPackage(`@lmdb/lmdb-${target}`);
  mkdirSync(join(folder, '@lmdb'), { recursive: true });
  cpSync(lmdb, join(folder, '@lmdb', `lmdb-${target}`), { recursive: true });
  // N-API binaries load in every Node and Electron; those for single versions are left out, and so is musl.
  for (const file of readdirSync(join(folder, '@lmdb', `lmdb-${target}`))) {
    if (/\.(abi\d+|napi\.musl)\b/.test(file)) rmSync(join(folder, '@lmdb', `lmdb-${target}`, file));
  }
}

/** Neither maps nor types nor tests. */
function isNeeded(path) {
  return !/(\.map|\.d\.[cm]?ts|[/\\](tests?|benchmark)(\.[cm]?js)?)$/.test(path);
}

function scriptsOf(name) {
  return readdirSync(join(root, 'node_modules', name)).filter(file => /\.js$|\.cjs$/.test(file));
}

/** Packages that lmdb loads; those that only build or speed it up natively are not among them. */
function lmdbNeeds() {
  return [
    '@harperfast/extended-iterable',
    'msgpackr',
    'node-gyp-build-optional-packages',
    'detect-libc',
    'ordered-binary',
    'weak-lru-cache',
  ];
}

/** Folder of an optional package: installed here, or fetched once into out/packages and checked. */
async function platformPackage(name) {
  const installed = join(root, 'node_modules', name);
  if (existsSync(installed)) return installed;
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[`node_modules/${name}`];
  if (!lock) throw new SetUpError(`package-lock.json does not know ${name}.`);
  const folder = join(root, 'out', 'packages');
  const unpacked = join(folder, `${name.replace('/', '-')}-${lock.version}`);
  if (existsSync(unpacked)) return unpacked;
  mkdirSync(folder, { recursive: true });
  const packed = await run('npm', ['pack', `${name}@${lock.version}`, '--pack-destination', folder, '--silent'], {
    capture: true,
  });
  const archive = join(folder, packed.output.trim().split('\n').at(-1) ?? '');
  if (packed.code !== 0 || !existsSync(archive))
    throw new SetUpError(`npm pack ${name} failed: ${packed.output.trim()}`);
  const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (digest !== lock.integrity) throw new SetUpError(`${name}: what came is not what package-lock.json names.`);
  mkdirSync(`${unpacked}.part`, { recursive: true });
  const tar = await run('tar', ['-xzf', archive, '-C', `${unpacked}.part`, '--strip-components=1'], { capture: true });
  if (tar.code !== 0) throw new SetUpError(tar.output);
  cpSync(`${unpacked}.part`, unpacked, { recursive: true });
  rmSync(`${unpacked}.part`, { recursive: true });
  rmSync(archive);
  return unpacked;
}
