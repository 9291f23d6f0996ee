/** Workspace Trust: in Restricted Mode nothing is read, whoever asks. */
import * as vscode from 'vscode';

/** Throws, saying what to do, unless the workspace is trusted. */
export function requireTrust(): void {
  if (vscode.workspace.isTrusted) return;
  throw new Error(vscode.l10n.t('Trust this folder first: Longview reads nothing in Restricted Mode.'));
}
