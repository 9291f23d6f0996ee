// What a fresh clone lacks, put right once: the packages of package-lock.json, and compiled code that matches the sources.
// Uses Node's built-ins only (it runs before anything is installed) and never writes to stdout: that belongs to the command.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

// onnxruntime-node: no CUDA download when it is installed, no usage data when it runs. Inherited by every child.
process.env.ONNXRUNTIME_NODE_INSTALL = 'skip';
process.env.ORT_DISABLE_TELEMETRY = '1';

/** Bytes of an installed node_modules, for the progress line only. */
const installedBytes = 450e6;

export function note(line) {
  process.stderr.write(`${line}\n`);
}

/** A failure whose message is all that the user needs to see. */
export class SetUpError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 10)) {
    throw new SetUpError(`Longview needs Node 20.10 or newer; this is ${process.version}.`);
  }
}

/**
 * Runs a command and resolves with `{code, output}`; with `capture` its output is kept instead of shown.
 * An interrupt is passed on and ends in a SetUpError with exit code 130 once the command is gone.
 */
export function run(command, args, { capture = false, env = {} } = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2],
      shell: process.platform === 'win32' && command === 'npm',
    });
    let interrupted;
    const onSignal = signal => {
      interrupted = signal;
      child.kill(signal);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => chunks.push(chunk));
    const finish = settle => {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
      settle();
    };
    child.once('error', error => finish(() => fail(new SetUpError(`Cannot start ${command}: ${error.message}`))));
    child.once('close', code =>
      finish(() => {
        if (interrupted) fail(new SetUpError('Interrupted.', interrupted === 'SIGINT' ? 130 : 143));
        else done({ code: code ?? 1, output: Buffer.concat(chunks).toString() });
      }),
    );
  });
}

export function node(args, options) {
  return run(process.execPath, args, options);
}

/** Whether node_modules holds exactly what package-lock.json asks for (npm's own record of the install says so). */
export function packagesAreCurrent() {
  const wanted = readJson('package-lock.json')?.packages;
  const installed = readJson('node_modules/.package-lock.json')?.packages;
  if (!wanted || !installed) return false;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const there = installed[path];
    // Left out on purpose: what is for another platform.
    if (!there && !entry.optional) return false;
    if (there && (there.version !== entry.version || there.integrity !== entry.integrity)) return false;
  }
  return Object.keys(installed).every(path => wanted[path] !== undefined);
}

async function installPackages() {
  note('Installing the packages from the npm registry (about 200 MB to download, 450 MB on disk) …');
  const began = Date.now();
  const stop = reportInstall(began);
  try {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--progress=false'];
    const { code } = await run('npm', args);
    if (code !== 0) throw new SetUpError('npm ci failed; its message is above. Run the same command again to retry.');
  } finally {
    stop();
  }
  note(`Packages installed in ${seconds(began)}.`);
}

/** Tells every few seconds how much has arrived, on one line of a terminal or as sparse lines elsewhere. */
function reportInstall(began) {
  const terminal = process.stderr.isTTY;
  const timer = setInterval(
    () => {
      const bytes = folderBytes(join(root, 'node_modules'));
      const percent = Math.min(99, Math.round((100 * bytes) / installedBytes));
      const line = `  ${Math.round(bytes / 1e6)} MB of about ${installedBytes / 1e6} MB (${percent} %), ${seconds(began)}`;
      process.stderr.write(terminal ? `\r${line}\u001b[K` : `${line}\n`);
    },
    terminal ? 1000 : 10_000,
  );
  return () => {
    clearInterval(timer);
    if (terminal) process.stderr.write('\r\u001b[K');
  };
}

function folderBytes(folder) {
  let bytes = 0;
  let entries = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return 0; // Not there yet, or being replaced.
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += folderBytes(path);
    else bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

/** Compiles the given projects (`tsc -b` arguments); none means all. */
export async function compile(projects = []) {
  return node([join('node_modules', 'typescript', 'bin', 'tsc'), '-b', ...projects], { capture: true });
}

/** Digest of everything that decides what `out/src` holds. */
function sourcesDigest() {
  const hash = createHash('sha256');
  const files = ['package.json', 'package-lock.json', 'tsconfig.base.json', ...listFiles('src')];
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function listFiles(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap(entry => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? listFiles(path) : [path];
    })
    .sort();
}

/** Makes `out/src/cli/main.js` run: packages and compiled code. Silent when nothing is missing. */
export async function ensureCommandLine() {
  checkNode();
  const stamp = join(root, 'out', 'cli.stamp');
  const main = join(root, 'out', 'src', 'cli', 'main.js');
  const isBuilt = () => existsSync(main) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sourcesDigest();
  if (packagesAreCurrent() && isBuilt()) return main;
  await withSetUpLock(async () => {
    if (!packagesAreCurrent()) await installPackages();
    if (isBuilt()) return;
    note('Compiling …');
    const began = Date.now();
    const digest = sourcesDigest();
    rmSync(stamp, { force: true });
    const { code, output } = await compile(['src/cli']);
    if (code !== 0) throw new SetUpError(`The sources do not compile:\n${output.trimEnd()}`);
    writeFileSync(stamp, digest);
    note(`Compiled in ${seconds(began)}.`);
  });
  return main;
}

/** Makes node_modules match package-lock.json. */
export async function ensurePackages() {
  checkNode();
  if (packagesAreCurrent()) return;
  await withSetUpLock(async () => {
    if (!packagesAreCurrent()) await installPackages();
  });
}

/** One set-up at a time in this clone; a second one waits and then finds the work done. */
export function withSetUpLock(work) {
  mkdirSync(join(root, 'out'), { recursive: true });
  return withLock(join(root, 'out', 'set-up.lock'), work, () => note('Waiting for another set-up of this clone …'));
}

/** Runs a script's main function: one line for an expected failure, the stack for a bug. */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    const isUsage = String(error.code).startsWith('ERR_PARSE_ARGS_');
    if (!(error instanceof SetUpError) && !isUsage) throw error;
    note(error.message);
    process.exitCode = isUsage ? 2 : error.exitCode;
  }
}

export function seconds(began) {
  const value = (Date.now() - began) / 1000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8'));
  } catch {
    return undefined;
  }
}
