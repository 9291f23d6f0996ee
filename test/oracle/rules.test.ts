/**
 * The small rules both oracles stand on, each against figures worked out by hand or stated in kvm.md and retrofit.md.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  appendCount,
  even,
  fixed,
  keepEverything,
  pieces,
  powerLaw,
  rounded,
  saturating,
  windowStart,
} from '../reference/chunks.js';
import { chooseAppends, chooseWinner } from '../reference/decisions.js';
import { RetrofitHead } from '../reference/retrofit-head.js';
import { llamaFrequencies, rotate } from '../reference/rotary.js';
import { halfToNumber, readSafetensors, writeSafetensors } from '../reference/safetensors.js';
import { seededRandom, tinyModel, writeTinyModel } from '../reference/tiny-model.js';
import { addInto, softmaxMean } from '../reference/vectors.js';
import { assertClose, largestDifference } from './golden.js';

const vec = (...values: number[]) => Float64Array.from(values);

suite('oracle rules: window and budget', () => {
  test('window start: with C 256 and W 2 the window holds 257 to 512 tokens (kvm.md, Symbols)', () => {
    const starts = [1, 256, 512, 513, 768, 769].map(tokens => windowStart(tokens, 256, 2));
    assert.deepEqual(starts, [0, 0, 0, 256, 256, 512]);
  });

  test('pieces never cross a chunk boundary', () => {
    const across = pieces(5, 30, 16);
    assert.deepEqual(across, [
      [5, 16],
      [16, 32],
      [32, 35],
    ]);
    assert.deepEqual(pieces(16, 16, 16), [[16, 32]]);
    assert.deepEqual(pieces(7, 0, 16), []);
  });

  test('schedules: values worked out by hand', () => {
    assert.equal(powerLaw().slots(1024), 512, '16 * sqrt(1024)');
    assert.equal(powerLaw().slots(1025), 512, 'floor(512.25)');
    assert.equal(saturating(64).slots(192), 48, '64*192 / 256');
    assert.equal(even(1024, 4096).slots(2048), 512);
    assert.equal(even(10, 3).slots(2), 6, 'floor(20/3)');
    assert.equal(keepEverything().slots(777), 777);
    assert.equal(
      rounded(powerLaw(6, 0.5), 8, 16).slots(192),
      80,
      'golden power_law: floor(83.1) down to a multiple of 8',
    );
    assert.equal(rounded(powerLaw(6, 0.5), 8, 16).slots(1), 16, 'not under the minimum');
  });

  test('appends: clamp(schedule, S, min(left, max)) - S, and not over a chunk', () => {
    const question = { tokens: 64, left: 48, slots: 16, chunk: 16, maxSlots: 1000 };
    assert.equal(appendCount(fixed(24), question), 8);
    assert.equal(appendCount(fixed(8), question), 0, 'a state never shrinks');
    assert.equal(appendCount(keepEverything(), question), 16, 'min(64, left 48) - 16 = 32, a chunk at most');
    assert.equal(appendCount(keepEverything(), { ...question, left: 20 }), 4);
    assert.equal(appendCount(keepEverything(), { ...question, maxSlots: 18 }), 2);
  });
});

suite('oracle rules: fold', () => {
  test('the least similar tokens are appended, in order of position; ties go to the lowest index', () => {
    const slots = [vec(1, 0)];
    const tokens = [vec(0.5, 1), vec(-1, 0), vec(0.9, 0), vec(0, 1), vec(0, -1)]; // best scores .5, -1, .9, 0, 0
    assert.deepEqual(chooseAppends(tokens, slots, 2), [1, 3]);
    assert.deepEqual(chooseAppends(tokens, slots, 3), [1, 3, 4]);
    assert.deepEqual(chooseAppends(tokens, slots, 0), []);
  });

  test('the winner is the best slot behind the sinks; ties go to the lowest index', () => {
    const slots = [vec(9, 0), vec(1, 0), vec(2, 0), vec(2, 0)];
    assert.equal(chooseWinner(vec(1, 0), slots, 1), 2);
    assert.equal(chooseWinner(vec(1, 0), slots, 0), 0);
    assert.equal(chooseWinner(vec(-1, 0), slots, 0), 1);
    assert.throws(() => chooseWinner(vec(1, 0), slots, 4), /all 4 slots are sinks/);
  });

  test('two folds of a text in the plane, worked out by hand', () => {
    // C 2, W 1, m 1, at most 3 slots. Keys of tokens 0..6; values are (position, 1).
    const head = new RetrofitHead({ schedule: fixed(3), chunk: 2, windowChunks: 1, sinks: 1 });
    const keys = [vec(1, 0), vec(0, 2), vec(3, 3), vec(0, -1), vec(5, 0), vec(1, -1), vec(1, 1)];
    keys.forEach((key, position) => {
      head.advance(position, position + 1);
      head.window.push({ key, rotatedKey: key, value: vec(position, 1) });
      if (position === 3) assert.equal(head.slots.length, 2, 'T = 2C: the second chunk still waits in the window');
    });
    // Token 2: tokens 0, 1 become slots 0, 1. Token 4: token 3 (best cosine 0) is more novel than token 2 (.71) and becomes slot 2;
    // token 2 merges into slot 1 (.71; slot 0 is a sink). Token 6: no room; token 4 is the sink's direction but goes to slot 1
    // (cosine 3/sqrt(34) = .51; slot 2: 0), and token 5, chosen before that merge, to slot 2 (.71).
    assert.deepEqual(head.slotOfToken, [0, 1, 1, 2, 1, 2]);
    assert.deepEqual(head.slots, [
      { key: vec(1, 0), value: vec(0, 1), count: 1, keyRadius: 1, valueRadius: 1 },
      { key: vec(8, 5), value: vec(7, 3), count: 3, keyRadius: 2, valueRadius: Math.SQRT2 },
      { key: vec(1, -2), value: vec(8, 2), count: 2, keyRadius: 1, valueRadius: Math.sqrt(10) },
    ]);
    const { key, value } = head.read[1]!;
    assertClose('read key: direction (8,5) of length 2', key, [16 / Math.sqrt(89), 10 / Math.sqrt(89)], 1e-15);
    assertClose('read value: direction (7,3) of length sqrt 2', value, [7 / Math.sqrt(29), 3 / Math.sqrt(29)], 1e-15);
    assert.equal(head.window.length, 1);
  });

  test('whatever the text: sums and counts of the slots are those of the tokens that left', () => {
    const reading = fc.record({
      chunk: fc.integer({ min: 2, max: 6 }),
      windowChunks: fc.integer({ min: 1, max: 3 }),
      tokens: fc.integer({ min: 1, max: 60 }),
      budget: fc.integer({ min: 1, max: 30 }),
      seed: fc.integer(),
    });
    const check = ({
      chunk,
      windowChunks,
      tokens,
      budget,
      seed,
    }: typeof reading extends fc.Arbitrary<infer R> ? R : never) => {
      const random = seededRandom(seed);
      const draw = () => vec(random() - 0.5, random() - 0.5, random() - 0.5);
      const head = new RetrofitHead({ schedule: fixed(budget), chunk, windowChunks, sinks: 1 });
      const all = Array.from({ length: tokens }, () => ({ key: draw(), value: draw() }));
      all.forEach(({ key, value }, position) => {
        head.advance(position, position + 1);
        head.window.push({ key, rotatedKey: key, value });
      });
      const left = windowStart(tokens, chunk, windowChunks);
      const sum = (vectors: readonly Float64Array[]) => {
        const total = vec(0, 0, 0);
        for (const vector of vectors) addInto(total, vector);
        return total;
      };
      const gone = all.slice(0, left);
      assert.equal(head.window.length, tokens - left);
      assert.equal(
        head.slots.reduce((total, slot) => total + slot.count, 0),
        left,
      );
      assert(head.slots.length <= Math.max(chunk, budget));
      assert(head.slots.length === 0 || head.slots[0]!.count === 1, 'the sink takes none');
      assertClose('keys', sum(head.slots.map(slot => slot.key)), sum(gone.map(token => token.key)), 1e-12);
      assertClose('values', sum(head.slots.map(slot => slot.value)), sum(gone.map(token => token.value)), 1e-12);
    };
    fc.assert(fc.property(reading, check), { seed: 20250509, numRuns: 100 });
  });
});

suite('oracle rules: vectors and files', () => {
  test('a quarter turn of adjacent and of half-split pairs', () => {
    const quarter = vec(Math.PI / 2, 0);
    assertClose('adjacent', rotate(vec(1, 2, 3, 4), quarter, 'adjacent'), [-2, 1, 3, 4], 1e-15);
    assertClose('half', rotate(vec(1, 2, 3, 4), quarter, 'half'), [-3, 2, 1, 4], 1e-15);
    assertClose('rest is copied', rotate(vec(1, 2, 3, 4), vec(Math.PI), 'adjacent'), [-1, -2, 3, 4], 1e-15);
  });

  test('Llama frequencies, plain and scaled', () => {
    assertClose('plain', llamaFrequencies(4, 100), [1, 0.1], 1e-15);
    // Original length 2π·10 makes "turns" 10·frequency: 10 is kept, 1 is slowed 8 times, 3 lies a third of the way from 2 to 5.
    const original_max_position_embeddings = 20 * Math.PI;
    const scaling = { factor: 8, low_freq_factor: 2, high_freq_factor: 5, original_max_position_embeddings };
    assertClose('ends', llamaFrequencies(4, 100, scaling), [1, 0.1 / 8], 1e-15);
    const third = llamaFrequencies(4, (10 / 3) ** 2, scaling)[1]!;
    assertClose('between', [third], [0.3 * (1 / 3 + 2 / 3 / 8)], 1e-15);
  });

  test('softmax mean: logits log 1, log 3 weigh values 1 : 3, however large they are', () => {
    const entries = [0, Math.log(3)].map((logit, i) => ({ logit: logit + 1e4, value: vec(i, 8) }));
    assertClose('mean', softmaxMean(entries), [0.75, 8], 1e-11);
  });

  test('half precision: signs, subnormals, infinities', () => {
    const halves = [0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0x7c00].map(halfToNumber);
    assert.deepEqual(halves, [1, -2, 0.333251953125, 2 ** -24, 65504, Infinity]);
    assert(Number.isNaN(halfToNumber(0x7c01)));
  });

  test('largest difference: NaN and other lengths never pass', () => {
    assert.equal(largestDifference([1, 2], [1, 2.5]), 0.5);
    assert.equal(largestDifference([1, NaN, 2], [1, 2, 2]), Infinity);
    assert.equal(largestDifference([1], [1, 2]), Infinity);
  });

  test('a tiny model written to a folder is read back with the same tensors', () => {
    const folder = mkdtempSync(join(tmpdir(), 'longview-oracle-'));
    try {
      const model = tinyModel({ family: 'qwen2', layers: 1, vocabulary: 16 });
      writeTinyModel(model, folder);
      assert.deepEqual(readSafetensors(join(folder, 'model.safetensors')), model.tensors);
      assert.deepEqual(JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')), model.config);

      const counts = join(folder, 'counts.safetensors');
      const numbers = new Map([['counts', { shape: [2, 1], data: Int32Array.of(-1, 2 ** 31 - 1) }]]);
      writeSafetensors(counts, numbers);
      assert.deepEqual(readSafetensors(counts), numbers);

      const half = join(folder, 'half.safetensors');
      const header =
        '{"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[2,4]}}';
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(header.length));
      writeFileSync(half, Buffer.concat([length, Buffer.from(header), Buffer.from([0x00, 0xc0, 0xc0, 0x3f])]));
      const values = [...readSafetensors(half).values()].map(({ data }) => data[0]);
      assert.deepEqual(values, [-2, 1.5], 'half 0xc000, bfloat16 0x3fc0');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
