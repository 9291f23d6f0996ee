/**
 * Negative log likelihood, in nats: of a text's later tokens under a schedule (the measure of retrofit.md's tables), and of a
 * continuation after each of several texts. Never writes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { CallOptions, LossOptions, Schedule } from './engine.js';
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
  const { sum, counted } = await lossFrom(model, session, ids, options.from, options);
  if (counted === 0) throw new LongviewError('usage', `The text has no token after number ${options.from}.`);
  return { loss: sum / counted, tokens: counted };
}

/**
 * Float32 [texts]: nats of the continuation after each text. Nothing is merged, so texts should fit the window. What is
 * counted begins where the tokens of text and continuation together stop being those of the text.
 */
export async function lossAfter(
  model: Model,
  tokenizer: TextTokenizer,
  texts: readonly string[],
  continuation: string,
  options: CallOptions = {},
): Promise<Float32Array> {
  const losses = new Float32Array(texts.length);
  let done = 0;
  for (const [at, text] of texts.entries()) {
    const ids = [...tokenizer.encode(text + continuation).ids];
    const own = tokenizer.encode(text).ids;
    let from = 0;
    while (from < own.length && ids[from] === own[from]) from++;
    const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
    losses[at] = (await lossFrom(model, session, ids, Math.max(1, from), { signal: options.signal })).sum;
    done += ids.length;
    options.onProgress?.(done);
  }
  return losses;
}

/** Nats of the tokens `from`.. (at least 1), summed, and how many they are. */
async function lossFrom(
  model: Model,
  session: KvmSession,
  ids: readonly number[],
  from: number,
  { signal, onProgress }: CallOptions,
): Promise<{ sum: number; counted: number }> {
  const { vocabulary } = model.manifest.architecture;
  let sum = 0;
  let counted = 0;
  // Row r gives the logits of token first + r + 1.
  const rowsOf = (first: number, count: number): number[] => rowsFrom(Math.max(0, from - 1 - first), count);
  await prefill(
    session,
    ids,
    (first, count) => ({ logitRows: rowsOf(first, count) }),
    async (pass, first, count) => {
      // A cancellation that has arrived is seen between chunks.
      await nextTurn();
      throwIfCancelled(signal);
      rowsOf(first, count).forEach((row, i) => {
        const target = ids[first + row + 1];
        if (target === undefined) return;
        sum -= logProbability(pass.logits.subarray(i * vocabulary, (i + 1) * vocabulary), target);
        counted++;
      });
      onProgress?.(first + count);
    },
  );
  return { sum, counted };
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
