/** `longview ask`: an answer about a folder. What was recalled is said before the words; the checked answer goes to stdout. */
import { ask, recalledPlace } from '../../assist/index.js';
import { LongviewError } from '../../base/index.js';
import { createLiveText } from '../live-text.js';
import { folderOf, withHouse, type Call } from '../house.js';
import { ensureModel, type ConsentFlags } from '../model-consent.js';
import { count, duration } from '../text.js';

export interface AskFlags extends ConsentFlags {
  readonly now?: boolean;
  readonly maxTokens?: number;
}

export async function runAsk(call: Call, dir: string, question: string, flags: AskFlags): Promise<void> {
  const { surface, signal } = call;
  const root = folderOf(dir);
  if (question.trim() === '') throw new LongviewError('usage', 'The question is empty: write what you want to know.');
  await ensureModel(call, flags);
  const live = createLiveText(process.stderr);
  const result = await withHouse(call, root, flags, async ({ memory, engine }) => {
    try {
      return await ask(
        { memory, engine: await engine(), question, maxTokens: flags.maxTokens, now: flags.now },
        {
          signal,
          onProgress: surface.progress,
          onRecalled: spans => {
            if (spans.length > 0) surface.note(`Recalled: ${spans.map(recalledPlace).join(', ')}`);
          },
          onText: flags.json ? undefined : text => live.add(text),
        },
      );
    } finally {
      live.clear();
    }
  });
  const { timing } = result;
  if (timing.readTokens > 0) surface.note(`Read ${count(timing.readTokens)} tokens in ${duration(timing.readMs)}.`);
  if (flags.json) surface.json(result);
  else surface.out(`${result.answer}\n`);
}
