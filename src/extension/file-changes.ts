/**
 * Tells the server what changes in the workspace's folders, in small batches as it comes; the server waits for quiet and
 * bounds what it keeps. The editor says nothing of what its `files.watcherExclude` leaves out: that is found when the
 * server starts and before a question. Tells nothing in Restricted Mode, and never starts a server.
 */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import type { ChangedFilesParams } from '../protocol/index.js';
import type { Services } from './services.js';

type Change = ChangedFilesParams['changes'][number];

const batchMs = 100;
const mostOfBatch = 500;

export function activateFileChanges({ client, log }: Services): vscode.Disposable {
  let batch: Change[] = [];
  let timer: NodeJS.Timeout | undefined;
  const send = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const changes = batch;
    batch = [];
    client.changedFiles(changes).catch((error: unknown) => log.debug(`Changes: ${messageOf(error)}`));
  };
  const note = (uri: vscode.Uri, type: Change['type']): void => {
    if (uri.scheme !== 'file' || !client.isRunning || !vscode.workspace.isTrusted) return;
    batch.push({ uri: uri.toString(), type });
    if (batch.length >= mostOfBatch) send();
    else timer ??= setTimeout(send, batchMs);
  };
  const watcher = vscode.workspace.createFileSystemWatcher('**/*');
  return vscode.Disposable.from(
    watcher,
    { dispose: () => clearTimeout(timer) },
    watcher.onDidCreate(uri => note(uri, 1)),
    watcher.onDidChange(uri => note(uri, 2)),
    watcher.onDidDelete(uri => note(uri, 3)),
  );
}
