/** The status bar item: what Longview does now, and a click away its menu. Never starts anything by itself. */
import * as vscode from 'vscode';
import { foldersOnDisk } from './folder-choice.js';
import { command } from './ids.js';
import { statusText } from './reading-text.js';
import { userCommand, type Services } from './services.js';
import { requireTrust } from './trust.js';

export function activateStatusBar(services: Services): vscode.Disposable {
  const { reading } = services;
  const item = vscode.window.createStatusBarItem('longview.status', vscode.StatusBarAlignment.Right, 90);
  item.name = 'Longview';
  item.command = command.showMenu;
  const show = (): void => {
    const { text, tooltip, warning } = statusText(reading.state);
    item.text = text;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: `Longview. ${tooltip}`, role: 'button' };
    item.backgroundColor = warning ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  };
  show();
  item.show();
  return vscode.Disposable.from(
    item,
    reading.onDidChange(show),
    userCommand(services, command.showMenu, () => showMenu(services)),
    userCommand(services, command.readNow, () => readNow(services)),
    userCommand(services, command.pause, () => reading.pause()),
  );
}

async function readNow({ reading, models }: Services): Promise<void> {
  requireTrust();
  // Before a model is offered.
  if (foldersOnDisk().length === 0) throw new Error(vscode.l10n.t('Longview reads folders on disk. Open one first.'));
  if (!(await models.ensure())) return;
  const { kind } = reading.state;
  await reading.start({ forgotten: true });
  const after = reading.state;
  if (after.kind === 'problem' && kind !== 'reading') throw new Error(after.message);
}

interface MenuItem extends vscode.QuickPickItem {
  readonly id?: string;
}

/** Everything of the palette that fits the moment. */
async function showMenu({ reading }: Services): Promise<void> {
  const { kind } = reading.state;
  const readNow = { id: command.readNow, label: `$(book) ${vscode.l10n.t('Read Now')}` };
  const pause = { id: command.pause, label: `$(debug-pause) ${vscode.l10n.t('Pause Reading')}` };
  const items: MenuItem[] = [
    { id: command.ask, label: `$(comment-discussion) ${vscode.l10n.t('Ask About Workspace…')}` },
    ...(kind === 'reading' ? [pause] : kind === 'ready' ? [readNow, pause] : [readNow]),
    { label: '', kind: vscode.QuickPickItemKind.Separator },
    { id: command.forgetFile, label: `$(trash) ${vscode.l10n.t('Forget File…')}` },
    { id: command.chooseModel, label: `$(chip) ${vscode.l10n.t('Choose Model…')}` },
    { id: command.diagnostics, label: `$(pulse) ${vscode.l10n.t('Diagnostics')}` },
    { id: command.showLog, label: `$(output) ${vscode.l10n.t('Show Log')}` },
  ];
  const { tooltip } = statusText(reading.state);
  const chosen = await vscode.window.showQuickPick(items, { title: 'Longview', placeHolder: tooltip });
  if (chosen?.id !== undefined) await vscode.commands.executeCommand(chosen.id);
}
