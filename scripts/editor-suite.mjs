// What every run of the extension's suites needs, in whichever VS Code: the bundles, the suite as one file, a workspace.
import { build } from 'esbuild';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SetUpError, node, root } from './set-up.mjs';

/** Calls `run({suite, workspace})` with the suite's file and a folder, which is gone after it. `entry`: a file of test/extension. */
export async function withEditorSuite(entry, run) {
  const bundled = await node([join('scripts', 'bundle.mjs')], { capture: true });
  if (bundled.code !== 0) throw new SetUpError(bundled.output);
  await build({
    absWorkingDir: root,
    entryPoints: { [entry]: `test/extension/${entry}.ts` },
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
  const workspace = mkdtempSync(join(tmpdir(), 'longview-workspace-'));
  try {
    // Real source text that is here anyway, and that nothing of Longview was tuned on.
    for (const file of ['argument.js', 'error.js', 'option.js', 'suggestSimilar.js']) {
      cpSync(join(root, 'node_modules', 'commander', 'lib', file), join(workspace, 'lib', file));
    }
    if (entry === 'restricted') writeHostileSettings(workspace);
    await run({ suite: join(root, 'out', 'test-vscode', `${entry}.cjs`), workspace });
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

/** Settings that a workspace must not be able to make. */
function writeHostileSettings(workspace) {
  mkdirSync(join(workspace, '.vscode'));
  const settings = {
    'longview.storage.folder': join(workspace, 'stolen'),
    'longview.model.name': '../../evil',
    'longview.reading.start': 'always',
  };
  writeFileSync(join(workspace, '.vscode', 'settings.json'), JSON.stringify(settings));
}
