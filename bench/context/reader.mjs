// The installed model, and what `npm run bench -- context` asks of it.
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';
import { measure, promptsOf } from './measure.mjs';
import { measureRecalled } from './recalled.mjs';

const built = path => import(join(root, 'out/src', path));
const { Model } = await built('engine/model.js');
const { loadTokenizer } = await built('engine/token-counter.js');

export async function openReader(folder, threads) {
  const model = await Model.load(folder, { threads });
  const tokenizer = await loadTokenizer(folder, model.manifest.name);
  const cache = new Map();
  return {
    fingerprint: model.manifest.fingerprint,
    name: model.manifest.name,
    count: text => {
      if (!cache.has(text)) cache.set(text, tokenizer.count(text));
      return cache.get(text);
    },
    prompts: document => promptsOf(tokenizer, document),
    measure: (document, prompts, schedule, onProgress) =>
      schedule.recalled
        ? measureRecalled(model, tokenizer, document, onProgress)
        : measure(model, tokenizer, prompts, schedule, onProgress),
    dispose: () => model.dispose(),
  };
}
