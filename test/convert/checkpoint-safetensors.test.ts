/** Hugging Face folders: config, values, shards, what is refused; rotary frequencies. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LongviewError } from '../../src/base/index.js';
import { checkCheckpoint, openCheckpoint, rotaryFrequencies } from '../../src/convert/checkpoint/index.js';
import type { DecoderConfig } from '../../src/convert/checkpoint/index.js';
import { Bytes, halfBits } from './gguf-writer.js';

const golden = (name: string) => fileURLToPath(new URL(`../../../test/fixtures/golden/hf/${name}`, import.meta.url));

interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** A safetensors file, from its published layout. */
function safetensors(tensors: Record<string, Stored>, change: (header: Record<string, unknown>) => void = () => {}) {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let end = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [end, (end += data.length)] };
  }
  change(header);
  const json = Buffer.from(JSON.stringify(header));
  const out = new Bytes().number(8, json.length).raw(json);
  for (const { data } of Object.values(tensors)) out.raw(data);
  return out.done();
}

const f32 = (...values: number[]): Stored => ({
  dtype: 'F32',
  shape: [values.length],
  data: new Uint8Array(Float32Array.from(values).buffer),
});

suite('Hugging Face folder', () => {
  let folder: string;
  let next = 0;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-hf-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  /** A folder with the config of a golden model, changed, and the files given. */
  async function folderWith(files: Record<string, Uint8Array | string>, config: object = {}): Promise<string> {
    const path = join(folder, `hf-${next++}`);
    await mkdir(path);
    const base = JSON.parse(await readFile(join(golden('llama'), 'config.json'), 'utf8')) as object;
    await writeFile(join(path, 'config.json'), JSON.stringify({ ...base, ...config }));
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }

  async function refusal(path: string): Promise<LongviewError> {
    try {
      const checkpoint = await openCheckpoint(path);
      try {
        checkCheckpoint(checkpoint);
      } finally {
        await checkpoint.close();
      }
    } catch (error) {
      assert.ok(error instanceof LongviewError, String(error));
      return error;
    }
    throw new assert.AssertionError({ message: 'it was accepted' });
  }

  // Element [5,7], the last element and the sum of all, as numpy reads them from the same files.
  const values: Record<string, [string, number, number, number][]> = {
    llama: [
      ['model.layers.1.mlp.down_proj.weight', 0.09926992654800415, -0.008431309834122658, 5.417470923055589],
      ['model.layers.2.self_attn.k_proj.weight', -0.13753816485404968, -0.08318975567817688, -3.8956344965990866],
    ],
    qwen2: [
      ['model.layers.1.mlp.down_proj.weight', -0.2659998834133148, -0.09003458172082901, -1.0958209922482638],
      ['model.layers.2.self_attn.k_proj.weight', 0.17664486169815063, 0.005214848089963198, -0.6435380315051589],
    ],
    qwen3: [
      ['model.layers.1.mlp.down_proj.weight', -0.005807863082736731, 0.11587078869342804, 1.480537785544584],
      ['model.layers.2.self_attn.k_proj.weight', -0.03235924243927002, 0.178144171833992, -12.792722622063593],
    ],
  };

  for (const [name, expected] of Object.entries(values)) {
    test(`${name}: values as numpy reads them`, async () => {
      const checkpoint = await openCheckpoint(golden(name));
      try {
        checkCheckpoint(checkpoint);
        assert.equal(checkpoint.rotaryPairs, 'half');
        for (const [tensor, inside, last, sum] of expected) {
          const [rows, columns] = checkpoint.tensor(tensor).shape as [number, number];
          const all = await checkpoint.readFloat32(tensor);
          assert.equal(all.length, rows * columns);
          assert.equal(all[5 * columns + 7], inside);
          assert.equal(all.at(-1), last);
          assert.ok(Math.abs(all.reduce((a, b) => a + b, 0) - sum) < 1e-9);
          assert.deepEqual(await checkpoint.readFloat32(tensor, 5, 2), all.slice(5 * columns, 7 * columns));
        }
      } finally {
        await checkpoint.close();
      }
    });
  }

  test('configs of the four golden models', async () => {
    // From their config.json; qwen3's head size is not width / heads, llama3_rope's frequencies are scaled.
    const common = { layers: 3, width: 64, heads: 4, keyHeads: 2, ffnWidth: 96, vocabulary: 256, contextLength: 4096 };
    const expected: Record<string, Partial<DecoderConfig>> = {
      llama: { family: 'llama', headSize: 16, ropeTheta: 1e5, tiedHead: true, qkvBias: false, bosId: 1, eosIds: [2] },
      llama3_rope: {
        headSize: 16,
        ropeTheta: 5e5,
        tiedHead: false,
        ropeScaling: {
          kind: 'llama3',
          factor: 8,
          lowFrequencyFactor: 1,
          highFrequencyFactor: 4,
          originalContextLength: 64,
        },
      },
      qwen2: {
        family: 'qwen2',
        headSize: 16,
        ropeTheta: 1e6,
        tiedHead: true,
        qkvBias: true,
        qkNorm: false,
        eosIds: [],
      },
      qwen3: { family: 'qwen3', headSize: 24, ropeTheta: 1e6, tiedHead: false, qkvBias: false, qkNorm: true },
    };
    for (const [name, wanted] of Object.entries(expected)) {
      const checkpoint = await openCheckpoint(golden(name));
      await checkpoint.close();
      const found = checkpoint.config as unknown as Record<string, unknown>;
      for (const [key, value] of Object.entries({ ...common, ...wanted }))
        assert.deepEqual(found[key], value, `${name} ${key}`);
    }
  });

  test('old names of rope settings, ids in lists, more ids in generation_config.json', async () => {
    const path = await folderWith(
      {
        'model.safetensors': safetensors({ a: f32(1) }),
        'generation_config.json': JSON.stringify({ eos_token_id: [7, 9] }),
      },
      { rope_parameters: null, rope_theta: 12345, rope_scaling: null, eos_token_id: [5, 7], tie_word_embeddings: null },
    );
    const checkpoint = await openCheckpoint(path);
    await checkpoint.close();
    assert.ok(checkpoint.config.family !== 'rwkv7backbone');
    assert.equal(checkpoint.config.ropeTheta, 12345);
    assert.deepEqual(checkpoint.config.eosIds, [5, 7, 9]);
    assert.equal(checkpoint.config.tiedHead, true);
  });

  test('float16 and bfloat16 values, exactly', async () => {
    const numbers = [0, 1, -1, 0.5, 1.5, -2.25, 65504 / 32, 2 ** -14];
    const halves = { dtype: 'F16', shape: [2, 4], data: new Uint8Array(Uint16Array.from(numbers, halfBits).buffer) };
    const tops = new Uint32Array(Float32Array.from(numbers).buffer).map(bits => bits >>> 16);
    const brains = { dtype: 'BF16', shape: [8], data: new Uint8Array(Uint16Array.from(tops).buffer) };
    // 2047 has more digits than bfloat16 keeps: its upper half is 2040.
    const rounded = numbers.map(value => (value === 2047 ? 2040 : value));
    const checkpoint = await openCheckpoint(await folderWith({ 'model.safetensors': safetensors({ halves, brains }) }));
    assert.deepEqual([...(await checkpoint.readFloat32('halves'))], numbers);
    assert.deepEqual([...(await checkpoint.readFloat32('brains'))], rounded);
    assert.deepEqual([...(await checkpoint.readFloat32('halves', 1, 1))], numbers.slice(4));
    await checkpoint.close();
  });

  test('shards with an index give the same as one file', async () => {
    const one = await openCheckpoint(golden('qwen2'));
    const path = join(folder, 'sharded');
    await cp(golden('qwen2'), path, { recursive: true });
    await rm(join(path, 'model.safetensors'));
    const files = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
    const weightMap: Record<string, string> = {};
    for (const [i, file] of files.entries()) {
      const part: Record<string, Stored> = {};
      for (const name of one.tensorNames.filter((_, n) => n % 2 === i)) {
        const data = new Uint8Array((await one.readFloat32(name)).buffer);
        part[name] = { dtype: 'F32', shape: one.tensor(name).shape, data };
        weightMap[name] = file;
      }
      await writeFile(join(path, file), safetensors(part));
    }
    await writeFile(join(path, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
    const sharded = await openCheckpoint(path);
    checkCheckpoint(sharded);
    for (const name of one.tensorNames) {
      assert.deepEqual(await sharded.readFloat32(name), await one.readFloat32(name), name);
    }
    await sharded.close();
    await one.close();
    weightMap['model.norm.weight'] = '../outside.safetensors';
    await writeFile(join(path, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
    assert.match((await refusal(path)).message, /"\.\.\/outside\.safetensors" is not a plain file name/);
    weightMap['model.norm.weight'] = files[0]!;
    weightMap['model.extra.weight'] = files[1]!;
    await writeFile(join(path, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
    assert.match((await refusal(path)).message, /is missing, though the index says/);
  });

  test('headers that lie', async () => {
    const good = { a: f32(1, 2, 3, 4), b: f32(5, 6) };
    const patch = (name: string, entry: object) =>
      safetensors(good, header => Object.assign(header[name] as object, entry));
    const huge = Buffer.from(safetensors(good));
    huge.writeBigUInt64LE(1n << 60n);
    const cases: [Uint8Array, RegExp][] = [
      [Buffer.from('short'), /only 5 bytes/],
      [huge, /says that its header has 11529215046068\d+ bytes/],
      [new Bytes().number(8, 4).raw(Buffer.from('{{{{....')).done(), /not JSON/],
      [new Bytes().number(8, 4).raw(Buffer.from('[1]    ')).done(), /not a JSON object/],
      [patch('a', { data_offsets: [0, 1 << 30] }), /tensor "a" ends at byte/],
      [patch('a', { data_offsets: [16, 0] }), /tensor "a" ends at byte/],
      [patch('a', { shape: [5] }), /tensor "a" of shape \[5\] does not fill its 16 bytes/],
      [patch('a', { shape: [-4] }), /tensor "a" has no valid/],
      [patch('b', { data_offsets: [12, 20] }), /tensor "b" overlaps another/],
      [safetensors(good).subarray(0, -4), /cut off or is damaged/],
    ];
    for (const [bytes, message] of cases) {
      const error = await refusal(await folderWith({ 'model.safetensors': bytes }));
      assert.match(error.message, message);
      assert.equal(error.code, 'bad-format');
    }
  });

  test('what is not supported or missing is named', async () => {
    const weights = safetensors({ a: f32(1) });
    const configs: [object, string, RegExp][] = [
      [{ model_type: 'gemma2' }, 'unsupported', /model_type "gemma2"/],
      [{ attention_bias: true }, 'unsupported', /attention_bias/],
      [{ use_sliding_window: true }, 'unsupported', /use_sliding_window/],
      [{ hidden_act: 'gelu' }, 'unsupported', /activation "gelu"/],
      [{ rope_parameters: { rope_type: 'yarn', factor: 4 } }, 'unsupported', /rope scaling "yarn"/],
      [{ quantization_config: { bits: 4 } }, 'unsupported', /quantised safetensors/],
      [{ num_hidden_layers: 'three' }, 'bad-format', /num_hidden_layers/],
      [{ num_hidden_layers: 1e9 }, 'bad-format', /layers is 1000000000/],
      [{}, 'bad-format', /model\.embed_tokens\.weight is missing/],
    ];
    for (const [config, code, message] of configs) {
      const error = await refusal(await folderWith({ 'model.safetensors': weights }, config));
      assert.match(error.message, message);
      assert.equal(error.code, code);
    }
    assert.match((await refusal(await folderWith({}))).message, /neither model\.safetensors nor/);
    assert.match((await refusal(join(folder, 'nowhere'))).message, /There is no file or folder/);
    assert.equal((await refusal(join(golden('llama'), 'config.json'))).code, 'usage');
    const checkpoint = await openCheckpoint(golden('llama'));
    await assert.rejects(checkpoint.tokenizer(), { code: 'not-found' });
    await checkpoint.close();
  });

  test('scaled rotary frequencies', async () => {
    const checkpoint = await openCheckpoint(golden('llama3_rope'));
    await checkpoint.close();
    assert.ok(checkpoint.config.family !== 'rwkv7backbone');
    const found = rotaryFrequencies(checkpoint.config);
    // theta^(-i/8). A wavelength under 64/4 tokens stays, one over 64/1 is stretched by 8, between them it is blended.
    const plain = Array.from({ length: 8 }, (_, i) => 500000 ** (-i / 8));
    assert.equal(found[0], plain[0]);
    const turns = (64 * plain[1]!) / (2 * Math.PI);
    assert.ok(turns > 1 && turns < 4);
    const share = (turns - 1) / 3;
    assert.ok(Math.abs(found[1]! - (share * plain[1]! + ((1 - share) * plain[1]!) / 8)) < 1e-12);
    for (let i = 2; i < 8; i++) assert.ok(Math.abs(found[i]! - plain[i]! / 8) < 1e-12, String(i));
  });
});
