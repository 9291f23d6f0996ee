/**
 * Entry of the extension: registers what the manifest names and starts nothing. The server starts with the first request.
 * One file a feature; this one is the table of contents.
 */
import * as vscode from 'vscode';
import { AnswerDocuments } from './answer-documents.js';
import { askAboutWorkspace, type AskArguments } from './ask.js';
import { command, section, setting } from './ids.js';
import { ServerClient } from './server-client.js';
import type { ServerOptions } from '../protocol/index.js';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Longview', { log: true });
  const serverFile = vscode.Uri.joinPath(context.extensionUri, 'dist', 'server.js').fsPath;
  const client = new ServerClient(serverFile, serverOptions, log);
  const documents = new AnswerDocuments();
  context.subscriptions.push(
    log,
    client,
    documents,
    userCommand(command.ask, log, given => askAboutWorkspace(client, documents, given)),
    vscode.commands.registerCommand(command.showLog, () => log.show()),
    vscode.workspace.onDidChangeConfiguration(change => {
      // The next request starts a server with the new settings.
      if (change.affectsConfiguration(section)) void client.stop();
    }),
  );
}

function serverOptions(): ServerOptions {
  const settings = vscode.workspace.getConfiguration(section);
  const text = (name: string): string | undefined => settings.get<string>(name)?.trim() || undefined;
  return {
    data: text(setting.dataFolder),
    model: text(setting.modelName),
    threads: settings.get<number>(setting.threads) || undefined,
  };
}

/** A command whose failure the user sees as a message with a way to the log. */
function userCommand(
  id: string,
  log: vscode.LogOutputChannel,
  run: (given?: AskArguments) => Promise<unknown>,
): vscode.Disposable {
  return vscode.commands.registerCommand(id, async (given?: AskArguments) => {
    try {
      return await run(given);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log.error(message);
      const showLog = vscode.l10n.t('Show Log');
      void vscode.window.showErrorMessage(message, showLog).then(choice => {
        if (choice === showLog) log.show();
      });
      return undefined;
    }
  });
}
