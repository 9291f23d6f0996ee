/** Export and import of the memory in a real editor, over the small workspace of ask.suite.ts. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';

interface Imported {
  readonly files: number;
  readonly added: number;
  readonly known: number;
  readonly coverage: { readonly read: number; readonly waiting: number };
}

export function definePortableSuite(): void {
  suite('Longview exports and imports', () => {
    let folder: string;
    suiteSetup(() => (folder = mkdtempSync(join(tmpdir(), 'longview-export-'))));
    suiteTeardown(() => rmSync(folder, { recursive: true, force: true }));
    const fileOf = (name: string): vscode.Uri => vscode.Uri.file(join(folder, name));
    const importing = (...names: string[]): Thenable<Imported | undefined> =>
      vscode.commands.executeCommand('longview.importMemory', names.map(fileOf));

    test('what was exported, forgotten and imported is read as before; a damaged file is refused', async () => {
      await vscode.commands.executeCommand('longview.readNow');
      const exported = await vscode.commands.executeCommand<{ files: number; bytes: number; leftOut: number }>(
        'longview.exportMemory',
        fileOf('a.longview-memory'),
      );
      const bytes = readFileSync(fileOf('a.longview-memory').fsPath);
      assert.deepEqual([exported.files, exported.bytes, exported.leftOut], [4, bytes.length, 0]);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(fileOf('b.longview-memory').fsPath, bytes);

      await vscode.commands.executeCommand('longview.forgetWorkspace', { consent: true });
      // The command shows its error and gives nothing.
      assert.equal(await importing('a.longview-memory', 'b.longview-memory'), undefined);
      const imported = await importing('a.longview-memory');
      assert.deepEqual(
        [imported?.files, imported?.added, imported?.coverage.read, imported?.coverage.waiting],
        [4, 4, 4, 0],
      );
      await vscode.commands.executeCommand('longview.exportMemory', fileOf('c.longview-memory'));
      assert.deepEqual(
        readFileSync(fileOf('c.longview-memory').fsPath),
        readFileSync(fileOf('a.longview-memory').fsPath),
      );
    });
  });
}
