/**
 * The queries of the recall heads at the last token of a text: how the model would look up the name it has just read.
 * No query map is applied: the maps were fitted for questions in words. Never scores keys.
 */
import { throwIfCancelled } from '../base/index.js';
import type { CallOptions } from './engine.js';
import type { Model } from './model.js';
import type { RecallHeads } from './recall-heads.js';
import { prefixStart } from './reader.js';
import { rotateRows, rotationOf } from './rotary.js';
import { KvmSession, prefill } from './session.js';
import type { TextTokenizer } from './tokenizer.js';

/** A token has fewer characters than this, nearly always. */
const CHARACTERS_PER_TOKEN = 12;

export async function queriesAt(
  model: Model,
  tokenizer: TextTokenizer,
  heads: RecallHeads,
  text: string,
  tokens: number,
  options: CallOptions = {},
): Promise<Float32Array> {
  throwIfCancelled(options.signal);
  const { architecture, recall } = model.manifest;
  const { headSize, frequencies } = architecture;
  const own = tokenizer.encode(text.slice(-CHARACTERS_PER_TOKEN * tokens)).ids.slice(-tokens);
  // The fixed prefix holds the attention sinks.
  const ids = [...prefixStart(model, tokenizer), ...own];
  const out = new Float32Array(heads.queryHeads.length * headSize);
  const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
  const queryLayers = [...new Set(heads.queryHeads.map(([layer]) => layer))];
  await prefill(
    session,
    ids,
    () => ({ logitRows: [], queryLayers }),
    (pass, start, count) => {
      throwIfCancelled(options.signal);
      if (start + count < ids.length) return;
      heads.queryHeads.forEach(([layer, head], at) => {
        const row = (head * count + count - 1) * headSize;
        out.set(pass.queries.get(layer)!.subarray(row, row + headSize), at * headSize);
      });
    },
  );
  rotateRows(out, rotationOf(frequencies, recall?.queryPosition ?? 0, 1));
  return out.map(value => value / Math.sqrt(headSize));
}
