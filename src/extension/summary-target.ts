/** What is to be summarized, from a path or a reference of the user or of another model. Stays inside the folder. */
import { relative, sep } from 'node:path';
import * as vscode from 'vscode';
import type { SummaryTarget } from '../protocol/index.js';

/** A file or folder by its path, relative to the folder or absolute. Throws where there is none inside the folder. */
export async function targetOfPath(folder: vscode.WorkspaceFolder, path: string): Promise<SummaryTarget> {
  const isAbsolute = path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path);
  return targetOfUri(folder, isAbsolute ? vscode.Uri.file(path) : vscode.Uri.joinPath(folder.uri, path));
}

export async function targetOfUri(folder: vscode.WorkspaceFolder, uri: vscode.Uri): Promise<SummaryTarget> {
  const path = pathInside(folder, uri);
  if (path === '') return { kind: 'workspace' };
  const found =
    path === undefined ? undefined : await Promise.resolve(vscode.workspace.fs.stat(uri)).catch(() => undefined);
  if (path === undefined || !found) {
    throw new Error(vscode.l10n.t('{0} is not a file or folder of {1}.', uri.fsPath, folder.name));
  }
  return { kind: found.type & vscode.FileType.Directory ? 'folder' : 'file', path };
}

export async function targetOfLocation(
  folder: vscode.WorkspaceFolder,
  { uri, range }: vscode.Location,
): Promise<SummaryTarget> {
  const path = pathInside(folder, uri);
  if (path === undefined)
    throw new Error(vscode.l10n.t('{0} is not a file or folder of {1}.', uri.fsPath, folder.name));
  const document = await vscode.workspace.openTextDocument(uri);
  return {
    kind: 'selection',
    path,
    startLine: range.start.line + 1,
    endLine: range.end.line + 1,
    text: document.getText(range),
  };
}

/** Relative with `/`, empty for the folder itself, undefined outside. */
function pathInside(folder: vscode.WorkspaceFolder, uri: vscode.Uri): string | undefined {
  const path = relative(folder.uri.fsPath, uri.fsPath);
  if (uri.scheme !== 'file' || path.split(sep)[0] === '..' || /^[A-Za-z]:/.test(path)) return undefined;
  return path.split(sep).join('/');
}
