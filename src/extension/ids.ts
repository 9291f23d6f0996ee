/** Every name that the manifest (package.json) and the code share. */

export const command = {
  ask: 'longview.ask',
  showLog: 'longview.showLog',
} as const;

export const setting = {
  modelName: 'model.name',
  dataFolder: 'storage.folder',
  threads: 'engine.threads',
} as const;

/** Section of all settings. */
export const section = 'longview';

/** URI scheme of the read-only documents that hold an answer. */
export const answerScheme = 'longview-answer';
