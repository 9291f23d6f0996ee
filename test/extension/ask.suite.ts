/** The command *Ask About Workspace…* in a real editor, with the real model, over a small workspace. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';

const extensionId = 'longview.longview';
/** Answered by lib/suggestSimilar.js of commander, whose function computes the edit distance of two words. */
const question = 'Which function computes the edit distance between two words for suggestions?';

export function defineAskSuite(): void {
  suite('Longview in VS Code', () => {
    test('activates quickly, and starts no server by itself', async () => {
      const extension = vscode.extensions.getExtension(extensionId);
      assert.ok(extension, 'the extension is there');
      const began = performance.now();
      await extension.activate();
      const took = performance.now() - began;
      // Loading the bundle is part of it, and whatever else the extension host does right after it started.
      assert.ok(took < 1000, `activation took ${took} ms`);
      console.log(`activation took ${Math.round(took)} ms`);
      const commands = await vscode.commands.getCommands(true);
      for (const id of ['longview.ask', 'longview.showLog']) assert.ok(commands.includes(id), id);
    });

    test('answers in a document that names an existing place, with a link to it', async () => {
      const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.ask', {
        question,
        consent: true,
      });
      assert.ok(uri, 'the command gives the answer document');
      const document = await vscode.workspace.openTextDocument(uri);
      assert.equal(document.languageId, 'markdown');
      const text = await settled(document);
      assert.ok(text.startsWith(`# ${question}`), text);
      assert.match(text, /\d+ of \d+ files read/, 'it ends with coverage');
      const places = [...text.matchAll(/\b(lib\/[\w.-]+\.js):(\d+)(?:-(\d+))?/g)];
      assert.ok(places.length > 0, `no place in:\n${text}`);
      assert.ok(
        places.slice(0, 3).some(place => place[1] === 'lib/suggestSimilar.js'),
        `the file that answers is not among the first three places:\n${text}`,
      );
      const folder = vscode.workspace.workspaceFolders![0]!.uri;
      for (const [, path, start, end] of places.filter(place => !text.includes(`~~${place[0]}`))) {
        const lines = readFileSync(vscode.Uri.joinPath(folder, path!).fsPath, 'utf8').split('\n').length;
        assert.ok(Number(start) >= 1 && Number(end ?? start) <= lines, `${path}:${start}-${end} of ${lines} lines`);
      }
      const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>('vscode.executeLinkProvider', uri);
      const targets = links.map(link => link.target!);
      assert.ok(targets.length > 0, 'no links');
      assert.ok(
        targets.every(target => target.fsPath.startsWith(folder.fsPath)),
        String(targets),
      );
    });

    test('a second question about an unchanged folder reads nothing again', async () => {
      const uri = await vscode.commands.executeCommand<vscode.Uri>('longview.ask', {
        question: 'How are help texts formatted?',
      });
      const text = await settled(await vscode.workspace.openTextDocument(uri));
      assert.match(text, /\b0 tokens read\b/);
    });
  });
}

/** The text of a document once the last update has arrived. */
async function settled(document: vscode.TextDocument): Promise<string> {
  for (let waited = 0; waited < 10_000 && !document.getText().includes(' tokens read'); waited += 100) {
    await new Promise(done => setTimeout(done, 100));
  }
  return document.getText();
}
