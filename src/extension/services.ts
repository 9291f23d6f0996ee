/** What every feature of the extension is given, and how a command of the user fails visibly. Never talks to the server by itself. */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import type { AnswerDocuments } from './answer-documents.js';
import { foldersOnDisk } from './folder-choice.js';
import type { Models } from './models.js';
import type { Reading } from './reading.js';
import type { ServerClient } from './server-client.js';
import { requireTrust } from './trust.js';

export interface Services {
  readonly context: vscode.ExtensionContext;
  readonly client: ServerClient;
  readonly documents: AnswerDocuments;
  readonly log: vscode.LogOutputChannel;
  readonly reading: Reading;
  readonly models: Models;
}

/** A command whose failure the user sees as a message with a way to the log. */
export function userCommand(
  { log }: Pick<Services, 'log'>,
  id: string,
  run: (...given: never[]) => Promise<unknown>,
): vscode.Disposable {
  return vscode.commands.registerCommand(id, async (...given: unknown[]) => {
    try {
      return await run(...(given as never[]));
    } catch (error) {
      const message = messageOf(error);
      log.error(message);
      const showLog = vscode.l10n.t('Show Log');
      void vscode.window.showErrorMessage(message, showLog).then(choice => {
        if (choice === showLog) log.show();
      });
      return undefined;
    }
  });
}

/** The active editor's folder, the only one, or the one the user picks; says so where there is none on a disk. Throws in Restricted Mode. */
export async function chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  requireTrust();
  const folders = foldersOnDisk();
  if (folders.length === 0) {
    void vscode.window.showErrorMessage(vscode.l10n.t('Longview reads folders on disk. Open one first.'));
    return undefined;
  }
  if (folders.length === 1) return folders[0];
  const active = vscode.window.activeTextEditor?.document.uri;
  const current = active && vscode.workspace.getWorkspaceFolder(active);
  return current?.uri.scheme === 'file' ? current : vscode.window.showWorkspaceFolderPick();
}
