/** Runs a freshly written model on a prompt, so that the converter can compare it with its float oracle. */
import type { Manifest } from './graph-contract.js';
import { Model } from './model.js';
import { KvmSession } from './session.js';

/** Logits float32 [n,V] of both graphs: the prompt in one pass, and token by token. The prompt must fit one chunk. */
export async function runGraphs(
  folder: string,
  draft: Manifest,
  prompt: readonly number[],
): Promise<{ prefill: Float32Array; decode: Float32Array }> {
  const model = await Model.loadGraphs(folder, draft, { threads: 2 });
  try {
    const vocabulary = draft.architecture.vocabulary;
    const options = { schedule: { kind: 'keepEverything' } } as const;
    const whole = await KvmSession.start(model, options);
    const rows = prompt.map((_, row) => row);
    const prefill = (await whole.pass(prompt, { logitRows: rows })).logits;
    const decode = new Float32Array(prompt.length * vocabulary);
    const single = await KvmSession.start(model, options);
    for (const row of rows) {
      decode.set((await single.pass([prompt[row]!], { logitRows: [0] })).logits, row * vocabulary);
    }
    return { prefill, decode };
  } finally {
    await model.dispose();
  }
}
