// `npm test`: everything that has to hold, cheapest first. Prints one line a step; a step's own output only where it failed.
//
//   npm test                    all steps
//   npm test -- unit            only the named steps (format build lint cruise l10n unit model vscode)
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import {
  SetUpError,
  compile,
  ensureCommandLine,
  ensurePackages,
  main,
  node,
  note,
  root,
  run,
  seconds,
  withSetUpLock,
} from './set-up.mjs';

const bin = (...path) => join('node_modules', ...path);

/** Rooms of tests that take longest: begun first, so that no processor waits for them in the end. */
const longest = ['memory', 'cli', 'server', 'webview', 'engine'];

const steps = {
  format: () => quiet(node([bin('prettier', 'bin', 'prettier.cjs'), '--check', '.'], { capture: true })),
  build: () => quiet(withSetUpLock(() => compile())),
  lint: () => quiet(node([bin('eslint', 'bin', 'eslint.js'), '.', '--max-warnings', '0'], { capture: true })),
  cruise: () => quiet(node([join('scripts', 'cruise.mjs')], { capture: true })),
  l10n: () => quiet(node([join('scripts', 'l10n.mjs'), '--check'], { capture: true })),
  unit: unitTests,
  model: modelTests,
  vscode: vscodeTests,
};

await main(async () => {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter(name => !(name in steps));
  if (unknown.length > 0)
    throw new SetUpError(`Unknown step ${unknown.join(', ')}; there are ${Object.keys(steps).join(', ')}.`, 2);
  await ensurePackages();
  const began = Date.now();
  for (const [name, step] of Object.entries(steps)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const stepBegan = Date.now();
    note(`▶ ${name}`);
    const outcome = await step();
    if (outcome?.skipped) {
      note(`- ${name} skipped: ${outcome.skipped}`);
      continue;
    }
    note(`✓ ${name} ${outcome?.summary ? `(${outcome.summary}) ` : ''}in ${seconds(stepBegan)}`);
  }
  note(`All passed in ${seconds(began)}.`);
});

/** Shows the last lines of a step that failed; gives the last line of one that passed as its summary. */
async function quiet(running) {
  const { code, output } = await running;
  const lines = output.trimEnd().split('\n');
  if (code !== 0) throw new SetUpError(`${lines.slice(-60).join('\n')}\n✗ failed (exit code ${code})`);
  return { summary: lines.at(-1).slice(0, 100) };
}

/** Paths of compiled test files whose source is there; what a deleted test left in out/ is not run. */
function testFiles(wanted) {
  const list = folder =>
    readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? list(path) : [path];
    });
  return list(join(root, 'test'))
    .map(path => relative(join(root, 'test'), path).replaceAll('\\', '/'))
    .filter(path => path.endsWith('.test.ts') && wanted(path))
    .sort()
    .map(path => join('out', 'test', path.replace(/\.ts$/, '.js')));
}

/** One mocha process a room (what is shared among tests is made once in each), as many at a time as there are processors. */
async function unitTests() {
  const rooms = new Map();
  for (const file of testFiles(path => !path.startsWith('model/'))) {
    const room = file.split(/[\\/]/)[2];
    rooms.set(room, [...(rooms.get(room) ?? []), file]);
  }
  const rank = room => (longest.indexOf(room) + longest.length + 1) % (longest.length + 1);
  const waiting = [...rooms.keys()].sort((a, b) => rank(a) - rank(b));
  const outcomes = [];
  const worker = async () => {
    for (let room = waiting.shift(); room !== undefined; room = waiting.shift())
      outcomes.push(await countsOf(rooms.get(room), { timeout: 60_000 }).catch(error => ({ room, error })));
  };
  await Promise.all(Array.from({ length: Math.min(4, Math.max(2, availableParallelism())) }, worker));
  const failures = outcomes.filter(({ error }) => error);
  const bug = failures.find(({ error }) => !(error instanceof SetUpError));
  if (bug) throw bug.error;
  if (failures.length > 0)
    throw new SetUpError(failures.map(({ room, error }) => `test/${room}:\n${error.message}`).join('\n'));
  return { summary: summaryOf(outcomes) };
}

async function mocha(files, options) {
  return { summary: summaryOf([await countsOf(files, options)]) };
}

function summaryOf(outcomes) {
  const sum = name => outcomes.reduce((total, counts) => total + counts[name], 0);
  return `${sum('passing')} tests of ${sum('files')} files${sum('pending') > 0 ? `, ${sum('pending')} pending` : ''}`;
}

/** Runs test files in one mocha process; `timeout` is milliseconds for one test. Throws where one fails. */
async function countsOf(files, { timeout }) {
  if (files.length === 0) throw new SetUpError('No test files found.');
  const options = ['--ui', 'tdd', '--reporter', 'dot', '--forbid-only', '--timeout', String(timeout)];
  const { code, output } = await node([bin('mocha', 'bin', 'mocha.js'), ...options, ...files], { capture: true });
  if (code !== 0) throw new SetUpError(`${output.trimEnd()}\n✗ failed (exit code ${code})`);
  const count = word => Number(new RegExp(`(\\d+) ${word}`).exec(output)?.[1] ?? 0);
  if (count('passing') === 0) throw new SetUpError(`${output.trimEnd()}\n✗ no test ran`);
  return { passing: count('passing'), pending: count('pending'), files: files.length };
}

/** The tests that need the real model, which is fetched and converted once. */
async function modelTests() {
  const commandLine = await ensureCommandLine();
  const { code } = await run(process.execPath, [commandLine, 'model', 'add', '--yes']);
  if (code !== 0) throw new SetUpError('The model could not be installed; the message is above.');
  return mocha(
    testFiles(path => path.startsWith('model/')),
    { timeout: 600_000 },
  );
}

/** The extension inside a real VS Code, where one is installed (scripts/vscode-test/setup.sh). */
async function vscodeTests() {
  const folder = process.env.LONGVIEW_VSCODE ?? join(root, '.vscode-test');
  if (!existsSync(join(folder, 'server')))
    return { skipped: 'no VS Code here; scripts/vscode-test/setup.sh installs one' };
  if (!statSync(process.env.CHROMIUM ?? '/usr/bin/chromium', { throwIfNoEntry: false }))
    return { skipped: 'no Chromium here' };
  return quiet(node([join('scripts', 'test-vscode.mjs')], { capture: true }));
}
