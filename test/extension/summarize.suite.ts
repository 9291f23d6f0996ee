/** The commands *Summarize File* and *Summarize Selection* in a real editor, with the real model, over a small workspace. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { look, screenshot } from './page-looks.js';

const path = 'lib/suggestSimilar.js';

export function defineSummarizeSuite(): void {
  suite('Longview summarizes in VS Code', () => {
    test('a file: sentences in the panel and as a document, each with a link to its lines; what it rests on at the end', async () => {
      const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.summarizeFile', file());
      const text = await settled(uri);
      assert.ok(text.startsWith(`# Summary of ${path}\n`), text);
      const sentences = text.split('\n').filter(line => line.startsWith('- '));
      assert.ok(sentences.length > 0, text);
      const lines = readFileSync(file().fsPath, 'utf8').split('\n').length;
      for (const sentence of sentences) {
        const [, start, end] = /\(lib\/suggestSimilar\.js:(\d+)(?:-(\d+))?\)$/.exec(sentence) ?? [];
        assert.ok(Number(start) >= 1 && Number(end ?? start) <= lines, sentence);
      }
      assert.match(text, /The sentences are about \d+ of \d+ sections, 1 file/);
      const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>('vscode.executeLinkProvider', uri);
      assert.equal(links.length, sentences.length);
      assert.ok(links.every(link => link.target!.fsPath === file().fsPath));
      // The first place and the basis, in whichever frame: the panel's, for no document is shown.
      const [, place] = /\((lib\/suggestSimilar\.js:[\d-]+)\)/.exec(sentences[0]!)!;
      assert.ok(!vscode.window.visibleTextEditors.some(editor => editor.document.uri.scheme === 'longview-answer'));
      await look(`Summary of ${path}`, place!, 'The sentences are about', 'Open as Document');
      await screenshot('panel-summary.png');
    });

    test('a selection: its lines, not the whole file', async () => {
      const document = await vscode.workspace.openTextDocument(file());
      const editor = await vscode.window.showTextDocument(document);
      editor.selection = new vscode.Selection(2, 0, 10, 0);
      const text = await settled(await vscode.commands.executeCommand('longview.summarizeSelection'));
      assert.ok(text.startsWith(`# Summary of ${path}:3-10\n`), text);
      for (const [, start, end] of text.matchAll(/\(lib\/suggestSimilar\.js:(\d+)(?:-(\d+))?\)$/gm)) {
        assert.ok(Number(start) >= 3 && Number(end ?? start) <= 10, text);
      }
    });
  });
}

function file(): vscode.Uri {
  return vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, path);
}

/** The text of a document once the last update has arrived. */
async function settled(uri: vscode.Uri | undefined): Promise<string> {
  assert.ok(uri, 'the command gives the document');
  const document = await vscode.workspace.openTextDocument(uri);
  for (let waited = 0; waited < 10_000 && !document.getText().includes(' tokens read'); waited += 100) {
    await new Promise(done => setTimeout(done, 100));
  }
  return document.getText();
}
