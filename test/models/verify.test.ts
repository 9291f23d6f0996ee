/** Verifying an installed model: its files, and what it computes. The model is the tiny one, converted and run for real. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Progress } from '../../src/base/index.js';
import { runGraphs } from '../../src/engine/index.js';
import { factsOf } from '../../src/models/facts.js';
import { findModel } from '../../src/models/installed.js';
import { verifyModel } from '../../src/models/verify.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { tinyTextModel } from '../engine/tiny-text-model.js';

suite('verify', function () {
  this.timeout(60_000);
  let folder: TinyFolder;
  let path: string;
  suiteSetup(async () => {
    folder = new TinyFolder();
    await tinyTextModel(folder);
    path = join(folder.path, 'text-f32');
  });
  suiteTeardown(() => folder.dispose());

  test('whole: it computes what it did, with progress over all bytes', async () => {
    const model = await findModel(folder.path, path);
    const told: Progress[] = [];
    const check = await verifyModel(model, runGraphs, { onProgress: progress => told.push(progress) });
    assert.ok(check.difference < 1e-4, String(check.difference));
    assert.equal(check.tolerance, 1e-4);
    const bytes = told.filter(({ unit }) => unit === 'bytes');
    assert.deepEqual([bytes.at(-1)!.done, bytes.at(-1)!.total], [bytes[0]!.total, bytes[0]!.total]);
  });

  test('whole files that compute something else are not sound; nor is what cannot be compared', async () => {
    const model = await findModel(folder.path, path);
    for (const wrong of [1, NaN]) {
      const run: typeof runGraphs = async (...args) => {
        const { prefill, decode } = await runGraphs(...args);
        return { prefill, decode: decode.map((value, i) => value + (i % 2) * wrong) };
      };
      await assert.rejects(verifyModel(model, run), {
        code: 'bad-format',
        message: /no longer computes what its checkpoint did/,
      });
    }
  });

  test('what is told of it agrees with the manifest', async () => {
    const { manifest } = await findModel(folder.path, path);
    const { architecture, fingerprint } = JSON.parse(readFileSync(join(path, 'model.json'), 'utf8')) as {
      architecture: { family: string };
      fingerprint: string;
    };
    const { check, ...facts } = factsOf(manifest);
    assert.deepEqual(facts, {
      origin: 'test',
      fingerprint,
      quantisation: 'f32',
      family: architecture.family,
      layers: 3,
      // 3 layers of 2 key heads, size 8: int8 key and value, five float32 numbers.
      bytesPerSlot: 3 * 2 * (2 * 8 + 5 * 4),
      recallHeads: 5,
    });
    assert.ok(check!.difference <= check!.tolerance);
  });

  test('a missing or short file is said before anything is read', async () => {
    const model = await findModel(folder.path, path);
    await truncate(join(path, 'check.bin'), 4);
    await assert.rejects(verifyModel(model, runGraphs), {
      code: 'bad-format',
      message: /check\.bin has 4 bytes, not \d+/,
    });
  });
});
