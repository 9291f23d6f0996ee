/**
 * The real backend: one engine for the server's life, started when first needed and again after it broke, and one memory
 * per workspace folder, opened at its first request. Knows nothing of LSP.
 */
import { realpath } from 'node:fs/promises';
import { ask } from '../assist/index.js';
import { LongviewError, type Log } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { openWorkspaceMemory, type WorkspaceMemory } from '../memory/index.js';
import { dataFolder, findModel, installModel, modelOffer } from '../models/index.js';
import type { ModelReply, ServerOptions } from '../protocol/index.js';
import type { Backend } from './backend.js';

export function openLiveBackend(options: ServerOptions, log: Log): Backend {
  const data = options.data ?? dataFolder();
  const memories = new Map<string, Promise<WorkspaceMemory>>();
  let starting: Promise<Engine> | undefined;

  const engine = async (): Promise<Engine> => {
    starting ??= start(data, options, log);
    try {
      return await starting;
    } catch (error) {
      starting = undefined; // The next request tries again, e.g. after the model was installed.
      throw error;
    }
  };

  const open = async (folder: string): Promise<WorkspaceMemory> => {
    const root = await realpath(folder).catch(() => {
      throw new LongviewError('not-found', `There is no folder ${folder}`);
    });
    let memory = memories.get(root);
    if (!memory) {
      // Without a model yet, what is remembered can still be looked at and forgotten.
      const model = await findModel(data, options.model).catch(() => undefined);
      memory = openWorkspaceMemory({ root, data, engine, model: model?.description, log });
      memories.set(root, memory);
      memory.catch(() => memories.delete(root));
    }
    return memory;
  };

  const offer = async (): Promise<ModelReply> => modelOffer(data, options.model);

  return {
    status: async (root, { signal, onProgress }) => {
      const memory = await open(root);
      await memory.scan({ signal, onProgress });
      return memory.status();
    },
    read: async (root, { signal, onProgress }) => (await open(root)).refresh({ signal, onProgress }),
    ask: async (root, question, { signal, onProgress, onRecalled, onText }) => {
      const memory = await open(root);
      return ask(
        { memory, engine: await engine(), ...question },
        {
          signal,
          onProgress,
          onText,
          // The text of the places stays here: the client links to it.
          onRecalled: spans =>
            onRecalled(spans.map(({ path, startLine, endLine, score }) => ({ path, startLine, endLine, score }))),
        },
      );
    },
    forget: async (root, path, { signal, onProgress }) => {
      const memory = await open(root);
      await (path === undefined ? memory.forgetAll() : memory.forget(path, { signal, onProgress }));
    },
    model: offer,
    installModel: async ({ signal, onProgress }) => {
      const { runGraphs } = await import('../engine/index.js');
      await installModel(data, options.model, { run: runGraphs, signal, onProgress, log });
      return offer();
    },
    dispose: async () => {
      for (const memory of memories.values()) await (await memory.catch(() => undefined))?.dispose();
      await (await starting?.catch(() => undefined))?.dispose();
    },
  };
}

/** The engine's room is loaded only here and for an installation: where onnxruntime cannot be loaded, the server still runs. */
async function start(data: string, options: ServerOptions, log: Log): Promise<Engine> {
  const model = await findModel(data, options.model);
  const { startEngine } = await import('../engine/index.js');
  return startEngine({ modelFolder: model.folder, threads: options.threads, log });
}
