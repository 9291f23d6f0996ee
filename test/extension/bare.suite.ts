/** A window without a folder, with a single file open, in a real editor: everything says what to do, and nothing is started. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { processesBelow } from './editor-state.js';
import { look } from './page-looks.js';

export function defineBareSuite(): void {
  suite('Longview without a folder', () => {
    const scratch = mkdtempSync(join(tmpdir(), 'longview-single-'));
    const file = vscode.Uri.file(join(scratch, 'single.ts'));
    suiteSetup(async () => {
      writeFileSync(file.fsPath, 'export function alone() {\n  return 1;\n}\nalone();\n');
      await vscode.extensions.getExtension('longview.longview')!.activate();
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(file));
    });
    suiteTeardown(() => rmSync(scratch, { recursive: true, force: true }));

    test('there is no folder, and the extension is there', () => {
      assert.equal(vscode.workspace.workspaceFolders, undefined);
      assert.equal(vscode.extensions.getExtension('longview.longview')!.isActive, true);
    });

    test('every command ends by itself, gives nothing and says what to do', async () => {
      for (const [id, given] of [
        ['longview.readNow'],
        ['longview.pauseReading'],
        ['longview.ask', { question: 'What is here?', consent: true }],
        ['longview.askAboutSelection', { question: 'What is here?', consent: true }],
        ['longview.forgetWorkspace', { consent: true }],
        ['longview.recallAtCursor'],
        ['longview.showMemory'],
        ['longview.refreshMemory'],
      ] as const) {
        const running = Promise.resolve(vscode.commands.executeCommand(id, given));
        // A command that is not enabled here is refused by the editor itself.
        const result = await Promise.race([
          running.catch(() => undefined),
          new Promise(done => setTimeout(done, 60_000, 'still busy')),
        ]);
        assert.equal(result, undefined, id);
      }
      await look('Longview reads folders on disk. Open one first.');
    });

    test('a hover over a name of the single file says nothing', async () => {
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        file,
        new vscode.Position(3, 2),
      );
      const texts = hovers.flatMap(hover => hover.contents.map(part => (part as vscode.MarkdownString).value));
      assert.deepEqual(
        texts.filter(text => text.includes('Longview')),
        [],
      );
    });

    test('agents are told that there is no folder', async () => {
      const { token } = new vscode.CancellationTokenSource();
      const input = { question: 'What is here?' };
      await assert.rejects(
        async () => vscode.lm.invokeTool('longview_recall', { input, toolInvocationToken: undefined }, token),
        /Longview reads folders on disk\. Open one first\./,
      );
    });

    test('no engine was started', () => {
      assert.deepEqual(processesBelow(process.pid, 'engine-main.js'), []);
    });
  });
}
