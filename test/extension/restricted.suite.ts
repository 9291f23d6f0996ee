/**
 * Restricted Mode in a real editor: nothing is read, no server starts, settings of the workspace that name folders and models
 * have no effect (the workspace of this suite makes hostile ones), and commands say what to do.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import * as vscode from 'vscode';
import { diagnostics, until } from './editor-state.js';
import { look, press } from './page-looks.js';

export function defineRestrictedSuite(): void {
  suite('Longview in Restricted Mode', () => {
    const extension = (): vscode.Extension<unknown> => vscode.extensions.getExtension('longview.longview')!;

    test('the workspace is not trusted, and the extension is there all the same', async () => {
      assert.equal(vscode.workspace.isTrusted, false);
      await extension().activate();
      assert.equal(extension().isActive, true);
    });

    test('settings of the workspace have no effect', () => {
      const settings = vscode.workspace.getConfiguration('longview');
      for (const name of ['storage.folder', 'model.name', 'reading.start', 'inlayHints.enabled']) {
        const { defaultValue } = settings.inspect(name)!;
        assert.equal(settings.get(name), defaultValue, name);
      }
    });

    test('a question and reading are refused without a server, and nothing is written into the workspace', async () => {
      for (const id of ['longview.ask', 'longview.readNow']) {
        // The command shows its error and gives nothing; it must not wait for the user.
        const given = vscode.commands.executeCommand(id, { question: 'What is here?', consent: true });
        const answered = await Promise.race([given, new Promise(done => setTimeout(done, 5000, 'still busy'))]);
        assert.equal(answered, undefined, id);
      }
      // The panel that the question brought up has nothing to ask a server, either.
      await look('Trust this folder first: Longview reads nothing in Restricted Mode.');
      assert.deepEqual(serversOf(process.pid), []);
      assert.equal(existsSync(vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'stolen').fsPath), false);
    });

    test('a hover says nothing', async () => {
      const [folder] = vscode.workspace.workspaceFolders!;
      const uri = vscode.Uri.joinPath(folder!.uri, 'lib', 'option.js');
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        uri,
        new vscode.Position(0, 9),
      );
      const texts = hovers.flatMap(hover => hover.contents.map(part => (part as vscode.MarkdownString).value));
      assert.deepEqual(
        texts.filter(text => text.includes('Longview')),
        [],
      );
      assert.deepEqual(serversOf(process.pid), []);
    });

    test('Diagnostics tells of the machine, and looks at no folder', async () => {
      const report = await diagnostics();
      assert.match(report, /trusted: no\n- reading: Longview reads nothing in Restricted Mode/);
      assert.doesNotMatch(report, /## Folder|store:/);
    });

    test('once the user trusts the workspace, no state says that it is not', async () => {
      await vscode.commands.executeCommand('workbench.trust.manage');
      await press('Control+Enter');
      if (process.env.LONGVIEW_LOOKS === undefined) return; // Nobody presses keys.
      await until('the trust', () => Promise.resolve(vscode.workspace.isTrusted));
      await until('the status', async () =>
        /reading: Longview has not read this workspace yet/.test(await diagnostics()),
      );
    });
  });
}

/** Command lines of our server among the children of the extension host. */
function serversOf(parent: number): string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        const ppid = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return ppid === parent && line.includes('server.js') && line.includes('--stdio') ? [line] : [];
      } catch {
        return []; // It has ended.
      }
    });
}
