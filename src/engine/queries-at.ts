/**
 * The queries of the recall heads at the last token of a text: how the model would look up the name it has just read.
 * No query map is applied: the maps were fitted for questions in words. Never scores keys.
 */
import { throwIfCancelled } from '../base/index.js';
import type { CallOptions } from './engine.js';
import type { Model } from './model.js';
import { headQueries } from './question-queries.js';
import type { RecallHeads } from './recall-heads.js';
import { prefixStart } from './reader.js';
import { rotateRows, rotationOf } from './rotary.js';
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
  const rows = await headQueries(model, ids, ids.length - 1, heads.queryHeads, options);
  const out = new Float32Array(rows.length * headSize);
  rows.forEach((row, at) => out.set(row, at * headSize));
  rotateRows(out, rotationOf(frequencies, recall?.queryPosition ?? 0, 1));
  return out.map(value => value / Math.sqrt(headSize));
}
