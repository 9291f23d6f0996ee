/**
 * The models of this machine in the editor: choose one, get one (after consent), import one from a file.
 * The server does the work; nothing is downloaded without a yes.
 */
import * as vscode from 'vscode';
import { method, type ModelsReply } from '../protocol/index.js';
import { command, section, setting } from './ids.js';
import { ensureModel, install, megabytes } from './model-consent.js';
import { userCommand, type Services } from './services.js';
import type { ServerClient } from './server-client.js';

export class Models {
  constructor(private readonly client: ServerClient) {}

  /** True when the chosen model is installed, be it by now. `consent`: the user has agreed to the download already. */
  ensure(consent = false): Promise<boolean> {
    return ensureModel(this.client, consent);
  }

  list(): Promise<ModelsReply> {
    return this.client.request(method.models, {}, new vscode.CancellationTokenSource().token);
  }

  /** Makes a model the one that reads and answers, in all windows. */
  async choose(name: string): Promise<void> {
    await vscode.workspace.getConfiguration(section).update(setting.modelName, name, vscode.ConfigurationTarget.Global);
  }

  /** Converts a checkpoint on this disk and chooses it. */
  async importFrom(path: string): Promise<string> {
    const { name } = await install(this.client, { from: path }, vscode.l10n.t('Importing the model'));
    await this.choose(name);
    return name;
  }
}

export function activateModels(services: Services): vscode.Disposable {
  return vscode.Disposable.from(
    userCommand(services, command.chooseModel, () => chooseModel(services)),
    userCommand(services, command.importModel, (given?: vscode.Uri) => importModel(services, given)),
  );
}

interface ModelItem extends vscode.QuickPickItem {
  readonly name?: string;
}

async function chooseModel({ models }: Services): Promise<void> {
  const { models: known } = await models.list();
  const current = vscode.workspace.getConfiguration(section).get<string>(setting.modelName)?.trim();
  const items: ModelItem[] = known.map(model => ({
    name: model.name,
    label: model.name,
    description: isCurrent(model, current) ? vscode.l10n.t('current') : undefined,
    detail:
      model.problem ??
      (model.installed
        ? vscode.l10n.t('installed, {0} MB on disk. License: {1}', megabytes(model.diskBytes), model.license)
        : vscode.l10n.t('{0} MB to download from {1}', megabytes(model.downloadBytes), model.source)),
  }));
  const importing: ModelItem = { label: vscode.l10n.t('Import Model from File…') };
  const chosen = await vscode.window.showQuickPick([...items, importing], {
    title: vscode.l10n.t('Choose the model that reads and answers'),
    placeHolder: vscode.l10n.t('Memories are kept for each model: one that was used before finds its own again.'),
  });
  if (!chosen) return;
  if (chosen.name === undefined) {
    await vscode.commands.executeCommand(command.importModel);
    return;
  }
  await models.choose(chosen.name);
  await models.ensure();
}

function isCurrent(model: ModelsReply['models'][number], current: string | undefined): boolean {
  return current === undefined || current === '' ? model.isDefault : model.name === current;
}

/** Resolves with the model's name, or undefined when the user stepped back. */
async function importModel({ models }: Services, given?: vscode.Uri): Promise<string | undefined> {
  const [file] = given
    ? [given]
    : ((await vscode.window.showOpenDialog({
        title: vscode.l10n.t('Import Model from File…'),
        canSelectFolders: false,
        filters: { [vscode.l10n.t('Checkpoints')]: ['gguf', 'safetensors'] },
      })) ?? []);
  if (!file) return undefined;
  const name = await models.importFrom(file.fsPath);
  void vscode.window.showInformationMessage(vscode.l10n.t('Model {0} is installed and chosen.', name));
  return name;
}
