/**
 * What the live parts of the backend share: one engine for the server's life, started when first needed and again after it
 * broke, and one memory per workspace folder, opened at its first request. Knows nothing of LSP.
 */
import { realpath } from 'node:fs/promises';
import { LongviewError, throwIfCancelled, type Disposable, type Log } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { budgetsOf, openWorkspaceMemory, type WorkspaceMemory } from '../memory/index.js';
import { dataFolder, findModel, probesFile } from '../models/index.js';
import type { ServerOptions } from '../protocol/index.js';

export class LiveHouse implements Disposable {
  readonly data: string;
  private readonly memories = new Map<string, Promise<WorkspaceMemory>>();
  private starting: Promise<Engine> | undefined;
  private running: Engine | undefined;
  /** Aborted at the end: what still comes opens and starts nothing. */
  private readonly closing = new AbortController();

  constructor(
    readonly options: ServerOptions,
    readonly log: Log,
    private readonly notice: (message: string) => void,
  ) {
    this.data = options.data ?? dataFolder();
  }

  /** Throws `not-found` where no model is installed. */
  readonly engine = async (): Promise<Engine> => {
    throwIfCancelled(this.closing.signal);
    this.starting ??= this.start();
    try {
      return await this.starting;
    } catch (error) {
      this.starting = undefined; // The next request tries again, e.g. after the model was installed.
      throw error;
    }
  };

  /** The engine if it was started. */
  get started(): Engine | undefined {
    return this.running;
  }

  async memory(folder: string): Promise<WorkspaceMemory> {
    const root = await realpath(folder).catch(() => {
      throw new LongviewError('not-found', `There is no folder ${folder}`);
    });
    let memory = this.memories.get(root);
    if (!memory) {
      // Without a model yet, what is remembered can still be looked at and forgotten.
      const model = await findModel(this.data, this.options.model).catch(() => undefined);
      throwIfCancelled(this.closing.signal);
      const { data, engine, log } = this;
      const settings = budgetsOf(this.options);
      memory = openWorkspaceMemory({ root, data, engine, model: model?.description, settings, log });
      this.memories.set(root, memory);
      memory.catch(() => this.memories.delete(root));
    }
    return memory;
  }

  async dispose(): Promise<void> {
    this.closing.abort();
    for (const memory of this.memories.values()) await (await memory.catch(() => undefined))?.dispose();
    await (await this.starting?.catch(() => undefined))?.dispose();
  }

  /** The engine's room is loaded only here and for an installation: where onnxruntime cannot be loaded, the server still runs. */
  private async start(): Promise<Engine> {
    const model = await findModel(this.data, this.options.model);
    const { startEngine } = await import('../engine/index.js');
    const { threads, provider } = this.options;
    const { signal } = this.closing;
    const probes = probesFile(this.data);
    const how = { threads, provider, probes, belowNormal: true, log: this.log, signal };
    const engine = await startEngine({ modelFolder: model.folder, ...how });
    const { name, reason } = engine.model.provider;
    this.log('info', `Execution provider: ${name} (${reason}).`);
    const differs = provider !== undefined && provider !== 'auto' && provider !== name;
    if (differs) this.notice(`The model runs on ${name}: ${reason}`);
    this.running = engine;
    return engine;
  }
}
