/**
 * A window that is reloaded while it reads, then two windows on one folder, in a real editor with the tiny model. After the
 * reload the test runner loads windows.ts again. The second window's part is reader.ts; run-tests.mjs opens and closes it.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { counts, diagnostics, until } from './editor-state.js';

/** As many as editor-suite.mjs makes. */
const files = 200;

/** A file beside the folder, by which windows tell each other something. */
export function sign(name: string): string {
  return join(dirname(vscode.workspace.workspaceFolders![0]!.uri.fsPath), name);
}

export function wasReloaded(): boolean {
  return existsSync(sign('read-before-reload'));
}

export function defineReloadSuite(): void {
  suite('Longview in a window that is reloaded', () => {
    test('reading begins, and the window is reloaded in the middle', async () => {
      void vscode.commands.executeCommand('longview.readNow');
      await until('the first files', async () => (await counts()).read >= 3);
      writeFileSync(sign('read-before-reload'), `${(await counts()).read}`);
      await vscode.commands.executeCommand('workbench.action.reloadWindow');
      // The next suite runs in the window that comes.
      await new Promise(() => undefined);
    });
  });
}

export function defineReloadedSuite(): void {
  suite('Longview after a reload in the middle of reading', () => {
    suiteSetup(async () => {
      await vscode.extensions.getExtension('longview.longview')!.activate();
    });

    test('nothing that was read is lost', async () => {
      const before = Number(readFileSync(sign('read-before-reload'), 'utf8'));
      const { read, total } = await counts();
      assert.ok(read >= before && read < files, `${read} files read after the reload, ${before} before it`);
      assert.equal(total, files);
    });

    test('reading goes on by itself', async () => {
      const { read } = await counts();
      await until('more files', async () => (await counts()).read > read);
      await vscode.commands.executeCommand('longview.pauseReading');
      assert.match(await diagnostics(), /reading: Longview paused/);
      await vscode.commands.executeCommand('longview.forgetWorkspace', { consent: true });
    });
  });
}

export function defineTwoWindowsSuite(): void {
  suite('Longview in two windows on one folder', () => {
    test('while one window reads, both answer', async () => {
      console.log('[open] reader');
      await until('reading in the second window', async () => (await counts()).read > 0);
      const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.ask', {
        question: 'What is part100Line7?',
      });
      assert.ok(uri, 'this window answers');
      const text = (await vscode.workspace.openTextDocument(uri)).getText();
      const [, read, total] = /(\d+) of (\d+) files read/.exec(text) ?? [];
      assert.equal(Number(total), files, text);
      assert.ok(Number(read) > 0 && Number(read) < files, `answered beside the reading: ${text}`);
      await until('an answer in the window that reads', () => existsSync(sign('reader-answered')));
      assert.ok((await counts()).read < files, 'the second window still reads');
    });

    test('the window that does not read waits, says for what, and goes on when the other is closed', async () => {
      const reading = vscode.commands.executeCommand('longview.readNow');
      await until('the wait for the other window', async () =>
        (await diagnostics()).includes('Another Longview is reading this folder'),
      );
      console.log('[close] reader');
      await until('reading in this window', async () => /Longview reads .* part-\d+\.ts/.test(await diagnostics()));
      const { read } = await counts();
      assert.ok(read > 0, 'what the other window read is kept');
      await until('more files', async () => (await counts()).read > read);
      await vscode.commands.executeCommand('longview.pauseReading');
      await reading;
    });
  });
}
