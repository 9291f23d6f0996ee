// `npm run test:vscode [-- SUITE…]`: the extension's suites inside a real VS Code (scripts/vscode-test), over a small workspace
// made here. Suites: `suite` (all features, the real model), `restricted` (a workspace that is not trusted), and with the tiny
// model of the tests `windows` (reloaded while it reads; two at once), `changes` (of files on the disk), `states` (several
// folders; what can go wrong) and `bare` (no folder). Where it is named, `pictures`: of the whole editor, for a person to look at, with
// LONGVIEW_SCREENSHOT=FOLDER/last.png.
// LONGVIEW_VSIX names a package to be installed and tested instead of this clone.
import { join } from 'node:path';
import { withEditorSuite } from './editor-suite.mjs';
import { SetUpError, main, node, root } from './set-up.mjs';

const suites = {
  suite: [],
  restricted: ['--restricted'],
  windows: [],
  changes: [],
  states: [],
  bare: ['--no-folder'],
  pictures: [],
};

await main(async () => {
  const vscode = process.env.LONGVIEW_VSCODE ?? join(root, '.vscode-test');
  const chosen =
    process.argv.length > 2 ? process.argv.slice(2) : Object.keys(suites).filter(name => name !== 'pictures');
  for (const name of chosen) {
    if (!(name in suites))
      throw new SetUpError(`Unknown suite ${name}; there are ${Object.keys(suites).join(', ')}.`, 2);
    await withEditorSuite(name, async ({ suite, workspace, settings }) => {
      const args = ['--extension', root, '--tests', suite, '--workspace', workspace, '--vscode', vscode];
      const { LONGVIEW_VSIX: vsix, LONGVIEW_SCREENSHOT: screenshot } = process.env;
      if (vsix) args.push('--vsix', vsix);
      if (screenshot) args.push('--screenshot', screenshot);
      for (const [key, value] of Object.entries(settings)) args.push('--setting', `${key}=${JSON.stringify(value)}`);
      args.push('--timeout', '900', ...suites[name]);
      const { code } = await node([join('scripts', 'vscode-test', 'run-tests.mjs'), ...args]);
      if (code !== 0) throw new SetUpError(`The suite "${name}" in VS Code failed (exit code ${code}).`, code);
    });
  }
});
