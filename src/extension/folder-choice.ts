/** The workspace folders that can be read, and the one that chat or a tool means, without asking the user. */
import * as vscode from 'vscode';
import { folderViews } from './folder-labels.js';

/** Longview reads from a disk. */
export function foldersOnDisk(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(folder => folder.uri.scheme === 'file');
}

/** Its name, with as much of its path as tells it from folders of the same name. */
export function labelOf(folder: vscode.WorkspaceFolder): string {
  const uri = folder.uri.toString();
  return folderViews(foldersOnDisk()).find(view => view.uri === uri)?.label ?? folder.name;
}

/** By name or label where one is given; else the only one, or the active editor's. Throws, naming what there is. */
export function folderNamed(name: string | undefined): vscode.WorkspaceFolder {
  const folders = foldersOnDisk();
  if (folders.length === 0) throw new Error(vscode.l10n.t('Longview reads folders on disk. Open one first.'));
  const names = folders.map(labelOf).join(', ');
  if (name !== undefined) {
    const exact = folders.find(folder => labelOf(folder) === name || folder.uri.fsPath === name);
    const named = exact ? [exact] : folders.filter(folder => folder.name === name);
    if (named.length === 1) return named[0]!;
    if (named.length > 1) throw new Error(vscode.l10n.t('This workspace has several folders; say which: {0}', names));
    throw new Error(vscode.l10n.t('There is no folder {0} in this workspace; there are: {1}', name, names));
  }
  const active = vscode.window.activeTextEditor?.document.uri;
  const current = active && vscode.workspace.getWorkspaceFolder(active);
  const chosen = folders.length === 1 ? folders[0] : folders.find(folder => folder === current);
  if (chosen) return chosen;
  throw new Error(vscode.l10n.t('This workspace has several folders; say which: {0}', names));
}
