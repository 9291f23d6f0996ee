/** A whole calibration on the tiny model: its noise finds nothing, but every part runs, and what it gives can be loaded. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calibrate } from '../../src/calibrate/index.js';
import { keyHeadPlace, takeHeads } from '../../src/calibrate/choose-heads.js';
import type { RankedHead } from '../../src/calibrate/choose-heads.js';
import { SharedMemory } from '../../src/calibrate/shared-memory.js';
import { openEngine } from '../../src/engine/index.js';
import { readManifest } from '../../src/engine/manifest.js';
import { writeRecall } from '../../src/models/index.js';
import { sharedTextModel } from '../engine/tiny-shared.js';
import { recall } from '../engine/tiny-text-model.js';
import { seededRandom } from '../reference/tiny-model.js';
import { commentedSource, writeFiles } from './commented-source.js';
import { tinyDoc } from './tiny-fit.js';

suite('calibrating a model', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'longview-calibrate-'));
  const code = join(folder, 'code');
  const model = join(folder, 'model');
  suiteSetup(async () => {
    cpSync(await sharedTextModel(), model, { recursive: true });
    for (const name of 'abcd') writeFiles(code, { [`${name}.ts`]: commentedSource(12) });
  });
  suiteTeardown(() => rmSync(folder, { recursive: true }));

  test('fresh heads and values; written, they are the model’s, and memories of other keys are told apart', async () => {
    const tasks = new Set<string>();
    const result = await calibrate(model, {
      ...{ folders: [code], tokens: 12_000, fresh: true, threads: 1 },
      onProgress: ({ task, done, total }) => {
        assert(done <= total!, `${task}: ${done} of ${total}`);
        tasks.add(task.replace(/,.*/, ''));
      },
    });
    assert.deepEqual([...tasks], ['Reading', 'Trying every head', 'Asking', 'Fitting']);
    const { heads, calibration, ...settings } = result.settings;
    assert.deepEqual({ ...settings, heads: recall.heads }, recall, 'template and position stay');
    assert.equal(calibration.questions + calibration.heldOut, 48);
    assert.deepEqual(calibration.unfitted, result.passes[0]);
    assert.deepEqual(calibration.fitted, result.passes[result.best]);
    assert(result.installed, 'what the model had is measured too');

    const before = await readManifest(model);
    const { readsAgain } = await writeRecall(model, result.settings, result.values);
    const after = await readManifest(model);
    assert.deepEqual(after.recall, result.settings);
    assert.equal(after.fingerprint !== before.fingerprint, readsAgain);
    const engine = await openEngine(model, { threads: 1 });
    assert.equal(engine.model.recall.keyHeadOf.length, heads.length);
    const reading = await engine.read({
      label: 'a',
      text: readFileSync(join(code, 'a.ts'), 'utf8'),
      tokensPerRecallSlot: 4,
    });
    await engine.putRecall('a', reading.recall);
    const { mass } = await engine.scoreRecall('Which one?', ['a']);
    assert(mass.mass.every(own => own.length > 0 && own.every(Number.isFinite)));
    await engine.dispose();
    // The same heads again: the same keys, so memories stay.
    assert.deepEqual(await writeRecall(model, result.settings, result.values), { readsAgain: false });
    assert.equal((await readManifest(model)).fingerprint, after.fingerprint);
  });

  test('a model with values goes on from them: its heads stay', async () => {
    const { recall: has } = await readManifest(model);
    const { settings, installed, passes } = await calibrate(model, { folders: [code], tokens: 12_000, threads: 1 });
    assert.deepEqual(settings.heads, has!.heads);
    assert.deepEqual(installed, passes[0]);
  });

  test('it stops when it is told to, and changes nothing', async () => {
    const manifest = readFileSync(join(model, 'model.json'));
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    const run = calibrate(model, {
      ...{ folders: [code], tokens: 12_000, threads: 1, onProgress },
      signal: controller.signal,
    });
    await assert.rejects(run, { code: 'cancelled' });
    assert.deepEqual(readFileSync(join(model, 'model.json')), manifest);
  });

  test('values that cannot be kept leave the model as it was', async () => {
    const values = readFileSync(join(model, 'recall.safetensors'));
    const broken = join(folder, 'broken');
    cpSync(model, broken, { recursive: true });
    writeFileSync(join(broken, 'model.json'), '{"format":5}');
    await assert.rejects(writeRecall(broken, recall, new Uint8Array(4)), { code: 'bad-format' });
    assert.deepEqual(readFileSync(join(broken, 'recall.safetensors')), values);
  });
});

suite('the choice of heads', () => {
  const architecture = { layers: 6, heads: 4, keyHeads: 2, headSize: 6 };
  const random = seededRandom(21);
  const memory = SharedMemory.of(Array.from({ length: 5 }, () => tinyDoc(random, 4)));
  const asked = Array.from({ length: 40 }, (_, i) => ({ sentence: '', span: i % 20 }));

  /** A head that puts the function asked for first in some of the questions, and knows nothing of the others. */
  function head(layer: number, at: number, knows: (question: number) => boolean): RankedHead {
    const scores = asked.map(({ span }, i) =>
      Float64Array.from({ length: 20 }, (_, other) => (other === span && knows(i) ? 4 : random())),
    );
    const ranks = scores.map((own, i) => own.filter(score => score >= own[asked[i]!.span]!).length);
    const mrr = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
    return { head: [layer, at], keyHead: keyHeadPlace(architecture, [layer, at]), mrr, scores };
  }

  test('key heads that add to each other, with their query heads above chance', () => {
    const ranked = architecture.layers * architecture.heads;
    const all = Array.from({ length: ranked }, (_, i) => [Math.floor(i / 4), i % 4] as const).map(([layer, at]) => {
      if (layer === 2 && at === 1) return head(layer, at, i => i % 2 === 0);
      // Knows what 2.1 knows already.
      if (layer === 3 && at === 0) return head(layer, at, i => i % 4 === 0);
      // Knows the rest; its key head's other query head knows nothing.
      if (layer === 4 && at === 2) return head(layer, at, i => i % 2 === 1);
      return head(layer, at, () => false);
    });
    const taken = takeHeads(all, memory, asked).map(one => one.head);
    assert.deepEqual(taken.slice(0, 2).sort(), [
      [2, 1],
      [4, 2],
    ]);
    // All is known with these; four key heads are the least.
    assert.equal(new Set(taken.map(own => keyHeadPlace(architecture, own))).size, 4);
    assert(!taken.some(([layer, at]) => layer === 2 && at === 0), 'not a query head by chance');
  });
});
