/** Gets the model onto this machine: says size and source first, downloads only after a yes, with progress and a way to stop. */
import * as vscode from 'vscode';
import { method, type ModelReply, type ProgressEvent } from '../protocol/index.js';
import type { ServerClient } from './server-client.js';

/** True when a model is installed, be it by now. */
export async function ensureModel(client: ServerClient, consent: boolean): Promise<boolean> {
  const neverCancelled = new vscode.CancellationTokenSource().token;
  const model = await client.request(method.model, {}, neverCancelled);
  if (model.installed) return true;
  // Where the package carries it nothing is downloaded, so there is nothing to agree to.
  if (!consent && model.downloadBytes > 0 && !(await askConsent(model))) return false;
  return (await install(client, {}, `Longview: ${model.name}`)).installed;
}

/** Downloads and converts with progress and a way to stop. Only after consent, or from a file of the user's. */
export function install(
  client: ServerClient,
  wanted: { readonly name?: string; readonly from?: string },
  title: string,
): Thenable<ModelReply> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    (progress, token) =>
      client.request(method.installModel, wanted, token, {
        onProgress: it => progress.report({ message: progressText(it) }),
      }),
  );
}

async function askConsent(model: ModelReply): Promise<boolean> {
  const download = vscode.l10n.t('Download');
  const answer = await vscode.window.showInformationMessage(
    vscode.l10n.t('Longview needs a model once.'),
    {
      modal: true,
      detail: vscode.l10n.t(
        '{0}: {1} MB to download from {2}, {3} MB on disk. License: {4}. After that nothing leaves this machine.',
        model.name,
        megabytes(model.downloadBytes),
        model.source,
        megabytes(model.diskBytes),
        model.license,
      ),
    },
    download,
  );
  return answer === download;
}

/** `Reading: 40 % (src/a.ts)`. */
export function progressText({ task, done, total, item }: ProgressEvent): string {
  const share = total ? `: ${Math.floor((100 * done) / total)} %` : '';
  return `${task}${share}${item === undefined ? '' : ` (${item})`}`;
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
