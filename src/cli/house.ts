/**
 * What a command opens: the model, the engine in its own process, the memory of a folder; and how it closes them.
 * The engine starts when it is first needed: looking at a memory and forgetting never load a model.
 */
import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { LongviewError, codeOf, type Disposable } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { budgetsOf, openWorkspaceMemory, type UserBudgets, type WorkspaceMemory } from '../memory/index.js';
import { dataFolder, findModel, probesFile, type InstalledModel } from '../models/index.js';
import type { Surface } from './surface.js';

/** One call of the command line: where it speaks, and what stops it. */
export interface Call {
  readonly surface: Surface;
  readonly signal: AbortSignal;
}

/** Budgets: of commands that have them. */
export interface GlobalFlags extends UserBudgets {
  readonly data?: string;
  readonly model?: string;
  readonly threads?: number;
  readonly provider?: string;
  readonly json?: boolean;
}

export interface House extends Disposable {
  readonly memory: WorkspaceMemory;
  readonly engine: () => Promise<Engine>;
}

/** The data folder of a call. Throws `usage` for an empty name, as of a variable that is not set: it would be the current folder. */
export function dataOf(flags: GlobalFlags): string {
  if (flags.data === '') throw new LongviewError('usage', 'The data folder is empty: name one, or leave out --data.');
  return flags.data === undefined ? dataFolder() : resolve(flags.data);
}

/** Absolute real path of a folder that exists; otherwise an error that says which path is wrong. */
export function folderOf(dir: string): string {
  if (dir === '') throw new LongviewError('usage', 'The folder is empty: name one, or . for this one.');
  const path = resolve(dir);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) throw new LongviewError('not-found', `There is no folder ${path}`);
  if (!stat.isDirectory()) throw new LongviewError('not-found', `${path} is a file; name the folder it is in.`);
  return realpathSync(path);
}

/** Runs `work` with the memory of a folder and closes everything after it, however it ends. */
export async function withHouse<T>(
  call: Call,
  root: string,
  flags: GlobalFlags,
  work: (house: House) => Promise<T>,
): Promise<T> {
  const house = await openHouse(call, root, flags);
  try {
    return await work(house);
  } finally {
    await house.dispose();
  }
}

async function openHouse(call: Call, root: string, flags: GlobalFlags): Promise<House> {
  const { log } = call.surface;
  const data = dataOf(flags);
  const model = await installedModel(data, flags.model);
  let starting: Promise<Engine> | undefined;
  const engine = (): Promise<Engine> => (starting ??= start(data, flags, call));
  const settings = budgetsOf(flags);
  const memory = await openWorkspaceMemory({
    root,
    data,
    engine,
    model: model?.description,
    settings,
    log,
  });
  return {
    memory,
    engine,
    dispose: async () => {
      await memory.dispose();
      const running = await starting?.catch(() => undefined);
      await running?.dispose();
    },
  };
}

async function start(data: string, flags: GlobalFlags, { surface, signal }: Call): Promise<Engine> {
  const { log } = surface;
  const model = await findModel(data, flags.model);
  const { startEngine } = await import('../engine/index.js');
  const { threads, provider } = flags;
  const probes = probesFile(data);
  const engine = await startEngine({ modelFolder: model.folder, threads, provider, probes, log, signal });
  const { name, reason } = engine.model.provider;
  // One that was asked for and isn't used is worth a warning.
  const differs = provider !== undefined && provider !== 'auto' && provider !== name;
  log(differs ? 'warning' : 'info', `Execution provider: ${name} (${reason}).`);
  if (engine.model.recall.keyHeadOf.length === 0) {
    log('warning', `Model ${model.name} has no recall heads: places are found by the words of the question alone.`);
  }
  return engine;
}

/** Undefined where there is none yet: looking at a memory needs no model. */
async function installedModel(data: string, name: string | undefined): Promise<InstalledModel | undefined> {
  try {
    return await findModel(data, name);
  } catch (error) {
    if (codeOf(error) === 'not-found' && name === undefined) return undefined;
    throw error;
  }
}
