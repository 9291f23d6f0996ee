/**
 * The commands *Ask About Workspace…* and *Ask About Selection…*: both ask in the panel. Never answers by itself: the server
 * does.
 */
import * as vscode from 'vscode';
import type { Selection } from '../protocol/index.js';
import type { AskView } from './ask-view.js';
import { command } from './ids.js';
import { userCommand, type Services } from './services.js';

/** For key bindings and tests: what the user would write or choose in the panel. */
export interface AskArguments {
  readonly question?: string;
  /** URI of a workspace folder. */
  readonly folder?: string;
  /** The consent to download the model has been given. */
  readonly consent?: boolean;
}

/** Longer selections are asked about by their first lines: the model's window holds no more. */
const mostSelectedLines = 400;

export function activateAsk(services: Services, view: AskView): vscode.Disposable {
  return vscode.Disposable.from(
    userCommand(services, command.ask, (given?: AskArguments) => ask(view, given)),
    userCommand(services, command.askAboutSelection, (given?: AskArguments) => askAboutSelection(view, given)),
  );
}

/** With a question: resolves with the URI of the answer as a document once it is complete, or undefined where it was not asked. */
async function ask(
  view: AskView,
  given: AskArguments = {},
  selected?: { folder: string; selection: Selection },
): Promise<vscode.Uri | undefined> {
  const folder = given.folder ?? selected?.folder ?? activeFolder()?.uri.toString();
  if (folder !== undefined) view.session.choose(folder, selected?.selection);
  await view.show();
  if (given.question === undefined) return undefined;
  const exchange = await view.session.ask({ question: given.question }, given.consent);
  return exchange && view.document(exchange);
}

async function askAboutSelection(view: AskView, given?: AskArguments): Promise<vscode.Uri | undefined> {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || folder?.uri.scheme !== 'file') {
    void vscode.window.showInformationMessage(vscode.l10n.t('Select lines of a file in an open folder first.'));
    return undefined;
  }
  return ask(view, given, { folder: folder.uri.toString(), selection: selectionOf(editor, folder) });
}

/** Whole lines; the line of the cursor where nothing is selected. */
function selectionOf({ document, selection }: vscode.TextEditor, folder: vscode.WorkspaceFolder): Selection {
  const { start, end } = selection;
  const endsBefore = end.character === 0 && end.line > start.line;
  const last = Math.min(endsBefore ? end.line - 1 : end.line, start.line + mostSelectedLines - 1);
  return {
    path: document.uri.path.slice(folder.uri.path.replace(/\/$/, '').length + 1),
    startLine: start.line + 1,
    endLine: last + 1,
    text: document.getText(new vscode.Range(start.line, 0, last, document.lineAt(last).text.length)),
  };
}

function activeFolder(): vscode.WorkspaceFolder | undefined {
  const active = vscode.window.activeTextEditor?.document.uri;
  return active && vscode.workspace.getWorkspaceFolder(active);
}
