/**
 * Opens a place of a folder: a file with its lines selected, a notebook with its cell selected, another document with
 * whatever the editor opens it with. Never changes a file.
 */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import type { Place } from '../protocol/index.js';
import { isDocument } from './answer-text.js';

export async function openPlace(folder: vscode.Uri, place: Place): Promise<void> {
  const uri = vscode.Uri.joinPath(folder, place.path);
  try {
    if (!isDocument(place.path)) await openLines(uri, place);
    else if (/\.ipynb$/i.test(place.path)) await openCell(uri, place);
    else await vscode.commands.executeCommand('vscode.open', uri);
  } catch (error) {
    void vscode.window.showErrorMessage(messageOf(error));
  }
}

async function openLines(uri: vscode.Uri, { startLine, endLine }: Place): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const last = document.lineAt(Math.min(endLine, document.lineCount) - 1);
  const selection = new vscode.Range(Math.min(startLine - 1, last.lineNumber), 0, last.lineNumber, last.text.length);
  await vscode.window.showTextDocument(document, { selection });
}

async function openCell(uri: vscode.Uri, { place }: Place): Promise<void> {
  const notebook = await vscode.workspace.openNotebookDocument(uri);
  // `cell 4` counts from 1.
  const cell = Math.min(Number(/\d+/.exec(place ?? '')?.[0] ?? 1), notebook.cellCount) - 1;
  await vscode.window.showNotebookDocument(notebook, { selections: [new vscode.NotebookRange(cell, cell + 1)] });
}
