/** What the user's settings say, for every process that is started and for reading. */
import * as vscode from 'vscode';
import type { ServerOptions } from '../protocol/index.js';
import { section } from './ids.js';
import { cpuShareOf, optionsOf, type GetSetting, type OnBadSetting } from './setting-values.js';

/** `notice` is told what the user is to see. */
export function serverOptions(notice: Notice): ServerOptions {
  return optionsOf(...source(notice));
}

/** Percent of the machine's processor time that reading may take; undefined: all. */
export function cpuShare(notice: Notice): number | undefined {
  return cpuShareOf(...source(notice));
}

type Notice = (message: string) => void;

function source(notice: Notice): [GetSetting, OnBadSetting] {
  const settings = vscode.workspace.getConfiguration(section);
  return [
    name => settings.get(name),
    ({ name, value }) => notice(vscode.l10n.t('The setting {0} cannot be {1}: its default counts.', name, value)),
  ];
}
