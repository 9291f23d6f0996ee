/**
 * Entry of the extension: registers what the manifest names and starts nothing. The server starts with the first request.
 * One file a feature; this one is the table of contents.
 */
import * as vscode from 'vscode';
import { AnswerDocuments } from './answer-documents.js';
import { activateAsk } from './ask.js';
import { command, section, setting } from './ids.js';
import { ServerClient } from './server-client.js';
import type { Services } from './services.js';
import type { ServerOptions } from '../protocol/index.js';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Longview', { log: true });
  const serverFile = vscode.Uri.joinPath(context.extensionUri, 'dist', 'server.js').fsPath;
  const client = new ServerClient(serverFile, serverOptions, log);
  const documents = new AnswerDocuments();
  const services: Services = { context, client, documents, log };
  context.subscriptions.push(
    log,
    client,
    documents,
    activateAsk(services),
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
