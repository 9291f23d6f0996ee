/** Reading, forgetting and recovering in a real editor, over the small workspace of ask.suite.ts. */
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as vscode from 'vscode';
import { screenshot } from './page-looks.js';

export function defineReadingSuite(): void {
  suite('Longview reads', () => {
    const [folder] = vscode.workspace.workspaceFolders!;
    const uriOf = (path: string): vscode.Uri => vscode.Uri.joinPath(folder!.uri, path);
    /** What *Diagnostics* says; closes its document. */
    const diagnostics = async (): Promise<string> => {
      const report = await vscode.commands.executeCommand<string>('longview.diagnostics');
      await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
      return report;
    };
    const counts = async (): Promise<{ read: number; waiting: number; total: number }> =>
      JSON.parse(/files: (\{.*\})/.exec(await diagnostics())![1]!) as { read: number; waiting: number; total: number };

    test('everything is forgotten, then read again beside a fluent extension host', async () => {
      await vscode.commands.executeCommand('longview.forgetWorkspace', { consent: true });
      assert.equal((await counts()).read, 0);
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      await vscode.commands.executeCommand('longview.readNow');
      delay.disable();
      console.log(
        `event loop of the extension host while reading: p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, most ${ms(delay.max)}`,
      );
      const { read, total } = await counts();
      assert.deepEqual([read, total], [4, 4]);
      // The status bar has said so meanwhile.
      await screenshot('status-bar.png');
    });

    test('a paused reading keeps what was read, and goes on', async () => {
      await vscode.commands.executeCommand('longview.forgetWorkspace', { consent: true });
      const reading = vscode.commands.executeCommand('longview.readNow');
      for (let tries = 0; tries < 300 && (await counts()).read === 0; tries++) {
        await new Promise(done => setTimeout(done, 200));
      }
      await vscode.commands.executeCommand('longview.pauseReading');
      await reading;
      const paused = await counts();
      assert(paused.read > 0, JSON.stringify(paused));
      await vscode.commands.executeCommand('longview.readNow');
      assert.equal((await counts()).read, 4);
    });

    test('one file is forgotten; the next reading brings it back', async () => {
      await vscode.commands.executeCommand('longview.forgetFile', uriOf('lib/error.js'));
      assert.equal((await counts()).read, 3);
      await vscode.commands.executeCommand('longview.readNow');
      assert.equal((await counts()).read, 4);
    });

    test('diagnostics name versions, model, store and counts, and nothing of the files', async () => {
      const report = await diagnostics();
      for (const part of [
        /^# Longview diagnostics/,
        /VS Code \d/,
        /smollm2-135m-instruct: installed/,
        /answered in \d+ ms/,
      ]) {
        assert.match(report, part);
      }
      assert(!report.includes('suggestSimilar'), report);
    });

    test('a server that is killed is started again: nothing is read twice, and questions are answered', async () => {
      const pid = Number(/process (\d+) answered/.exec(await diagnostics())![1]);
      process.kill(pid, 'SIGKILL');
      await new Promise(done => setTimeout(done, 500));
      const uri = await vscode.commands.executeCommand<vscode.Uri>('longview.ask', { question: 'What is an option?' });
      const text = (await vscode.workspace.openTextDocument(uri)).getText();
      assert.match(text, /4 of 4 files read/);
      const after = Number(/process (\d+) answered/.exec(await diagnostics())![1]);
      assert.notEqual(after, pid);
    });

    test('a second reading of an unchanged workspace reads nothing and is quick', async () => {
      const began = performance.now();
      await vscode.commands.executeCommand('longview.readNow');
      console.log(`nothing to read: ${Math.round(performance.now() - began)} ms`);
      assert.equal((await counts()).read, 4);
    });
  });
}

function ms(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toFixed(1)} ms`;
}
