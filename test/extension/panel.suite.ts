/**
 * The panel in a real editor, with the real model: asked in the Ask view, about a selection, the Memory view. What the page
 * shows is looked at by run-tests.mjs, which reads the `[expect]` lines of the log.
 */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { focus, look, press, screenshot } from './page-looks.js';

const question = 'Which class describes an error of the command line?';

export function definePanelSuite(): void {
  suite('Longview panel in VS Code', () => {
    test('the Ask view shows question, places and answer', async () => {
      await vscode.commands.executeCommand('workbench.action.closeAuxiliaryBar');
      const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.ask', {
        question,
        consent: true,
      });
      assert.ok(uri);
      const text = (await vscode.workspace.openTextDocument(uri)).getText();
      const [place] = /lib\/[\w.-]+\.js:\d+(-\d+)?/.exec(text) ?? [];
      assert.ok(place !== undefined, text);
      // The Memory view below has heard of what was read.
      await look(question, place, 'files read', 'Open as Document', '4 of 4 read');
      await screenshot('panel-ask.png');
    });

    test('asks about the lines that are selected, and cites them', async () => {
      const folder = vscode.workspace.workspaceFolders![0]!.uri;
      const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder, 'lib/error.js'));
      const editor = await vscode.window.showTextDocument(document);
      // From inside line 1 to the start of line 13: lines 1 to 12.
      editor.selection = new vscode.Selection(0, 3, 12, 0);
      const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.askAboutSelection', {
        question: 'What does this class do?',
        consent: true,
      });
      assert.ok(uri);
      const text = (await vscode.workspace.openTextDocument(uri)).getText();
      assert.match(text, /lib\/error\.js:1-12/);
      await look('About lib/error.js:1-12');
      await screenshot('panel-selection.png');
    });

    test('the Memory view shows files with their state, and the figures', async () => {
      await vscode.commands.executeCommand('longview.showMemory');
      await vscode.commands.executeCommand('longview.refreshMemory');
      await look('Tokens read', 'tokens a slot', '4 of 4 read');
      await screenshot('panel-memory.png');
    });

    test('by keyboard alone: from the question to a place of the answer, and through the Memory view to a file', async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await vscode.commands.executeCommand('longview.ask');
      await focus('Question about the folder');
      await press('Tab', 'Ask');
      await press('Tab', 'Earlier questions');
      await press('Tab', 'lib/');
      await press('Enter');
      const opened = await activeFile();
      assert.ok(opened.path.startsWith('lib/') && !opened.selection.isEmpty, 'the lines of the place are selected');
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await vscode.commands.executeCommand('longview.showMemory');
      await press('Home ArrowLeft', 'Figures');
      await press('ArrowDown ArrowRight', 'lib');
      await press('ArrowDown', 'argument.js');
      await press('Enter');
      assert.equal((await activeFile()).path, 'lib/argument.js');
    });

    test('a file that is forgotten from the palette is at once no longer among what the Memory view calls read', async () => {
      await vscode.commands.executeCommand('longview.showMemory');
      const folder = vscode.workspace.workspaceFolders![0]!.uri;
      await vscode.commands.executeCommand('longview.forgetFile', vscode.Uri.joinPath(folder, 'lib/error.js'));
      await look('3 of 4 read');
      await vscode.commands.executeCommand('longview.readNow');
      await look('4 of 4 read');
    });
  });
}

/** The file that is shown, once one is. */
async function activeFile(): Promise<{ readonly path: string; readonly selection: vscode.Selection }> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    const editor = vscode.window.activeTextEditor;
    if (editor)
      return { path: vscode.workspace.asRelativePath(editor.document.uri, false), selection: editor.selection };
    await new Promise(done => setTimeout(done, 100));
  }
  throw new Error('No file was opened.');
}
