/** The distant definitions of an identifier, answered while other work runs: what is not ready in time is answered without. */
import { realpath } from 'node:fs/promises';
import { recallAt, type RecalledDefinition } from '../assist/index.js';
import { LongviewError } from '../base/index.js';
import { hasMemory } from '../memory/index.js';
import type { DefinitionCandidate, RecallAtReply } from '../protocol/index.js';
import type { RecallAtBackend } from './backend.js';
import type { LiveHouse } from './live-house.js';

/** A hover stays under 300 ms. The model is not asked: among definitions of one name it chose no better than chance (docs/measurements). */
const patienceMs = { list: 1500, model: 0 };

const nothing: RecallAtReply = {
  candidates: [],
  certainty: 'none',
  how: 'no file of this folder has been read yet',
  filesRead: 0,
};

export function recallAtBackend(house: LiveHouse): RecallAtBackend {
  return {
    recallAt: async (root, { path, identifier, before, languageId }, signal) => {
      if (identifier === '' || !before.endsWith(identifier)) {
        throw new LongviewError('usage', 'The text before must end with the identifier.');
      }
      // A folder that nobody had read gets no store because someone looked at a name.
      const real = await realpath(root).catch(() => root);
      if (!hasMemory(house.data, real)) return nothing;
      const memory = await house.memory(root);
      const found = await recallAt({ memory, path, identifier, before, languageId }, { signal, patienceMs });
      const candidates = found.candidates.map(withoutText);
      return { ...found, candidates };
    },
  };
}

/** The whole text stays here: the client opens the file. */
function withoutText(found: RecalledDefinition): DefinitionCandidate {
  const { path, startLine, endLine, score, name, signature, documentation, languageId } = found;
  const candidate = { path, startLine, endLine, score, name, signature, languageId };
  return documentation === undefined ? candidate : { ...candidate, documentation };
}
