/** Hover, inlay hints and *Recall at Cursor* in a real editor over the workspace that ask.suite.ts has read. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import type { RecallAtReply } from '../../src/protocol/index.js';
import { screenshot } from './page-looks.js';

const useText = `const { InvalidArgumentError } = require('./error.js');
const { Argument } = require('./argument.js');
const argument = new Argument('<x>');
argument.choices(['a']);
throw new InvalidArgumentError('x');
`;

/** The first and the third call are the same; of the second it is not known whose it is. */
const twoReceiversText = `const { Argument } = require('./argument.js');
Argument.argRequired();
anything().argRequired();
Argument.argRequired();
`;

export function defineRecallSuite(): void {
  suite('Recall at a place', () => {
    let use: vscode.TextDocument;
    const root = (): vscode.Uri => vscode.workspace.workspaceFolders![0]!.uri;
    const write = async (path: string, text: string): Promise<vscode.TextDocument> => {
      const uri = vscode.Uri.joinPath(root(), path);
      writeFileSync(uri.fsPath, text);
      return vscode.workspace.openTextDocument(uri);
    };
    const hoverAt = async (document: vscode.TextDocument, name: string): Promise<string> => {
      const position = document.positionAt(document.getText().lastIndexOf(name) + 1);
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        document.uri,
        position,
      );
      const texts = hovers.flatMap(({ contents }) => contents.map(one => (one as vscode.MarkdownString).value));
      return texts.filter(text => text.includes('Longview:')).join('\n');
    };
    const lineOf = (path: string, text: string): number =>
      readFileSync(vscode.Uri.joinPath(root(), path).fsPath, 'utf8')
        .split('\n')
        .findIndex(line => line.includes(text)) + 1;

    suiteSetup(async () => {
      await vscode.commands.executeCommand('longview.readNow');
      use = await write('lib/use.js', useText);
    });

    test('hover: the only definition, from another file, with a link to its line', async () => {
      const text = await hoverAt(use, 'InvalidArgumentError');
      const line = lineOf('lib/error.js', 'class InvalidArgumentError');
      assert.match(text, /class InvalidArgumentError extends CommanderError/);
      assert.ok(text.includes(`lib/error.js#L${line})`), text);
      assert.match(text, /only definition of this name/);
    });

    test('hover: several are ordered and never certain; the receiver’s class first', async () => {
      const text = await hoverAt(use, 'choices');
      assert.match(text, /May be one of these/);
      const [argument, option] = ['lib/argument.js#', 'lib/option.js#'].map(path => text.indexOf(path));
      assert.ok(argument! > 0 && option! > argument!, text);
    });

    test('hover: nothing where the name is defined in the same file, and nothing on a keyword', async () => {
      const error = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root(), 'lib/error.js'));
      assert.equal(await hoverAt(error, 'CommanderError {'), '');
      assert.equal(await hoverAt(use, 'throw'), '');
    });

    test('hover: in a document, as a name of another language', async () => {
      const notes = await write('notes.md', 'The edit distance is in `suggestSimilar`.\n');
      const text = await hoverAt(notes, 'suggestSimilar');
      assert.match(text, /May be this one/);
      assert.match(text, /suggestSimilar\.js/);
    });

    test('hover: in a cell of a notebook, in the language of the cell', async () => {
      const source = ["const { suggestSimilar } = require('./suggestSimilar.js');\n", "suggestSimilar('a', []);"];
      const cells = [{ cell_type: 'code', execution_count: null, metadata: {}, outputs: [], source }];
      const metadata = { language_info: { name: 'javascript' } };
      const uri = vscode.Uri.joinPath(root(), 'lib', 'notes.ipynb');
      writeFileSync(uri.fsPath, JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }));
      const notebook = await vscode.workspace.openNotebookDocument(uri);
      const text = await hoverAt(notebook.cellAt(0).document, 'suggestSimilar(');
      assert.match(text, /only definition of this name in \d+ files read\*/);
      assert.ok(
        text.includes(`lib/suggestSimilar.js#L${lineOf('lib/suggestSimilar.js', 'function suggestSimilar')}`),
        text,
      );
    });

    test('hover: how long it takes (printed, not judged)', async () => {
      const times: number[] = [];
      const names = ['InvalidArgumentError', 'choices', 'Argument'];
      for (let at = 0; at < 20; at++) {
        const began = performance.now();
        await hoverAt(use, names[at % names.length]!);
        times.push(performance.now() - began);
      }
      times.sort((a, b) => a - b);
      const show = (at: number): number => Math.round(times[at]!);
      console.log(`hover over 20 names: p50 ${show(9)} ms, p95 ${show(18)} ms, most ${show(19)} ms`);
      assert.equal(times.length, 20);
    });

    test('Recall at Cursor peeks at all of them', async () => {
      const editor = await vscode.window.showTextDocument(use);
      const position = use.positionAt(use.getText().lastIndexOf('choices') + 1);
      editor.selection = new vscode.Selection(position, position);
      const reply = await vscode.commands.executeCommand<RecallAtReply>('longview.recallAtCursor');
      assert.deepEqual(
        reply.candidates.map(({ path, startLine }) => `${path}:${startLine}`),
        ['lib/argument.js', 'lib/option.js'].map(path => `${path}:${lineOf(path, '  choices(')}`),
      );
      await lookAt('recall-at-cursor.png');
      await vscode.commands.executeCommand('closeReferenceSearch');
      await vscode.commands.executeCommand('editor.action.showHover');
      await lookAt('hover.png');
    });

    test('the walkthrough opens at its first step', async () => {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await vscode.commands.executeCommand('workbench.action.openWalkthrough', 'longview.longview#start', false);
      console.log('[expect] Get Started with Longview');
      console.log('[expect] Let it read the workspace');
      await lookAt('walkthrough.png');
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    });

    test('inlay hints: off, until the setting is on; then the only definitions of calls', async () => {
      const settings = vscode.workspace.getConfiguration('longview');
      assert.deepEqual(await hintsIn(use), []);
      await settings.update('inlayHints.enabled', true, vscode.ConfigurationTarget.Global);
      try {
        assert.deepEqual(
          (await hintsIn(use)).map(([, label]) => label),
          [
            `→ lib/argument.js:${lineOf('lib/argument.js', 'class Argument')}`,
            `→ lib/error.js:${lineOf('lib/error.js', 'class InvalidArgumentError')}`,
          ],
        );
        const required = `→ lib/argument.js:${lineOf('lib/argument.js', '  argRequired()')}`;
        assert.deepEqual(await hintsIn(await write('lib/receivers.js', twoReceiversText)), [
          [2, required],
          [4, required],
        ]);
      } finally {
        await settings.update('inlayHints.enabled', undefined, vscode.ConfigurationTarget.Global);
      }
    });
  });
}

/** The page is looked at once it has settled. */
async function lookAt(name: string): Promise<void> {
  await new Promise(done => setTimeout(done, 1500));
  await screenshot(name);
}

/** Line, from 1, and label of each hint. */
async function hintsIn(document: vscode.TextDocument): Promise<[line: number, label: string][]> {
  const found = await vscode.commands.executeCommand<vscode.InlayHint[]>(
    'vscode.executeInlayHintProvider',
    document.uri,
    new vscode.Range(0, 0, document.lineCount, 0),
  );
  return found
    .map(({ position, label }): [number, string] => [
      position.line + 1,
      typeof label === 'string' ? label : label.map(part => part.value).join(''),
    ])
    .filter(([, label]) => label.startsWith('→'));
}
