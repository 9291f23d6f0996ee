/** What the user's settings say about models, for every process that is started. */
import * as vscode from 'vscode';
import type { ServerOptions } from '../protocol/index.js';
import { section } from './ids.js';
import { optionsOf } from './setting-values.js';

/** `notice` is told what the user is to see. */
export function serverOptions(notice: (message: string) => void): ServerOptions {
  const settings = vscode.workspace.getConfiguration(section);
  return optionsOf(
    name => settings.get(name),
    ({ name, value }) => notice(vscode.l10n.t('The setting {0} cannot be {1}: its default counts.', name, value)),
  );
}
