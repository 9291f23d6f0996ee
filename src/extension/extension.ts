/**
 * Entry of the extension: registers what the manifest names. The server starts with the first request: by itself only for
 * a workspace that was read before (reading.ts).
 * One file a feature; this one is the table of contents.
 */
import * as vscode from 'vscode';
import type { ServerOptions } from '../protocol/index.js';
import { AnswerDocuments } from './answer-documents.js';
import { activateAsk } from './ask.js';
import { AskView } from './ask-view.js';
import { activateChatParticipant } from './chat-participant.js';
import { activateDiagnostics } from './diagnostics.js';
import { activateFileChanges } from './file-changes.js';
import { activateForget } from './forget.js';
import { command, section, setting } from './ids.js';
import { activateLanguageModelTools } from './language-model-tools.js';
import { activateLanguageModel } from './language-model.js';
import { activateLanguageStatus } from './language-status.js';
import { activateMcpProvider } from './mcp-provider.js';
import { activateMemoryView } from './memory-view.js';
import { Models, activateModels } from './models.js';
import { notices } from './notices.js';
import { activatePortable } from './portable.js';
import { PowerGate } from './power-gate.js';
import { isOnBattery } from './power.js';
import { Reading } from './reading.js';
import { DefinitionRequests } from './definition-requests.js';
import { activateHover } from './hover.js';
import { activateInlayHints } from './inlay-hints.js';
import { activateRecallAtCursor } from './recall-at-cursor.js';
import { ServerClient } from './server-client.js';
import { cpuShare, serverOptions } from './server-options.js';
import type { Services } from './services.js';
import { activateStatusBar } from './status-bar.js';
import { activateSummarize } from './summarize.js';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Longview', { log: true });
  const serverFile = vscode.Uri.joinPath(context.extensionUri, 'dist', 'server.js').fsPath;
  const notice = notices(log);
  const options = (): ServerOptions => serverOptions(notice);
  const client = new ServerClient(serverFile, options, log, notice);
  const documents = new AnswerDocuments();
  const power = new PowerGate({
    isOnBattery,
    mayUseBattery: () => vscode.workspace.getConfiguration(section).get<boolean>(setting.onBattery) === true,
  });
  const reading = new Reading(client, context.workspaceState, log, power, () => cpuShare(notice));
  const services: Services = { context, client, documents, log, reading, models: new Models(client) };
  const askView = new AskView(services);
  const definitions = new DefinitionRequests(client);
  context.subscriptions.push(
    log,
    client,
    documents,
    reading,
    askView,
    activateAsk(services, askView),
    activateFileChanges(services),
    activateMemoryView(services),
    activateSummarize(services, askView),
    activateStatusBar(services),
    activateLanguageStatus(services),
    activateModels(services),
    activateForget(services),
    activatePortable(services),
    activateDiagnostics(services),
    activateHover(services, definitions),
    activateInlayHints(services, definitions),
    activateRecallAtCursor(services, definitions),
    activateLanguageModel(services),
    activateChatParticipant(services),
    activateLanguageModelTools(services),
    activateMcpProvider(services, options),
    vscode.commands.registerCommand(command.showLog, () => log.show()),
    vscode.workspace.onDidChangeConfiguration(change => {
      const affects = (name: string): boolean => change.affectsConfiguration(`${section}.${name}`);
      // The next request starts a server with the settings of then.
      if (serverSettings.some(affects)) void reading.restart(() => client.stop());
      else if (affects(setting.cpuShare)) void reading.restart();
      if (affects(setting.onBattery)) power.check();
    }),
  );
}

/** Settings that a running server does not take over. */
const serverSettings = [
  setting.dataFolder,
  setting.modelName,
  setting.threads,
  setting.provider,
  setting.ram,
  setting.disk,
  setting.state,
];
