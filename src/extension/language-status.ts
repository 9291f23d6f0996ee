/** The language status item: whether the memory knows the file in the active editor as it is on disk. Reads nothing itself. */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import { method, type FileRow } from '../protocol/index.js';
import type { Services } from './services.js';

export function activateLanguageStatus({ client, reading, log }: Services): vscode.Disposable {
  const item = vscode.languages.createLanguageStatusItem('longview.freshness', { scheme: 'file' });
  item.name = 'Longview';
  let asked = new vscode.CancellationTokenSource();
  const update = async (): Promise<void> => {
    asked.cancel();
    asked = new vscode.CancellationTokenSource();
    const { token } = asked;
    const document = vscode.window.activeTextEditor?.document;
    const folder = document && vscode.workspace.getWorkspaceFolder(document.uri);
    // A workspace that was never read is not worth starting a server for.
    if (!folder || folder.uri.scheme !== 'file' || !reading.wasRead || !vscode.workspace.isTrusted) {
      item.text = vscode.l10n.t('Not read by Longview');
      item.detail = undefined;
      item.severity = vscode.LanguageStatusSeverity.Information;
      return;
    }
    item.busy = true;
    try {
      const path = vscode.workspace.asRelativePath(document.uri, false);
      const { file } = await client.request(method.freshness, { folder: folder.uri.toString(), path }, token);
      if (token.isCancellationRequested) return;
      item.text = freshness(file);
      const isUnread = file?.state === 'stale' || file?.state === 'waiting';
      if (isUnread && reading.state.kind === 'onBattery') item.detail = vscode.l10n.t('Waiting: on battery');
      else item.detail = file && file.tokens > 0 ? vscode.l10n.t('{0} tokens', file.tokens) : undefined;
      item.severity =
        file?.state === 'stale' ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    } catch (error) {
      log.debug(`Freshness: ${messageOf(error)}`);
    } finally {
      if (!token.isCancellationRequested) item.busy = false;
    }
  };
  void update();
  let lastKind = reading.state.kind;
  return vscode.Disposable.from(
    item,
    { dispose: () => asked.cancel() },
    vscode.window.onDidChangeActiveTextEditor(() => void update()),
    vscode.workspace.onDidSaveTextDocument(() => void update()),
    client.onDidChangeFiles(() => void update()),
    reading.onDidChange(state => {
      if (state.kind !== lastKind) void update();
      lastKind = state.kind;
    }),
  );
}

function freshness(file: FileRow | undefined): string {
  switch (file?.state) {
    case 'read':
      return vscode.l10n.t('Read by Longview');
    case 'coarse':
      return vscode.l10n.t('Read by Longview, kept coarsely');
    case 'reading':
      return vscode.l10n.t('Being read by Longview');
    case 'stale':
      return vscode.l10n.t('Changed since Longview read it');
    case 'waiting':
      return vscode.l10n.t('Waiting to be read by Longview');
    case 'skipped':
      return vscode.l10n.t('Skipped by Longview: {0}', file.reason ?? '');
    case undefined:
      return vscode.l10n.t('Not read by Longview');
  }
}
