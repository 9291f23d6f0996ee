/**
 * The tiny models that most tests of the engine need, converted once for all of them. One thread: these models are too
 * small for two. Never to be changed by a test: what a test alters, it loads for itself.
 */
import type { Disposable } from '../../src/base/index.js';
import { openEngine } from '../../src/engine/index.js';
import type { Engine } from '../../src/engine/index.js';
import { Model } from '../../src/engine/model.js';
import { TinyFolder } from './tiny-engine.js';
import { tinyTextModel } from './tiny-text-model.js';

const folder = new TinyFolder();
const opened: Disposable[] = [];
let llama: Promise<Model> | undefined;
let text: Promise<string> | undefined;

suiteTeardown(async () => {
  for (const one of opened) await one.dispose();
  await folder.dispose();
});

/** The llama variant, read as `tinyReading` says. */
export function sharedLlama(): Promise<Model> {
  llama ??= folder.model('llama').then(({ path }) => loadModel(path));
  return llama;
}

/** Folder of the model that reads text (tiny-text-model.ts). */
export function sharedTextModel(): Promise<string> {
  text ??= tinyTextModel(folder).then(({ path }) => path);
  return text;
}

/** A model of one's own, disposed at the end. */
export async function loadModel(path: string): Promise<Model> {
  const model = await Model.load(path, { threads: 1 });
  opened.push(model);
  return model;
}

/** An engine of one's own in this process, disposed at the end. */
export async function openShared(): Promise<Engine> {
  const engine = await openEngine(await sharedTextModel(), { threads: 1 });
  opened.push(engine);
  return engine;
}
