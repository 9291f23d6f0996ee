// `npm run test:vscode`: the extension's suite inside a real VS Code (scripts/vscode-test), over a small workspace made here.
// LONGVIEW_VSIX names a package to be installed and tested instead of this clone.
import { build } from 'esbuild';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SetUpError, main, node, root } from './set-up.mjs';

await main(async () => {
  const vscode = process.env.LONGVIEW_VSCODE ?? join(root, '.vscode-test');
  const bundled = await node([join('scripts', 'bundle.mjs')], { capture: true });
  if (bundled.code !== 0) throw new SetUpError(bundled.output);
  await build({
    absWorkingDir: root,
    entryPoints: { suite: 'test/extension/suite.ts' },
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
    const suite = join(root, 'out', 'test-vscode', 'suite.cjs');
    const args = [
      '--extension',
      root,
      '--tests',
      suite,
      '--workspace',
      workspace,
      '--vscode',
      vscode,
      '--timeout',
      '540',
      ...(process.env.LONGVIEW_VSIX ? ['--vsix', process.env.LONGVIEW_VSIX] : []),
      ...(process.env.LONGVIEW_SCREENSHOT ? ['--screenshot', process.env.LONGVIEW_SCREENSHOT] : []),
    ];
    const { code } = await node([join('scripts', 'vscode-test', 'run-tests.mjs'), ...args]);
    if (code !== 0) throw new SetUpError(`The suite in VS Code failed (exit code ${code}).`, code);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
});
