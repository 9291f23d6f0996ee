/** Mean negative log likelihood of a text's later tokens under a schedule: the measure of retrofit.md's tables. */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { LossOptions, Schedule } from './engine.js';
import type { Model } from './model.js';
import { KvmSession, prefill } from './session.js';
import type { TextTokenizer } from './tokenizer.js';

/** Nats per token over tokens `from`.. of the first `limit`. Throws `usage` where the text has none of those. */
export async function measureLoss(
  model: Model,
  tokenizer: TextTokenizer,
  text: string,
  options: LossOptions,
): Promise<{ loss: number; tokens: number }> {
  const ids = [...tokenizer.encode(text).ids.subarray(0, options.limit)];
  const wanted = options.schedule ?? model.manifest.kvm.trained?.schedule ?? { kind: 'keepEverything' };
  const full = wanted.kind === 'full';
  const schedule: Schedule = wanted.kind === 'full' ? { kind: 'keepEverything' } : wanted;
  const windowChunks = full ? Math.ceil(ids.length / model.manifest.kvm.chunk) + 1 : options.windowChunks;
  const session = await KvmSession.start(model, { schedule, readDistance: options.readDistance, windowChunks });
  const { vocabulary } = model.manifest.architecture;
  let sum = 0;
  let counted = 0;
  await prefill(
    session,
    ids,
    // Row r gives the logits of token first + r + 1.
    (first, count) => ({ logitRows: rowsFrom(Math.max(0, options.from - 1 - first), count) }),
    (pass, first, count) => {
      throwIfCancelled(options.signal);
      const rows = rowsFrom(Math.max(0, options.from - 1 - first), count);
      rows.forEach((row, i) => {
        const target = ids[first + row + 1];
        if (target === undefined) return;
        sum -= logProbability(pass.logits.subarray(i * vocabulary, (i + 1) * vocabulary), target);
        counted++;
      });
      options.onProgress?.(first + count);
    },
  );
  if (counted === 0) throw new LongviewError('usage', `The text has no token after number ${options.from}.`);
  return { loss: sum / counted, tokens: counted };
}

function rowsFrom(first: number, count: number): number[] {
  return Array.from({ length: Math.max(0, count - first) }, (_, i) => first + i);
}

/** Of a token, from logits [V]. */
export function logProbability(logits: Float32Array, token: number): number {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - largest);
  return logits[token]! - largest - Math.log(total);
}
