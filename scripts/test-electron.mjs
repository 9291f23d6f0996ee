// `npm run test:electron [-- VERSION]`: the same suites in the desktop VS Code that @vscode/test-electron downloads, for an
// open network. VERSION: `stable` (default), `insiders`, or a number such as the oldest one that the manifest allows.
import { runTests } from '@vscode/test-electron';
import { withEditorSuite } from './editor-suite.mjs';
import { ensureCommandLine, main, node, root } from './set-up.mjs';

await main(async () => {
  const version = process.argv[2] ?? 'stable';
  // The suite asks the real model.
  await node([await ensureCommandLine(), 'model', 'add', '--yes']);
  await withEditorSuite('suite', ({ suite, workspace }) =>
    runTests({
      version,
      extensionDevelopmentPath: root,
      extensionTestsPath: suite,
      launchArgs: [workspace, '--disable-extensions', '--disable-workspace-trust'],
    }),
  );
  await withEditorSuite('restricted', ({ suite, workspace }) =>
    runTests({
      version,
      extensionDevelopmentPath: root,
      extensionTestsPath: suite,
      launchArgs: [workspace, '--disable-extensions'],
    }),
  );
});
