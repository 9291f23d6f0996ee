/** Forgetting: one file, or all that is remembered of a folder. Asks before the second; the memory's files, never the user's. */
import * as vscode from 'vscode';
import { method } from '../protocol/index.js';
import { labelOf } from './folder-choice.js';
import { command } from './ids.js';
import { chooseFolder, userCommand, type Services } from './services.js';

export function activateForget(services: Services): vscode.Disposable {
  return vscode.Disposable.from(
    userCommand(services, command.forgetFile, (given?: vscode.Uri) => forgetFile(services, given)),
    userCommand(services, command.forgetWorkspace, (given?: { readonly consent?: boolean }) =>
      forgetWorkspace(services, given?.consent ?? false),
    ),
  );
}

/** Of the file given (explorer, tests), or of one that the user picks. */
async function forgetFile(services: Services, given?: vscode.Uri): Promise<void> {
  const place = given ? placeOf(given) : await pickFile(services);
  if (!place) return;
  await request(services, place.folder, place.path);
  void vscode.window.showInformationMessage(
    vscode.l10n.t(
      '{0} is forgotten. It is read again when it changes, or by Read Now; to keep it out, name it in .longviewignore.',
      place.path,
    ),
  );
}

async function forgetWorkspace(services: Services, consent: boolean): Promise<void> {
  const folder = await chooseFolder();
  if (!folder) return;
  const forget = vscode.l10n.t('Forget');
  const question = vscode.l10n.t('Forget everything that was read of {0}?', labelOf(folder));
  const detail = vscode.l10n.t('The files stay as they are. Reading them again takes as long as the first time.');
  if (!consent && (await vscode.window.showWarningMessage(question, { modal: true, detail }, forget)) !== forget)
    return;
  if (services.reading.state.kind !== 'ready') await services.reading.pause();
  await request(services, folder);
  void vscode.window.showInformationMessage(vscode.l10n.t('All that was read of {0} is forgotten.', labelOf(folder)));
}

async function request({ client }: Services, folder: vscode.WorkspaceFolder, path?: string): Promise<void> {
  const title = vscode.l10n.t('Longview forgets {0}', path ?? labelOf(folder));
  await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, (_, token) =>
    client.request(method.forget, { folder: folder.uri.toString(), path }, token),
  );
  await vscode.commands.executeCommand(command.refreshMemory);
}

interface FilePlace {
  readonly folder: vscode.WorkspaceFolder;
  readonly path: string;
}

function placeOf(uri: vscode.Uri): FilePlace {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (!folder) throw new Error(vscode.l10n.t('{0} is not in this workspace.', uri.fsPath));
  return { folder, path: vscode.workspace.asRelativePath(uri, false) };
}

async function pickFile({ client }: Services): Promise<FilePlace | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const { token } = new vscode.CancellationTokenSource();
  const { files } = await client.request(method.files, { folder: folder.uri.toString() }, token);
  const known = files.filter(file => file.state === 'read' || file.state === 'stale' || file.state === 'coarse');
  if (known.length === 0) throw new Error(vscode.l10n.t('Nothing of {0} is remembered.', labelOf(folder)));
  const active = vscode.window.activeTextEditor?.document.uri;
  const first = active && vscode.workspace.asRelativePath(active, false);
  const ordered = [...known].sort((a, b) => Number(b.path === first) - Number(a.path === first));
  const chosen = await vscode.window.showQuickPick(
    ordered.map(file => ({ label: file.path, description: vscode.l10n.t('{0} tokens', file.tokens) })),
    { title: vscode.l10n.t('Forget File…'), matchOnDescription: false },
  );
  return chosen && { folder, path: chosen.label };
}
