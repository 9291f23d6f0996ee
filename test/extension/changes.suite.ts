/**
 * Files that change on the disk beside a real editor, with the tiny model: nobody asks for a reading, the editor's watcher
 * tells of them. `counts` and `diagnostics` say what the ledger knows and look at no file.
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { counts, diagnostics, until } from './editor-state.js';
import { look } from './page-looks.js';

export function defineChangesSuite(): void {
  suite('Longview follows files', () => {
    const root = vscode.workspace.workspaceFolders![0]!.uri.fsPath;
    const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
    const untilCounts = (what: string, read: number, total = read): Promise<void> =>
      until(what, async () => {
        const now = await counts();
        return now.read === read && now.total === total;
      });
    suiteSetup(async () => {
      await vscode.extensions.getExtension('longview.longview')!.activate();
      await vscode.commands.executeCommand('longview.readNow');
      await untilCounts('the first reading', 4);
      await vscode.commands.executeCommand('longview.showMemory');
    });

    test('a file that is made is read, and the Memory view shows it', async () => {
      write('made-beside.ts', 'export const madeBeside = 1;\n');
      await untilCounts('the new file', 5);
      await look('made-beside.ts');
    });

    test('a saved file is read again', async () => {
      const tokens = async (): Promise<number> => Number(/tokens: (\d+)/.exec(await diagnostics())![1]);
      const before = await tokens();
      const uri = vscode.Uri.file(join(root, 'made-beside.ts'));
      const editor = await vscode.window.showTextDocument(uri);
      assert.ok(await editor.edit(edit => edit.insert(new vscode.Position(0, 0), '// Another line.\n')));
      // False where the editor has saved by itself, as it does after a second in a browser.
      await editor.document.save();
      assert.equal(editor.document.isDirty, false);
      await until('the tokens of the new line', async () => (await tokens()) > before);
      await untilCounts('all five files', 5);
    });

    test('a deleted folder leaves', async () => {
      mkdirSync(join(root, 'folder'));
      write('folder/a.ts', 'export const a = 1;\n');
      write('folder/b.ts', 'export const b = 2;\n');
      await untilCounts('the files of a folder', 7);
      rmSync(join(root, 'folder'), { recursive: true });
      await untilCounts('the files without the folder', 5);
    });

    test('where nothing is to be read by itself, a new file waits', async () => {
      const settings = vscode.workspace.getConfiguration('longview');
      await settings.update('reading.start', 'never', vscode.ConfigurationTarget.Global);
      try {
        write('waits.ts', 'export const waits = 1;\n');
        await until('the file in the ledger', async () => (await counts()).waiting === 1);
        // Far longer than it takes to be read where that is wanted.
        await new Promise(done => setTimeout(done, 6000));
        const { read, waiting } = await counts();
        assert.deepEqual([read, waiting], [5, 1]);
      } finally {
        await settings.update('reading.start', undefined, vscode.ConfigurationTarget.Global);
      }
    });

    test('paused after all was read: a new file waits until reading goes on', async () => {
      await vscode.commands.executeCommand('longview.readNow');
      await untilCounts('the file that waited', 6);
      await vscode.commands.executeCommand('longview.pauseReading');
      assert.match(await diagnostics(), /reading: Longview paused/);
      write('made-in-pause.ts', 'export const madeInPause = 1;\n');
      await until('the file in the ledger', async () => (await counts()).waiting === 1);
      await new Promise(done => setTimeout(done, 6000));
      const { read, waiting } = await counts();
      assert.deepEqual([read, waiting], [6, 1]);
      await vscode.commands.executeCommand('longview.readNow');
      await untilCounts('the file made in the pause', 7);
    });
  });
}
