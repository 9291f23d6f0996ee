/**
 * Export Memory… and Import Memory…: what was read of a folder as one file, for another machine or folder. The server does
 * the work. Never in Restricted Mode, and never anything over the network.
 */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { method, type ExportMemoryReply, type ImportMemoryReply } from '../protocol/index.js';
import { command } from './ids.js';
import { ProgressLine, megabytes } from './progress-line.js';
import { chooseFolder, userCommand, type Services } from './services.js';
import type { WorkListener } from './server-client.js';

const extension = 'longview-memory';

export function activatePortable(services: Services): vscode.Disposable {
  return vscode.Disposable.from(
    userCommand(services, command.exportMemory, (given?: vscode.Uri) => exportMemory(services, given)),
    userCommand(services, command.importMemory, (given?: readonly vscode.Uri[]) => importMemory(services, given)),
  );
}

/** Resolves with nothing where the user stepped back. */
async function exportMemory({ client }: Services, given?: vscode.Uri): Promise<ExportMemoryReply | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const file = given ?? (await chooseTarget(folder));
  if (!file) return undefined;
  const params = { folder: folder.uri.toString(), file: pathOf(file) };
  const title = vscode.l10n.t('Exporting what was read of {0}', folder.name);
  const done = await withCancel(title, (token, listener) =>
    client.request(method.exportMemory, params, token, listener),
  );
  if (!done) return undefined;
  const text = vscode.l10n.t(
    '{0} files of {1} are in {2} ({3}).',
    done.files,
    folder.name,
    basename(file.fsPath),
    megabytes(done.bytes),
  );
  const rest = vscode.l10n.t('{0} files that are only partly or coarsely read were left out.', done.leftOut);
  void vscode.window.showInformationMessage(done.leftOut > 0 ? `${text} ${rest}` : text);
  return done;
}

async function importMemory(services: Services, given?: readonly vscode.Uri[]): Promise<ImportMemoryReply | undefined> {
  const folder = await chooseFolder();
  if (!folder) return undefined;
  const chosen = given ?? (await chooseExports(folder));
  if (!chosen || chosen.length === 0 || !(await services.models.ensure())) return undefined;
  const params = { folder: folder.uri.toString(), files: chosen.map(pathOf) };
  const title = vscode.l10n.t('Importing into the memory of {0}', folder.name);
  const done = await withCancel(title, (token, listener) =>
    services.client.request(method.importMemory, params, token, listener),
  );
  await vscode.commands.executeCommand(command.refreshMemory);
  if (!done) return undefined;
  const { read, stale, waiting } = done.coverage;
  const text = vscode.l10n.t('{0} files of {1} are read now.', read, folder.name);
  const rest = vscode.l10n.t('{0} are still to be read.', stale + waiting);
  void offerReading(services, stale + waiting > 0 ? `${text} ${rest}` : text, stale + waiting > 0);
  return done;
}

async function offerReading({ reading }: Services, message: string, isOffered: boolean): Promise<void> {
  const readNow = vscode.l10n.t('Read Now');
  const answer = await vscode.window.showInformationMessage(message, ...(isOffered ? [readNow] : []));
  if (answer === readNow) await reading.start({ forgotten: true });
}

function chooseTarget(folder: vscode.WorkspaceFolder): Thenable<vscode.Uri | undefined> {
  return vscode.window.showSaveDialog({
    title: vscode.l10n.t('Export Memory…'),
    defaultUri: vscode.Uri.joinPath(folder.uri, '..', `${folder.name}.${extension}`),
    filters: { [vscode.l10n.t('Memories')]: [extension] },
  });
}

function chooseExports(folder: vscode.WorkspaceFolder): Thenable<vscode.Uri[] | undefined> {
  return vscode.window.showOpenDialog({
    title: vscode.l10n.t('Import Memory…'),
    defaultUri: vscode.Uri.joinPath(folder.uri, '..'),
    canSelectMany: true,
    filters: { [vscode.l10n.t('Memories')]: [extension] },
  });
}

function pathOf(file: vscode.Uri): string {
  if (file.scheme !== 'file') throw new Error(vscode.l10n.t('Choose a file on the disk where the folder lies.'));
  return file.fsPath;
}

/** Nothing where the user cancelled it. */
function withCancel<T>(
  title: string,
  run: (token: vscode.CancellationToken, listener: WorkListener) => Promise<T>,
): Thenable<T | undefined> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (progress, token) => {
      const line = new ProgressLine(vscode.l10n.t);
      try {
        return await run(token, { onProgress: it => progress.report({ message: line.show(it).progress }) });
      } catch (error) {
        if (token.isCancellationRequested) return undefined;
        throw error;
      }
    },
  );
}
