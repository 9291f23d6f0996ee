// What every run of the extension's suites needs, in whichever VS Code: the bundles, the suite as one file, a workspace.
import { build } from 'esbuild';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SetUpError, compile, node, root } from './set-up.mjs';

/** Suites that need a model, but none that knows anything. */
const withTinyModel = new Set(['windows', 'changes', 'states', 'bare']);

/**
 * Calls `run({suite, workspace, settings})` with the suite's file, a folder or workspace file, which are gone after it, and
 * settings of the user. `entry`: a file of test/extension.
 */
export async function withEditorSuite(entry, run) {
  const bundled = await node([join('scripts', 'bundle.mjs')], { capture: true });
  if (bundled.code !== 0) throw new SetUpError(bundled.output);
  await build({
    absWorkingDir: root,
    entryPoints: {
      [entry]: `test/extension/${entry}.ts`,
      ...(entry === 'windows' && { reader: `test/extension/reader.ts` }),
    },
    outdir: 'out/test-vscode',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    external: ['vscode', 'mocha'],
    logLevel: 'warning',
  });
  const scratch = mkdtempSync(join(tmpdir(), 'longview-editor-'));
  try {
    const workspace = makeWorkspace[entry]?.(scratch) ?? realSources(join(scratch, 'workspace'));
    const settings = withTinyModel.has(entry) ? await tinyModel(join(scratch, 'data')) : {};
    await run({ suite: join(root, 'out', 'test-vscode', `${entry}.cjs`), workspace, settings });
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** By suite: gives what is to be opened. */
const makeWorkspace = {
  restricted: scratch => writeHostileSettings(realSources(join(scratch, 'workspace'))),
  windows: scratch => someFiles(join(scratch, 'workspace'), 200),
  states: severalFolders,
};

/** Real source text that is here anyway, and that nothing of Longview was tuned on. */
function realSources(workspace) {
  for (const file of ['argument.js', 'error.js', 'option.js', 'suggestSimilar.js']) {
    cpSync(join(root, 'node_modules', 'commander', 'lib', file), join(workspace, 'lib', file));
  }
  return workspace;
}

/** Files that the tiny model reads in about a second each. */
function someFiles(workspace, count) {
  mkdirSync(workspace, { recursive: true });
  for (let file = 100; file < 100 + count; file++) {
    const lines = Array.from({ length: 100 }, (_, line) => `export const part${file}Line${line} = ${file * line};\n`);
    writeFileSync(join(workspace, `part-${file}.ts`), lines.join(''));
  }
  return workspace;
}

/** Two folders of one name, and one without files. */
function severalFolders(scratch) {
  const folders = [join(scratch, 'first', 'app'), join(scratch, 'second', 'app'), join(scratch, 'empty')];
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  writeFileSync(join(folders[0], 'one.ts'), 'export function onlyInTheFirst() {\n  return 1;\n}\n');
  writeFileSync(join(folders[1], 'two.ts'), 'export function onlyInTheSecond() {\n  return 2;\n}\n');
  // A data folder with the model, in which no store can be made: not even root makes folders there. Linux.
  const closed = join(scratch, 'data-closed');
  mkdirSync(closed);
  symlinkSync(join(scratch, 'data', 'models'), join(closed, 'models'));
  symlinkSync('/sys/kernel', join(closed, 'workspaces'));
  const file = join(scratch, 'several.code-workspace');
  writeFileSync(file, JSON.stringify({ folders: folders.map(path => ({ path })) }));
  return file;
}

async function tinyModel(data) {
  const compiled = await compile();
  if (compiled.code !== 0) throw new SetUpError(compiled.output);
  const made = await node([join('out', 'test', 'extension', 'tiny-data.js'), data], { capture: true });
  if (made.code !== 0) throw new SetUpError(made.output);
  return { 'longview.storage.folder': data, 'longview.model.name': 'tiny', 'longview.engine.threads': 1 };
}

/** Settings that a workspace must not be able to make. */
function writeHostileSettings(workspace) {
  mkdirSync(join(workspace, '.vscode'));
  const settings = {
    'longview.storage.folder': join(workspace, 'stolen'),
    'longview.model.name': '../../evil',
    'longview.reading.start': 'always',
    'longview.inlayHints.enabled': true,
  };
  writeFileSync(join(workspace, '.vscode', 'settings.json'), JSON.stringify(settings));
  return workspace;
}
