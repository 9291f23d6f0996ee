/** What the user's settings say about models, for every process that is started. */
import * as vscode from 'vscode';
import type { ServerOptions } from '../protocol/index.js';
import { section, setting } from './ids.js';

export function serverOptions(): ServerOptions {
  const settings = vscode.workspace.getConfiguration(section);
  const text = (name: string): string | undefined => settings.get<string>(name)?.trim() || undefined;
  return {
    data: text(setting.dataFolder),
    model: text(setting.modelName),
    threads: settings.get<number>(setting.threads) || undefined,
    ram: settings.get<number>(setting.ram) || undefined,
    disk: settings.get<number>(setting.disk) || undefined,
    state: settings.get<number>(setting.state),
    provider: text(setting.provider),
  };
}
