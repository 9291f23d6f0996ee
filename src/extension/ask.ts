/**
 * The command *Ask About Workspace…*: a question, the model if it is missing (after consent), the answer in a document.
 * Never answers by itself: the server does.
 */
import * as vscode from 'vscode';
import { method } from '../protocol/index.js';
import type { AnswerDocument, AnswerDocuments } from './answer-documents.js';
import { command } from './ids.js';
import { ensureModel, progressText } from './model-consent.js';
import type { ServerClient } from './server-client.js';
import { chooseFolder, userCommand, type Services } from './services.js';

/** For key bindings and tests: what the command would ask the user for. */
export interface AskArguments {
  readonly question?: string;
  /** The consent to download the model has been given. */
  readonly consent?: boolean;
}

export function activateAsk(services: Services): vscode.Disposable {
  const { client, documents } = services;
  return userCommand(services, command.ask, (given?: AskArguments) => askAboutWorkspace(client, documents, given));
}

/** Resolves with the document's URI once the answer is complete, or undefined when the user stepped back. */
async function askAboutWorkspace(
  client: ServerClient,
  documents: AnswerDocuments,
  given: AskArguments = {},
): Promise<vscode.Uri | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const question = given.question ?? (await inputQuestion(folder));
  if (question === undefined || question.trim() === '') return undefined;
  if (!(await ensureModel(client, given.consent ?? false))) return undefined;
  const answer = await documents.open(folder.uri, question);
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Longview', cancellable: true },
    (progress, token) => stream(client, answer, question, progress, token),
  );
  return answer.uri;
}

async function stream(
  client: ServerClient,
  answer: AnswerDocument,
  question: string,
  progress: vscode.Progress<{ message: string }>,
  token: vscode.CancellationToken,
): Promise<void> {
  try {
    const params = { folder: answer.folder.toString(), question };
    const reply = await client.request(method.ask, params, token, {
      onProgress: it => progress.report({ message: progressText(it) }),
      onRecalled: recalled => answer.update({ recalled }),
      onText: text => {
        progress.report({ message: vscode.l10n.t('Writing the answer') });
        answer.append(text);
      },
    });
    answer.update({ recalled: reply.recalled, reply });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    answer.update({ problem: token.isCancellationRequested ? vscode.l10n.t('Stopped.') : why });
    if (!token.isCancellationRequested) throw error;
  } finally {
    answer.flush();
  }
}

function inputQuestion(folder: vscode.WorkspaceFolder): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: vscode.l10n.t('Ask about {0}', folder.name),
    prompt: vscode.l10n.t('Longview reads what it has not read yet, then answers with links to the lines it means.'),
    placeHolder: vscode.l10n.t('Where is the retry limit decided?'),
    ignoreFocusOut: true,
  });
}
