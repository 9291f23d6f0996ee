/** Recall heads: which key heads they read, the query map against the formula of the fit, damaged values. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from '../../src/engine/graph-contract.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { assertClose } from '../oracle/golden.js';
import { rotate } from '../reference/rotary.js';
import type { Tensor } from '../reference/safetensors.js';
import { writeSafetensors } from '../reference/safetensors.js';
import { seededRandom } from '../reference/tiny-model.js';
import { recall, recallKeyHeadOf, recallKeyHeads, recallValues } from './tiny-text-model.js';

const HEADS = 5;
const HEAD = 8;
const frequencies = [1, 0.3, 0.09, 0.027];
const architecture = { layers: 3, heads: 6, keyHeads: 2, headSize: HEAD, frequencies };
const manifest = { architecture, recall } as unknown as Manifest;

suite('recall heads', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longview-recall-'));
  const file = join(folder, 'recall.safetensors');
  suiteTeardown(() => rmSync(folder, { recursive: true }));

  const load = (values: ReadonlyMap<string, Tensor>, about = manifest): Promise<RecallHeads> => {
    writeSafetensors(file, values);
    return RecallHeads.load(folder, about);
  };

  test('each key head once; query heads that share one name the same', async () => {
    const heads = await load(recallValues());
    // 3 query heads read a key head: 0..2 the first, 3..5 the second.
    assert.deepEqual(
      heads.keyHeads,
      recallKeyHeads.map(([layer, head]) => ({ layer, head })),
    );
    assert.deepEqual(heads.keyHeadOf, recallKeyHeadOf);
  });

  test('the five numbers of each head', async () => {
    const values = recallValues();
    const { parameters } = await load(values);
    const numbers = (name: string) => [...values.get(name)!.data];
    assert.deepEqual(parameters, {
      weight: numbers('weight'),
      nullWeight: numbers('null_weight'),
      lengthExponent: numbers('length_exponent'),
      logFloor: numbers('log_floor'),
    });
  });

  test('query rows: rotated to the position, q + q A, exp(t) / sqrt(d)', async () => {
    const values = recallValues();
    const heads = await load(values);
    const random = seededRandom(2);
    const rows = Float32Array.from({ length: 3 * HEAD }, () => random() * 4 - 2);
    const copy = rows.slice();
    for (let head = 0; head < HEADS; head++) {
      for (const position of [0, 24, 512]) {
        const map = values.get('query_map')!.data.subarray(head * HEAD * HEAD, (head + 1) * HEAD * HEAD);
        const factor = Math.exp(values.get('log_temperature')!.data[head]!) / Math.sqrt(HEAD);
        const expected: number[] = [];
        for (let row = 0; row < 3; row++) {
          const angles = Float64Array.from(frequencies, frequency => frequency * position);
          const q = rotate(Float64Array.from(rows.subarray(row * HEAD, (row + 1) * HEAD)), angles, 'adjacent');
          for (let j = 0; j < HEAD; j++) {
            expected.push(factor * q.reduce((sum, value, i) => sum + value * map[i * HEAD + j]!, q[j]!));
          }
        }
        assertClose(`head ${head}`, heads.mapQueries(head, rows, frequencies, position), expected, 1e-5);
      }
    }
    assert.deepEqual(rows, copy, 'the rows given are left as they were');
  });

  test('what rows count: softmax of rotated row · direction / sqrt(d); all the same without a direction', async () => {
    const values = recallValues();
    const heads = await load(values);
    const random = seededRandom(3);
    const rows = Float32Array.from({ length: 4 * HEAD }, () => random() * 4 - 2);
    for (let head = 0; head < HEADS; head++) {
      const direction = values.get('row_direction')!.data.subarray(head * HEAD, (head + 1) * HEAD);
      const angles = Float64Array.from(frequencies, frequency => frequency * 24);
      const powers = [0, 1, 2, 3].map(row => {
        const q = rotate(Float64Array.from(rows.subarray(row * HEAD, (row + 1) * HEAD)), angles, 'adjacent');
        return Math.exp(q.reduce((sum, value, i) => sum + value * direction[i]!, 0) / Math.sqrt(HEAD));
      });
      const total = powers.reduce((a, b) => a + b, 0);
      const expected = powers.map(power => power / total);
      assertClose(`head ${head}`, heads.weighRows(head, rows, frequencies, 24), expected, 1e-5);
    }
    values.delete('row_direction');
    assert.deepEqual([...(await load(values)).weighRows(1, rows, frequencies, 24)], [0.25, 0.25, 0.25, 0.25]);
    values.set('row_direction', { shape: [HEADS, HEAD], data: new Float32Array(HEADS * HEAD) });
    assert.deepEqual([...(await load(values)).weighRows(1, rows, frequencies, 24)], [0.25, 0.25, 0.25, 0.25]);
  });

  test('without a query map the query stays as it is', async () => {
    const values = recallValues();
    values.delete('query_map');
    values.set('log_temperature', { shape: [HEADS], data: new Float32Array(HEADS) });
    const rows = Float32Array.from({ length: HEAD }, (_, i) => i - 3);
    const expected = rows.map(value => value / Math.sqrt(HEAD));
    assertClose('rows', (await load(values)).mapQueries(2, rows, frequencies, 0), expected, 1e-6);
  });

  test('half precision, and metadata beside the tensors', async () => {
    // 1.5, -0.25, 2^-24 (the smallest subnormal), 65504 (the largest), 0, as published in IEEE 754.
    const bits = [0x3e00, 0xb400, 0x0001, 0x7bff, 0x0000];
    const names = ['weight', 'null_weight', 'length_exponent', 'log_floor', 'log_temperature'];
    const entries = names.map((name, i) => [name, { dtype: 'F16', shape: [5], data_offsets: [i * 10, i * 10 + 10] }]);
    const header = JSON.stringify({ __metadata__: { format: 'pt' }, ...Object.fromEntries(entries) });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const row = Buffer.from(Uint16Array.from(bits).buffer);
    writeFileSync(file, Buffer.concat([length, Buffer.from(header), ...names.map(() => row)]));
    const { parameters } = await RecallHeads.load(folder, manifest);
    assert.deepEqual(parameters.weight, [1.5, -0.25, 2 ** -24, 65504, 0]);
  });

  test('a model without recall settings has no heads and needs no file', async () => {
    const heads = await RecallHeads.load(join(folder, 'nowhere'), { architecture } as unknown as Manifest);
    assert.deepEqual([heads.queryHeads, heads.keyHeads, heads.parameters.weight], [[], [], []]);
  });

  test('values that do not fit are refused', async () => {
    const refused = { code: 'bad-format', message: /recall values are damaged/ };
    for (const name of recallValues().keys()) {
      const short = recallValues();
      short.set(name, { shape: [3], data: new Float32Array(3) });
      await assert.rejects(load(short), refused, `${name} too short`);
      const missing = recallValues();
      missing.delete(name);
      if (!['query_map', 'row_direction'].includes(name))
        await assert.rejects(load(missing), refused, `${name} missing`);
    }
    for (const head of [
      [3, 0],
      [0, 6],
      [-1, 0],
    ] as const) {
      const outside = { architecture, recall: { ...recall, heads: [head] } } as unknown as Manifest;
      await assert.rejects(load(recallValues(), outside), refused, String(head));
    }
  });

  test('a damaged file is refused, wherever it is cut', async () => {
    writeSafetensors(file, recallValues());
    const whole = readFileSync(file);
    for (const bytes of [0, 4, 8, 30, whole.length - 1]) {
      writeFileSync(file, whole.subarray(0, bytes));
      await assert.rejects(RecallHeads.load(folder, manifest), { code: 'bad-format' }, `${bytes} bytes`);
    }
    const scrambled = Buffer.from(whole);
    scrambled[8] = 0x58;
    writeFileSync(file, scrambled);
    await assert.rejects(RecallHeads.load(folder, manifest), { code: 'bad-format' });
    await assert.rejects(RecallHeads.load(join(folder, 'nowhere'), manifest), { code: 'bad-format' });
  });
});
