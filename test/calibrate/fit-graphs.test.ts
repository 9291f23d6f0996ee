/** The fit's graphs, run by the engine on a tiny model, against float64 written from the formula; rows of a question. */
import assert from 'node:assert/strict';
import { fitGraphs } from '../../src/convert/index.js';
import { openCalibration } from '../../src/engine/index.js';
import type { Calibration, Look } from '../../src/engine/index.js';
import { loadTokenizer } from '../../src/engine/token-counter.js';
import { questionQueries } from '../../src/engine/question-queries.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { loadModel, sharedTextModel } from '../engine/tiny-shared.js';
import { recall, recallKeyHeads, recallValues, tinyTextModel } from '../engine/tiny-text-model.js';
import { assertClose } from '../oracle/golden.js';
import { seededRandom } from '../reference/tiny-model.js';
import { PlainAttention } from './plain-attention.js';

const SIZE = 8;

suite('calibrating: what the engine lends', function () {
  this.timeout(60_000);
  let calibration: Calibration;
  suiteSetup(async () => {
    calibration = await openCalibration(await sharedTextModel(), { threads: 1, graphs: fitGraphs });
  });
  suiteTeardown(() => calibration.dispose());

  test('attention and gradients are the formula’s', async () => {
    const random = seededRandom(11);
    const numbers = (length: number) => Float32Array.from({ length }, () => random() * 2 - 1);
    const [rows, slots] = [5, 7];
    const look: Look = {
      rows: numbers(rows * SIZE),
      map: numbers(SIZE * SIZE),
      temperature: 1.3,
      slots: {
        keys: Int8Array.from({ length: slots * SIZE }, () => Math.round(random() * 254 - 127)),
        scales: numbers(slots).map(value => 0.01 + 0.005 * value),
        logCounts: Float32Array.from({ length: slots }, (_, i) => Math.log(i + 1)),
      },
    };
    const plain = new PlainAttention(SIZE);
    const expected = await plain.attend(look);
    const attention = await calibration.attend(look);
    assertClose('attention', attention, [...expected], 1e-5);
    const gradient = numbers(rows * slots);
    const slopes = await plain.gradients(look, expected, gradient);
    const given = await calibration.gradients(look, attention, gradient);
    assertClose('map', given.map, [...slopes.map], 1e-4);
    assertClose('temperature', [given.logTemperature], [slopes.logTemperature], 1e-4);
  });

  test('rows are those that recall maps, before the map', async () => {
    const folder = await sharedTextModel();
    const model = await loadModel(folder);
    const { frequencies } = model.manifest.architecture;
    const rows = await calibration.rowsOf('adds two?', recall.heads);
    const own = await questionQueries(model, await loadTokenizer(folder, 'x'), recall.heads, recall, 'adds two?');
    const heads = await RecallHeads.load(folder, model.manifest);
    const values = recallValues();
    rows.forEach((plain, head) => {
      const map = values.get('query_map')!.data.subarray(head * SIZE * SIZE, (head + 1) * SIZE * SIZE);
      const factor = Math.exp(values.get('log_temperature')!.data[head]!);
      const expected = Array.from(plain, (value, at) => {
        const row = at - (at % SIZE);
        let sum = value;
        for (let i = 0; i < SIZE; i++) sum += plain[row + i]! * map[i * SIZE + (at % SIZE)]!;
        return sum * factor;
      });
      const mapped = heads.mapQueries(head, own[head]!, frequencies, recall.queryPosition);
      assertClose(`head ${head}`, mapped, expected, 1e-5);
    });
  });

  test('slots are those of a reading, whichever key heads are asked for, and there is no gist', async () => {
    const text = 'export function add(a: number, b: number) {\n  return a + b;\n}\n';
    const wanted = recallKeyHeads.map(([layer, head]) => [layer, head] as const);
    const all = await calibration.read('a.ts', text, wanted, 4);
    const one = await calibration.read('a.ts', text, [wanted[2]!], 4);
    assert.deepEqual([all.recall.heads, one.recall.heads], [4, 1]);
    const { slots } = one.recall;
    assert.deepEqual(one.recall.keys, all.recall.keys.subarray(2 * slots * SIZE, 3 * slots * SIZE));
    assert.deepEqual(one.slotOfToken, all.slotOfToken.subarray(2 * one.tokens, 3 * one.tokens));
  });

  test('a model without recall settings asks in its chat template, and has no values', async () => {
    const folder = new TinyFolder();
    const plain = await tinyTextModel(folder, 'no-recall', { recall: undefined, recallFile: undefined });
    const without = await openCalibration(plain.path, { threads: 1, graphs: fitGraphs });
    assert.equal(without.values, undefined);
    // The template of tiny-text-model.ts around the question.
    assert.deepEqual(without.settings, {
      heads: [],
      queryPosition: 512,
      before: '<|start|>user\nWhich function does this: ',
      after: '<|end|><|start|>assistant\ndef',
      contentless: 'N/A',
    });
    await without.dispose();
    await folder.dispose();
  });
});
