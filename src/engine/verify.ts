/**
 * Runs a freshly written model on a prompt, so that the converter can compare it with its float oracle. Never holds more
 * than one form of the forward pass: each has the weights in memory.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { FILES } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';
import { int8ProductsAreExact } from './int8-products.js';
import type { GraphRole } from './model.js';
import { DECODE_TOKENS, Model } from './model.js';
import { RecallHeads } from './recall-heads.js';
import { KvmSession } from './session.js';
import { TextTokenizer } from './tokenizer.js';

const KEEP = { schedule: { kind: 'keepEverything' } } as const;

/** Logits float32 [n,V] of a prompt by each graph that makes them. */
export interface CheckedLogits {
  readonly prefill: Float32Array;
  readonly prefillInt8?: Float32Array;
  readonly decode: Float32Array;
}

/**
 * Logits of all graphs: the prompt in one pass, by int8 layers too where they would be used, and token by token. The prompt must
 * fit one chunk.
 * The tokenizer and the recall values, where there are any, are loaded as the engine will load them.
 * Throws `cancelled`, at the latest after one load of a graph, and what loading throws.
 */
export async function runGraphs(
  folder: string,
  draft: Manifest,
  prompt: readonly number[],
  signal?: AbortSignal,
  onProgress?: ProgressListener,
): Promise<CheckedLogits> {
  const int8 =
    prompt.length > DECODE_TOKENS &&
    draft.files.some(file => file.name === FILES.prefillInt8) &&
    (await int8ProductsAreExact());
  // Graphs loaded, the prompt in one pass of all but the last, and its tokens.
  const total = (int8 ? 5 : 3) + prompt.length;
  let done = -1;
  const step = (): void => {
    throwIfCancelled(signal);
    onProgress?.({ task: 'Running the check of the conversion', done: ++done, total, unit: 'steps' });
  };
  step();
  if (draft.files.some(file => file.name === FILES.tokenizer)) {
    const json = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as unknown;
    TextTokenizer.load(await json(FILES.tokenizer), await json(FILES.tokenizerConfig));
  }
  if (draft.files.some(file => file.name === FILES.recall)) await RecallHeads.load(folder, draft);
  const vocabulary = draft.architecture.vocabulary;
  const rows = prompt.map((_, row) => row);
  const using = async (only: GraphRole, run: (session: KvmSession) => Promise<Float32Array>) => {
    const model = await Model.loadGraphs(folder, draft, { threads: 2, only });
    try {
      step();
      return await run(await KvmSession.start(model, KEEP));
    } finally {
      await model.dispose();
    }
  };
  const inOnePass = async (role: GraphRole): Promise<Float32Array> => {
    const logits = await using(role, async session => (await session.pass(prompt, { logitRows: rows })).logits.slice());
    step();
    return logits;
  };
  // Of a prompt so short that a session takes it with the decode graph.
  const isShort = prompt.length <= DECODE_TOKENS;
  const prefill = await inOnePass(isShort ? 'decode' : 'prefill');
  const prefillInt8 = int8 ? await inOnePass('prefillInt8') : undefined;
  const decode = await using('decode', async session => {
    const logits = new Float32Array(prompt.length * vocabulary);
    for (const row of rows) {
      logits.set((await session.pass([prompt[row]!], { logitRows: [0] })).logits, row * vocabulary);
      step();
    }
    return logits;
  });
  return { prefill, ...(prefillInt8 && { prefillInt8 }), decode };
}
