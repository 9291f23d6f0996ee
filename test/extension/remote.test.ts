/** Remote folders: by its manifest the extension runs beside the files, and its code knows nothing of the window's machine. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly extensionKind: readonly string[];
  readonly browser?: string;
  readonly capabilities: { readonly virtualWorkspaces: { readonly supported: boolean; readonly description: string } };
}

suite('remote', () => {
  test('the manifest puts the extension where the files are, and no code depends on where the window is', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
    assert.deepEqual(manifest.extensionKind, ['workspace']);
    assert.equal(manifest.browser, undefined);
    assert.equal(manifest.capabilities.virtualWorkspaces.supported, false);
    // Each would be right on one machine alone: asking where the window is, opening something there, its clipboard as a file.
    const window = /remoteName|uiKind|openExternal|asExternalUri|vscode-file:|localhost|127\.0\.0\.1/;
    const folder = join('src', 'extension');
    const asking = readdirSync(folder).filter(name => window.test(readFileSync(join(folder, name), 'utf8')));
    assert.deepEqual(asking, ['diagnostics.ts'], 'the report alone, which prints it');
  });
});
