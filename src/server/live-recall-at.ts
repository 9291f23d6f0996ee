/** The distant definitions of an identifier, answered while other work runs: what is not ready in time is answered without. */
import { recallAt } from '../assist/index.js';
import { LongviewError } from '../base/index.js';
import type { RecallAtBackend } from './backend.js';
import type { LiveHouse } from './live-house.js';

/** Together with the rest of a hover this stays under 300 ms; the list is complete after a first hover. */
const patienceMs = { list: 1500, model: 200 };

export function recallAtBackend(house: LiveHouse): RecallAtBackend {
  return {
    recallAt: async (root, { path, identifier, before }, signal) => {
      if (identifier === '' || !before.endsWith(identifier)) {
        throw new LongviewError('usage', 'The text before must end with the identifier.');
      }
      const memory = await house.memory(root);
      const found = await recallAt({ memory, path, identifier, before }, { signal, patienceMs });
      // The whole text stays here: the client opens the file.
      return { ...found, candidates: found.candidates.map(({ text: _, ...candidate }) => candidate) };
    },
  };
}
