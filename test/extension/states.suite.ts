/**
 * Several folders, two of one name, one empty; and what can go wrong around them: a provider that there is not, an engine that
 * is killed, a data folder that cannot be written. In a real editor with the tiny model, over what editor-suite.mjs makes.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { countsOfFolders, diagnostics, processesBelow, serverProcess, until } from './editor-state.js';
import { look } from './page-looks.js';

export function defineStatesSuite(): void {
  const folders = (): readonly vscode.WorkspaceFolder[] => vscode.workspace.workspaceFolders ?? [];
  const settings = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration('longview');
  /** Changes a setting that a server keeps, and waits for the server that has the new one. */
  const change = async (name: string, value: unknown): Promise<void> => {
    const before = await serverProcess();
    await settings().update(name, value, vscode.ConfigurationTarget.Global);
    await until('another server', async () => (await serverProcess()) !== before);
  };
  const engines = (): number[] => processesBelow(process.pid, 'engine-main.js');

  /** The document of an answer about a folder. */
  async function ask(question: string, at: number): Promise<vscode.TextDocument> {
    const folder = folders()[at]!.uri.toString();
    const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.ask', { question, folder });
    assert.ok(uri, 'the question is asked');
    return vscode.workspace.openTextDocument(uri);
  }

  suite('Longview with several folders', () => {
    test('the editor and the files may be on two machines: the extension runs where the files are', () => {
      // The window is a browser's; the extension host is a process of the server.
      assert.equal(vscode.env.uiKind, vscode.UIKind.Web);
      const extension = vscode.extensions.getExtension('longview.longview')!;
      assert.equal(extension.extensionKind, vscode.ExtensionKind.Workspace);
    });

    test('all are read, an empty one too', async () => {
      assert.deepEqual(
        folders().map(folder => folder.name),
        ['app', 'app', 'empty'],
      );
      await vscode.commands.executeCommand('longview.readNow');
      const counts = await countsOfFolders();
      assert.deepEqual(
        counts.map(({ read, total }) => [read, total]),
        [
          [1, 1],
          [1, 1],
          [0, 0],
        ],
      );
    });

    test('two of one name are told apart wherever they are named', async () => {
      const report = await diagnostics();
      assert.match(report, /## Folder app — first\/app\n/);
      assert.match(report, /## Folder app — second\/app\n/);
      await vscode.commands.executeCommand('longview.showMemory');
      await vscode.commands.executeCommand('longview.refreshMemory');
      await look('app — first/app', 'app — second/app');
    });

    test('an answer is about the folder that was meant, and links lead into it', async () => {
      for (const [at, name, file] of [
        [0, 'onlyInTheFirst', 'one.ts'],
        [1, 'onlyInTheSecond', 'two.ts'],
      ] as const) {
        const document = await ask(`What does ${name} return?`, at);
        assert.match(document.getText(), /1 of 1 files read/);
        const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>(
          'vscode.executeLinkProvider',
          document.uri,
        );
        const targets = links.map(link => link.target!.fsPath);
        assert.ok(targets.length > 0, document.getText());
        assert.deepEqual([...new Set(targets)], [join(folders()[at]!.uri.fsPath, file)]);
      }
    });

    test('a question about an empty folder says so', async () => {
      const text = (await ask('What is here?', 2)).getText();
      assert.match(text, /Nothing was found: there is no file in this folder\./);
    });

    test('agents name one of two by its label, and are told the labels where the name is not enough', async () => {
      const recall = async (folder: string): Promise<string> => {
        const input = { question: 'What does onlyInTheSecond return?', folder };
        const { token } = new vscode.CancellationTokenSource();
        const result = await vscode.lm.invokeTool('longview_recall', { input, toolInvocationToken: undefined }, token);
        return result.content.map(part => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
      };
      assert.match(await recall('app — second/app'), /^two\.ts:1/);
      assert.match(await recall(folders()[1]!.uri.fsPath), /^two\.ts:1/);
      await assert.rejects(recall('app'), /several folders; say which: app — first\/app, app — second\/app, empty/);
    });
  });

  suite('Longview when something fails', () => {
    test('an engine that is killed while it reads is started again, and every file is read', async () => {
      const [first] = folders();
      const lines = Array.from({ length: 250 }, (_, line) => `export const line${line} = ${line};\n`);
      for (const file of ['long-1.ts', 'long-2.ts']) writeFileSync(join(first!.uri.fsPath, file), lines.join(''));
      const [before] = engines();
      assert.ok(before !== undefined, 'an engine runs since the first questions');
      const reading = vscode.commands.executeCommand('longview.readNow');
      await new Promise(done => setTimeout(done, 1000));
      process.kill(before, 'SIGKILL');
      await reading;
      assert.deepEqual(
        (await countsOfFolders()).map(({ read, total }) => [read, total]),
        [
          [3, 3],
          [1, 1],
          [0, 0],
        ],
      );
      assert.ok(!engines().includes(before), 'another engine');
    });

    test('an engine that is killed is started again for the next question', async () => {
      for (const engine of engines()) process.kill(engine, 'SIGKILL');
      const document = await ask('What does onlyInTheSecond return?', 1);
      assert.match(document.getText(), /two\.ts:1/);
    });

    test('a provider that this machine has not gives way to the CPU, and the user sees why', async () => {
      await change('engine.provider', 'coreml');
      const document = await ask('What does onlyInTheSecond return?', 1);
      assert.match(document.getText(), /text on cpu/);
      await look("Longview: The model runs on cpu: coreml can't be used here");
      assert.match(await diagnostics(), /- running: text on cpu \(coreml can't be used here: .+\)/);
      await change('engine.provider', undefined);
    });

    test('a data folder that cannot be written: what to do is said, and reading works again in another', async () => {
      const data = settings().get<string>('storage.folder')!;
      await change('storage.folder', join(dirname(data), 'data-closed'));
      // The command shows its error and gives nothing.
      assert.equal(await vscode.commands.executeCommand('longview.readNow'), undefined);
      await look('May not write to');
      assert.match(await diagnostics(), /reading: May not write to .+ Allow it or choose another data folder\./);
      const failed = await ask('What is here?', 1);
      assert.match(failed.getText(), /Allow it or choose another data folder/);
      await change('storage.folder', data);
      await vscode.commands.executeCommand('longview.readNow');
      assert.deepEqual(
        (await countsOfFolders()).map(({ read }) => read),
        [3, 1, 0],
      );
    });
  });
}
