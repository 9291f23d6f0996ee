/** Where Longview keeps things for the user: one folder, whatever the workspace. Creates nothing. */
import { join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { LongviewError } from '../base/index.js';
import { isModelName } from './catalogue.js';

/** `LONGVIEW_DATA`, or the system's place for application data. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  const chosen = env['LONGVIEW_DATA'];
  return chosen === undefined || chosen === '' ? envPaths('longview', { suffix: '' }).data : resolve(chosen);
}

export function modelsFolder(data: string): string {
  return join(data, 'models');
}

/** Folder of an installed model. Throws `usage` for a name that could leave the models' folder. */
export function modelFolder(data: string, name: string): string {
  return join(modelsFolder(data), checkedName(name));
}

/** Where a model's downloads wait, complete or not, until it is installed. */
export function downloadFolder(data: string, name: string): string {
  return join(data, 'downloads', checkedName(name));
}

/** The name itself. Throws `usage` for what cannot be one, saying what can. */
export function checkedName(name: string): string {
  if (isModelName(name)) return name;
  throw new LongviewError(
    'usage',
    `${JSON.stringify(name.slice(0, 80))} is not a model name: take up to 64 of a-z, 0-9, dot, dash and underscore, a letter or digit first.`,
  );
}

/** What execution providers' probes gave on this machine (engine/process/choose-apart.ts). */
export function probesFile(data: string): string {
  return join(data, 'providers.json');
}
