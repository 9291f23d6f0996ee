/** The real backend: every part of it over one house (live-house.ts). Knows nothing of LSP. */
import { realpath } from 'node:fs/promises';
import { ask, withoutText } from '../assist/index.js';
import type { Log } from '../base/index.js';
import { hasMemory } from '../memory/index.js';
import type { ServerOptions } from '../protocol/index.js';
import type { AskBackend, Backend, MemoryBackend } from './backend.js';
import { chatBackend, recallBackend } from './live-chat.js';
import { LiveHouse } from './live-house.js';
import { modelBackend } from './live-models.js';
import { recallAtBackend } from './live-recall-at.js';
import { summarizeBackend } from './live-summaries.js';

/** `notice` is told what the user is to see; where nothing is given, the log is. */
export function openLiveBackend(options: ServerOptions, log: Log, notice?: (message: string) => void): Backend {
  const house = new LiveHouse(options, log, notice ?? (message => log('warning', message)));
  return {
    ...memoryBackend(house),
    ...askBackend(house),
    ...summarizeBackend(house),
    ...recallBackend(house),
    ...chatBackend(house),
    ...recallAtBackend(house),
    ...modelBackend(house),
    dispose: () => house.dispose(),
  };
}

function memoryBackend(house: LiveHouse): MemoryBackend {
  return {
    status: async (root, { signal, onProgress }) => {
      const memory = await house.memory(root);
      await memory.scan({ signal, onProgress });
      return memory.status();
    },
    files: async root => {
      const memory = await house.memory(root);
      return { files: memory.files(), status: memory.status() };
    },
    freshness: async (root, path) => {
      const file = (await house.memory(root)).file(path);
      return file === undefined ? {} : { file };
    },
    read: async (root, { walk, state, forgotten, cpuShare }, { signal, onProgress }) => {
      const memory = await house.memory(root);
      const report = await memory.refresh({ walk, state, forgotten, cpuShare, signal, onProgress });
      return { ...report, coverage: memory.coverage() };
    },
    lookAt: async (root, paths, signal) => {
      // A folder that nobody had read gets no store because a file in it changed.
      const real = await realpath(root).catch(() => undefined);
      if (real === undefined || !hasMemory(house.data, real)) return { changes: 0, waiting: 0 };
      return (await house.memory(root)).lookAt(paths, { signal });
    },
    forget: async (root, path, { signal, onProgress }) => {
      const memory = await house.memory(root);
      await (path === undefined ? memory.forgetAll() : memory.forget(path, { signal, onProgress }));
    },
    exportMemory: async (root, file, { signal, onProgress }) =>
      (await house.memory(root)).exportTo(file, { replace: true, signal, onProgress }),
    importMemory: async (root, files, { signal, onProgress }) =>
      (await house.memory(root)).importFrom(files, { signal, onProgress }),
  };
}

function askBackend(house: LiveHouse): AskBackend {
  return {
    ask: async (root, question, { signal, onProgress, onRecalled, onText }) => {
      const memory = await house.memory(root);
      // Reading goes on beside the question; the coverage in the answer says how far it is.
      const now = question.now || memory.isReading;
      return ask(
        { memory, engine: await house.engine(), ...question, now },
        {
          signal,
          onProgress,
          onText,
          // The text of the places stays here: the client links to it.
          onRecalled: spans => onRecalled(spans.map(withoutText)),
        },
      );
    },
  };
}
