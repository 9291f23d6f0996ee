/**
 * What agents and the editor's chat ask for: places with their exact text, and the model itself. Never writes answers about
 * a folder: that is `ask`.
 */
import { LongviewError } from '../base/index.js';
import { findModel } from '../models/index.js';
import type { ChatBackend, RecallBackend } from './backend.js';
import type { LiveHouse } from './live-house.js';

/** Most places of one call. */
const mostPlaces = 50;
/** As in `ask`: small models repeat themselves without it. */
const repetitionPenalty = 1.1;

export function recallBackend(house: LiveHouse): RecallBackend {
  return {
    recall: async (root, question, limit, { signal, onProgress }) => {
      if (question.trim() === '') throw new LongviewError('usage', 'The question is empty: write what to look for.');
      const memory = await house.memory(root);
      await memory.scan({ signal, onProgress });
      const places = await memory.recall(question, { limit: Math.min(limit, mostPlaces), signal, onProgress });
      return { places, coverage: memory.coverage() };
    },
  };
}

export function chatBackend(house: LiveHouse): ChatBackend {
  let counter: { readonly folder: string; readonly count: (text: string) => number } | undefined;
  return {
    generate: async ({ messages, maxTokens, temperature, stop }, { signal, onProgress, onText }) => {
      if (messages.length === 0) throw new LongviewError('usage', 'There is no message to answer.');
      const engine = await house.engine();
      const { text, promptTokens, writtenTokens, stopReason } = await engine.generate(
        { messages, maxTokens, temperature, repetitionPenalty, stop },
        {
          signal,
          onText,
          onProgress: done => onProgress({ task: 'Reading the conversation', done, unit: 'tokens' }),
        },
      );
      return { text, promptTokens, writtenTokens, stopReason };
    },
    countTokens: async text => {
      // Beside the engine, which is busy for minutes while it reads.
      const { folder } = await findModel(house.data, house.options.model);
      if (counter?.folder !== folder) {
        const { openTokenCounter } = await import('../engine/index.js');
        counter = { folder, count: await openTokenCounter(folder) };
      }
      return counter.count(text);
    },
  };
}
