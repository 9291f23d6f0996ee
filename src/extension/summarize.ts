/**
 * The commands *Summarize Selection / File / Folder / Workspace / Changes Since…*: sentence after sentence in the panel, each
 * with a link to its lines. Never summarizes by itself: the server does.
 */
import * as vscode from 'vscode';
import type { SummaryTarget } from '../protocol/index.js';
import type { AskView } from './ask-view.js';
import { labelOf } from './folder-choice.js';
import { command } from './ids.js';
import { chooseFolder, userCommand, type Services } from './services.js';

export function activateSummarize(services: Services, view: AskView): vscode.Disposable {
  return vscode.Disposable.from(
    userCommand(services, command.summarizeSelection, () => summarize(view, ofSelection())),
    userCommand(services, command.summarizeFile, (given?: vscode.Uri) => summarize(view, ofFile(given))),
    userCommand(services, command.summarizeFolder, async (given?: vscode.Uri) =>
      summarize(view, await ofFolder(given)),
    ),
    userCommand(services, command.summarizeWorkspace, async () => summarize(view, await ofWorkspace())),
    userCommand(services, command.summarizeChanges, async (given?: ChangesArguments) =>
      summarize(view, await ofChanges(given)),
    ),
  );
}

/** For key bindings and tests: what the command would ask the user for. */
export interface ChangesArguments {
  /** A commit or branch; `last`: since the last summary of changes. */
  readonly since: string;
}

/** What is to be summarized, and how that is called. */
interface Wanted {
  readonly folder: vscode.Uri;
  readonly target: SummaryTarget;
  readonly title: string;
  readonly maxSentences?: number;
}

/** Sentences that an unsaved file gets at most, as a saved one does. */
const sentencesOfFile = 8;

/** Resolves with the URI of the summary as a document once it is complete, or undefined where there was none to make. */
async function summarize(view: AskView, wanted: Wanted | undefined): Promise<vscode.Uri | undefined> {
  if (!wanted) return undefined;
  const exchange = await view.summarize({ ...wanted, folder: wanted.folder.toString() });
  return exchange && view.document(exchange);
}

function ofSelection(): Wanted {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) throw new Error(vscode.l10n.t('Select the lines to summarize first.'));
  const { start, end } = editor.selection;
  // A selection that ends at the start of a line does not mean that line.
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  const { folder, path } = placeOf(editor.document.uri);
  const target = linesOf(editor.document, path, start.line, last);
  const title = vscode.l10n.t('Summary of {0}', `${path}:${target.startLine}-${target.endLine}`);
  return { folder: folder.uri, target, title };
}

function ofFile(given: vscode.Uri | undefined): Wanted {
  const uri = given ?? vscode.window.activeTextEditor?.document.uri;
  if (!uri) throw new Error(vscode.l10n.t('Open the file to summarize first.'));
  const { folder, path } = placeOf(uri);
  const title = vscode.l10n.t('Summary of {0}', path);
  const unsaved = vscode.workspace.textDocuments.find(one => one.isDirty && one.uri.toString() === uri.toString());
  if (!unsaved) return { folder: folder.uri, target: { kind: 'file', path }, title };
  const target = linesOf(unsaved, path, 0, unsaved.lineCount - 1);
  return { folder: folder.uri, target, title, maxSentences: sentencesOfFile };
}

/** Lines as the editor shows them, counted from 0 here. */
function linesOf(
  document: vscode.TextDocument,
  path: string,
  first: number,
  last: number,
): Extract<SummaryTarget, { kind: 'selection' }> {
  const text = document.getText(new vscode.Range(first, 0, last, document.lineAt(last).range.end.character));
  return { kind: 'selection', path, startLine: first + 1, endLine: last + 1, text };
}

async function ofFolder(given: vscode.Uri | undefined): Promise<Wanted | undefined> {
  const uri = given ?? (await pickFolder());
  if (!uri) return undefined;
  const { folder, path } = placeOf(uri);
  if (path === '') return workspaceTarget(folder);
  const title = vscode.l10n.t('Summary of {0}', `${path}/`);
  return { folder: folder.uri, target: { kind: 'folder', path }, title };
}

async function pickFolder(): Promise<vscode.Uri | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const openLabel = vscode.l10n.t('Summarize');
  const options = { canSelectFiles: false, canSelectFolders: true, defaultUri: folder.uri, openLabel };
  return (await vscode.window.showOpenDialog(options))?.[0];
}

async function ofWorkspace(): Promise<Wanted | undefined> {
  const folder = await chooseFolder();
  return folder && workspaceTarget(folder);
}

function workspaceTarget(folder: vscode.WorkspaceFolder): Wanted {
  const title = vscode.l10n.t('Summary of {0}', labelOf(folder));
  return { folder: folder.uri, target: { kind: 'workspace' }, title };
}

async function ofChanges(given: ChangesArguments | undefined): Promise<Wanted | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const since = given?.since ?? (await pickSince());
  if (since === undefined) return undefined;
  const isLast = since === lastSummary;
  const title = isLast
    ? vscode.l10n.t('Changes in {0} since the last summary', labelOf(folder))
    : vscode.l10n.t('Changes in {0} since {1}', labelOf(folder), since);
  return { folder: folder.uri, target: { kind: 'changes', since: isLast ? undefined : since }, title };
}

const lastSummary = 'last';

async function pickSince(): Promise<string | undefined> {
  const last = { label: vscode.l10n.t('The last summary of changes'), since: lastSummary };
  const head = { label: vscode.l10n.t('The last commit'), description: 'HEAD', since: 'HEAD' };
  const other = { label: vscode.l10n.t('Another commit, tag or branch…'), since: '' };
  const title = vscode.l10n.t('Summarize changes since');
  const choice = await vscode.window.showQuickPick([last, head, other], { title });
  if (choice !== other) return choice?.since;
  const typed = await vscode.window.showInputBox({ title, placeHolder: 'main, v1.2, 4f2a9c1, HEAD~3' });
  return typed?.trim() || undefined;
}

function placeOf(uri: vscode.Uri): { folder: vscode.WorkspaceFolder; path: string } {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (!folder) throw new Error(vscode.l10n.t('{0} is not in this workspace.', uri.fsPath));
  const path = uri.toString() === folder.uri.toString() ? '' : vscode.workspace.asRelativePath(uri, false);
  return { folder, path };
}
