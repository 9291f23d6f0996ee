/** The workspace folders that can be read, and the one that chat or a tool means, without asking the user. */
import * as vscode from 'vscode';

/** Longview reads from a disk. */
export function foldersOnDisk(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(folder => folder.uri.scheme === 'file');
}

/** By name where one is given; else the only one, or the active editor's. Throws, naming what there is. */
export function folderNamed(name: string | undefined): vscode.WorkspaceFolder {
  const folders = foldersOnDisk();
  if (folders.length === 0) throw new Error(vscode.l10n.t('Longview reads folders on disk. Open one first.'));
  const names = folders.map(folder => folder.name).join(', ');
  if (name !== undefined) {
    const named = folders.find(folder => folder.name === name || folder.uri.fsPath === name);
    if (named) return named;
    throw new Error(vscode.l10n.t('There is no folder {0} in this workspace; there are: {1}', name, names));
  }
  const active = vscode.window.activeTextEditor?.document.uri;
  const current = active && vscode.workspace.getWorkspaceFolder(active);
  const chosen = folders.length === 1 ? folders[0] : folders.find(folder => folder === current);
  if (chosen) return chosen;
  throw new Error(vscode.l10n.t('This workspace has several folders; say which: {0}', names));
}
