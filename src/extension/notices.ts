/** What works otherwise than it was asked to, e.g. an execution provider: logged and shown once a window each. */
import * as vscode from 'vscode';
import { command } from './ids.js';

export function notices(log: vscode.LogOutputChannel): (message: string) => void {
  const shown = new Set<string>();
  return message => {
    if (shown.has(message)) return;
    shown.add(message);
    log.warn(message);
    const diagnostics = vscode.l10n.t('Diagnostics');
    void vscode.window.showWarningMessage(`Longview: ${message}`, diagnostics).then(choice => {
      if (choice === diagnostics) void vscode.commands.executeCommand(command.diagnostics);
    });
  };
}
