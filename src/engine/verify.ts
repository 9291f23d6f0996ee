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
import { DECODE_TOKENS, Model } from './model.js';
import { RecallHeads } from './recall-heads.js';
import { KvmSession } from './session.js';
import { TextTokenizer } from './tokenizer.js';

const KEEP = { schedule: { kind: 'keepEverything' } } as const;

/** Logits float32 [n,V] of both graphs for a prompt. */
export interface CheckedLogits {
  readonly prefill: Float32Array;
  readonly decode: Float32Array;
}

/**
 * Logits of both graphs: the prompt in one pass, and token by token. The prompt must fit one chunk.
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
  // Two graphs loaded, the prompt in one pass, and its tokens.
  const total = 3 + prompt.length;
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
  const using = async (only: 'prefill' | 'decode', run: (session: KvmSession) => Promise<Float32Array>) => {
    const model = await Model.loadGraphs(folder, draft, { threads: 2, only });
    try {
      step();
      return await run(await KvmSession.start(model, KEEP));
    } finally {
      await model.dispose();
    }
  };
  // A prompt so short that a session takes it with the decode graph.
  const whole = prompt.length <= DECODE_TOKENS ? 'decode' : 'prefill';
  const prefill = await using(whole, async session => (await session.pass(prompt, { logitRows: rows })).logits.slice());
  step();
  const decode = await using('decode', async session => {
    const logits = new Float32Array(prompt.length * vocabulary);
    for (const row of rows) {
      logits.set((await session.pass([prompt[row]!], { logitRows: [0] })).logits, row * vocabulary);
      step();
    }
    return logits;
  });
  return { prefill, decode };
}
