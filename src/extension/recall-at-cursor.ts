/** The command *Recall at Cursor*: a peek at all definitions of the name under the cursor in other files. */
import * as vscode from 'vscode';
import type { RecallAtReply } from '../protocol/index.js';
import { locationOf, type DefinitionRequests } from './definition-requests.js';
import { command } from './ids.js';
import { userCommand, type Services } from './services.js';

export function activateRecallAtCursor(services: Services, requests: DefinitionRequests): vscode.Disposable {
  return userCommand(services, command.recallAtCursor, () => recallAtCursor(requests));
}

/** Resolves with what was found, or undefined where there was nothing to ask. */
async function recallAtCursor(requests: DefinitionRequests): Promise<RecallAtReply | undefined> {
  const editor = vscode.window.activeTextEditor;
  const place = editor && requests.nameAt(editor.document, editor.selection.active);
  if (!place) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('Put the cursor on a name in a file of a trusted folder, then recall.'),
    );
    return undefined;
  }
  const reply = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: 'Longview' }, () =>
    requests.ask(editor.document, place, new vscode.CancellationTokenSource().token, { evenIfQuiet: true }),
  );
  if (!reply) return undefined;
  if (reply.candidates.length === 0) {
    const message = vscode.l10n.t('Longview knows no definition of "{0}" in another file: {1}.', place.name, reply.how);
    void vscode.window.showInformationMessage(message);
    return reply;
  }
  await vscode.commands.executeCommand(
    'editor.action.peekLocations',
    editor.document.uri,
    place.range.start,
    reply.candidates.map(candidate => locationOf(place.folder, candidate)),
    'peek',
  );
  return reply;
}
