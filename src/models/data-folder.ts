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
  if (!isModelName(name)) throw new LongviewError('usage', `${JSON.stringify(name)} is not a model name.`);
  return join(modelsFolder(data), name);
}

/** Where a model's downloads wait, complete or not, until it is installed. */
export function downloadFolder(data: string, name: string): string {
  if (!isModelName(name)) throw new LongviewError('usage', `${JSON.stringify(name)} is not a model name.`);
  return join(data, 'downloads', name);
}
