/** The check a model carries with it: which columns are kept, the measure, and what a damaged model gives. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertModel, verifyStoredCheck } from '../../src/convert/index.js';
import type { GraphRunner } from '../../src/convert/index.js';
import { checkStride, everyColumn, medianDifference } from '../../src/convert/stored-check.js';
import { FILES } from '../../src/engine/graph-contract.js';
import type { Manifest } from '../../src/engine/graph-contract.js';
import { runGraphs } from '../../src/engine/index.js';
import { tinyModel, tinyReading, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';

suite('stored check', function () {
  this.timeout(30_000);
  let root: string;
  let model: string;
  let manifest: Manifest;
  suiteSetup(async () => {
    root = await mkdtemp(join(tmpdir(), 'longview-check-'));
    writeTinyModel(tinyModel(tinyVariants.llama.model), join(root, 'checkpoint'));
    model = join(root, 'model');
    manifest = await convertModel(join(root, 'checkpoint'), model, {
      quantisation: 'f32',
      entry: { name: 'tiny', origin: 'test', licence: 'none', kvm: tinyReading },
      run: runGraphs,
    });
  });
  suiteTeardown(() => rm(root, { recursive: true, force: true }));

  test('strides: ceil(V / 4096); columns 0, s, 2s of every row', () => {
    assert.deepEqual([1, 4096, 4097, 49_152, 151_936].map(checkStride), [1, 1, 2, 12, 38]);
    const logits = Float32Array.from({ length: 14 }, (_, i) => i);
    assert.deepEqual([...everyColumn(logits, 7, 3)], [0, 3, 6, 7, 10, 13]);
    assert.deepEqual([...everyColumn(logits, 7, 1)], [...logits]);
  });

  test('the measure: median over rows of rms(a - b) over the standard deviation of b', () => {
    // Rows of b: deviation 1, 2, 1; of a - b: rms 0.5, 0.5, 3. So 0.5, 0.25 and 3, of which the median is 0.5.
    const b = Float32Array.from([-1, 1, -2, 2, 4, 6]);
    const a = Float32Array.from([-0.5, 0.5, -2.5, 2.5, 7, 9]);
    assert.equal(medianDifference(a, b, 2), 0.5);
    assert(Number.isNaN(medianDifference(a.subarray(2), b, 2)));
  });

  test('a sound model: the same difference as at its conversion', async () => {
    // 256 tokens of vocabulary: every column is kept.
    assert.equal(manifest.verification.stride, 1);
    assert.equal((await readFile(join(model, FILES.check))).length, manifest.verification.prompt.length * 256 * 4);
    const { difference, tolerance } = await verifyStoredCheck(model, manifest, runGraphs);
    assert.equal(tolerance, manifest.verification.tolerance);
    assert(Math.abs(difference - manifest.verification.difference) < 1e-6);
  });

  test('wider vocabularies: only the stored columns are compared', async () => {
    // 2 tokens, 10,000 columns, of which every third is kept; the graphs are wrong everywhere else.
    const wide = 10_000;
    const exact = Float32Array.from({ length: 2 * wide }, (_, i) => Math.sin(i));
    const folder = await mkdtemp(join(root, 'wide-'));
    await writeFile(join(folder, FILES.check), new Uint8Array(everyColumn(exact, wide, 3).buffer));
    const given: GraphRunner = () =>
      Promise.resolve({
        prefill: exact.map((logit, i) => ((i % wide) % 3 === 0 ? logit : NaN)),
        decode: exact.map((logit, i) => ((i % wide) % 3 === 0 ? logit * 1.5 : 0)),
      });
    const verification = { ...manifest.verification, prompt: [1, 2], stride: 3 };
    const changed = { ...manifest, verification, architecture: { ...manifest.architecture, vocabulary: wide } };
    const { difference } = await verifyStoredCheck(folder, changed, given);
    // The larger of both graphs: half of sin's spread.
    assert(Math.abs(difference - 0.5) < 1e-3, String(difference));
  });

  test('changed weights are found', async () => {
    const copy = await mkdtemp(join(root, 'changed-'));
    for (const { name } of manifest.files) await writeFile(join(copy, name), await readFile(join(model, name)));
    const weights = await readFile(join(copy, FILES.weights));
    // The embedding comes first: float32 [256, width], here with the tokens' rows in reverse order.
    const rows = new Float32Array(weights.buffer, weights.byteOffset, 256 * manifest.architecture.width).reverse();
    assert(rows.length > 0);
    await writeFile(join(copy, FILES.weights), weights);
    const { difference, tolerance } = await verifyStoredCheck(copy, manifest, runGraphs);
    assert(difference > 100 * tolerance, String(difference));
  });

  test('a missing or damaged check says what to do; a cancelled one stops', async () => {
    const folder = await mkdtemp(join(root, 'damaged-'));
    await assert.rejects(verifyStoredCheck(folder, manifest, runGraphs), { code: 'not-found' });
    const check = join(folder, FILES.check);
    await writeFile(check, await readFile(join(model, FILES.check)));
    await truncate(check, 100);
    await assert.rejects(verifyStoredCheck(folder, manifest, runGraphs), { code: 'bad-format' });
    const cancelled = verifyStoredCheck(model, manifest, runGraphs, AbortSignal.abort());
    await assert.rejects(cancelled, { code: 'cancelled' });
  });
});
