/** The float oracle gives the figures of the authors' and Hugging Face's own code, within float32 noise. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckpoint, oracleLogits } from '../../src/convert/index.js';
import { assertClose, goldenPath, tensor } from '../oracle/golden.js';
import { readSafetensors } from '../reference/safetensors.js';
import { extraCases, golden, goldenFolder, mainCases } from './golden-folder.js';

/** Tolerance of golden/README.md for float32; the oracle computes in float64. */
const LOGITS = 1e-4;

suite('float oracle', () => {
  let folder: string;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-oracle-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  async function logitsOf(path: string, prompt: readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const checkpoint = await openCheckpoint(path);
    try {
      return await oracleLogits(checkpoint, prompt, signal && { signal });
    } finally {
      await checkpoint.close();
    }
  }

  for (const name of [...mainCases, ...extraCases]) {
    test(`${name}: logits of the first 32 tokens as in the golden data`, async () => {
      // Chunk 16, window 2 chunks: 32 tokens are seen without a fold; the sliding window of hybrid_swa (24) does act.
      const figures = readSafetensors(goldenPath(`${name}/golden.safetensors`));
      const prompt = [...tensor(figures, 'prompt_tokens').data.subarray(0, 32)];
      const found = await logitsOf(await goldenFolder(folder, name), prompt);
      assertClose(name, found, tensor(figures, 'prefill_logits').data.subarray(0, 32 * 128), LOGITS);
    });
  }

  test('a prompt that does not fit the window is refused', async () => {
    const prompt = Array.from({ length: 33 }, () => 1);
    await assert.rejects(logitsOf(await goldenFolder(folder, 'fixed'), prompt), { code: 'usage' });
  });

  test('it can be cancelled', async () => {
    for (const path of [join(golden('fixed'), 'weights.safetensors'), golden('hf/llama')]) {
      await assert.rejects(logitsOf(path, [1, 2], AbortSignal.abort()), { code: 'cancelled' });
    }
  });
});
