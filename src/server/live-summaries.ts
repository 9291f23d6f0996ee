/** Summaries, over the house. A path that a client names is looked up in the memory, never on the disk. */
import { commitOf, summarize, summaryCoverageLine } from '../assist/index.js';
import type { Summarizer } from './backend.js';
import type { LiveHouse } from './live-house.js';

export function summarizeBackend(house: LiveHouse): Summarizer {
  return {
    summarize: async (root, { target, maxSentences }, work) => {
      const memory = await house.memory(root);
      const { summary, notes, coverage, timing, model } = await summarize(
        { memory, engine: await house.engine(), target, maxSentences },
        work,
      );
      return { summary, notes, coverage: memory.coverage(), basis: summaryCoverageLine(coverage), timing, model };
    },
    commitOf,
  };
}
