/**
 * The queries of some heads while the model reads a question in its template (recall.md). Never maps or scores them.
 */
import { throwIfCancelled } from '../base/index.js';
import type { CallOptions } from './engine.js';
import type { RecallSettings } from './graph-contract.js';
import type { Model } from './model.js';
import { KvmSession, prefill } from './session.js';
import type { TextTokenizer } from './tokenizer.js';

/** A question is read up to this many tokens. */
const QUESTION_TOKENS = 384;

/** Un-rotated rows from the question's first token to the prompt's end (as the fit has them), per head float32 [R,d]. */
export async function questionQueries(
  model: Model,
  tokenizer: TextTokenizer,
  heads: readonly (readonly [layer: number, head: number])[],
  { before, after }: Pick<RecallSettings, 'before' | 'after'>,
  question: string,
  options: CallOptions = {},
): Promise<Float32Array[]> {
  const special = { special: true } as const;
  const asked = tokenizer.encode(question).ids.slice(0, QUESTION_TOKENS);
  const text = tokenizer.decode(asked);
  // One text, so that the question's first word has its own space; in parts only where it holds what looks like a
  // control token, which stays text.
  const ids = tokenizer.holdsAddedToken(text)
    ? [...tokenizer.encode(before, special).ids, ...asked, ...tokenizer.encode(after, special).ids]
    : [...tokenizer.encode(before + text + after, special).ids];
  const first = Math.min(tokenizer.encode(before, special).ids.length, ids.length);
  return headQueries(model, ids, first, heads, options);
}

/** Un-rotated queries of the tokens from position `first` on, each read with all tokens before it; per head float32 [R,d]. */
export async function headQueries(
  model: Model,
  ids: readonly number[],
  first: number,
  heads: readonly (readonly [layer: number, head: number])[],
  options: CallOptions = {},
): Promise<Float32Array[]> {
  const { headSize } = model.manifest.architecture;
  const rows = heads.map(() => new Float32Array((ids.length - first) * headSize));
  const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
  const queryLayers = [...new Set(heads.map(([layer]) => layer))];
  await prefill(
    session,
    ids,
    () => ({ logitRows: [], queryLayers }),
    (pass, start, count) => {
      throwIfCancelled(options.signal);
      heads.forEach(([layer, head], i) => {
        const queries = pass.queries.get(layer)!;
        for (let token = Math.max(first, start); token < start + count; token++) {
          const row = (head * count + token - start) * headSize;
          rows[i]!.set(queries.subarray(row, row + headSize), (token - first) * headSize);
        }
      });
    },
  );
  return rows;
}
