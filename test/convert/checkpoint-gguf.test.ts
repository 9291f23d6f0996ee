/** GGUF reading: values by the formulas of the format, config, names, tokenizer, what is refused. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkCheckpoint, openCheckpoint } from '../../src/convert/checkpoint/index.js';
import { decodeBlocks } from '../../src/convert/checkpoint/ggml-types.js';
import type { TensorType } from '../../src/convert/checkpoint/index.js';
import {
  FFN,
  KINDS,
  MODEL,
  TOKENS,
  VOCABULARY,
  WIDTH,
  metadata,
  minOf,
  numberOf,
  product,
  scaleOf,
  tensors,
} from './gguf-tiny.js';
import { refusalOf } from './gguf-refusal.js';
import { ggufFile } from './gguf-writer.js';
import type { Meta } from './gguf-writer.js';

suite('GGUF checkpoint', () => {
  let folder: string;
  let next = 0;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-gguf-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  async function write(bytes: Uint8Array): Promise<string> {
    const path = join(folder, `model-${next++}.gguf`);
    await writeFile(path, bytes);
    return path;
  }

  test('config, names, shapes and every value by the formula of its type', async () => {
    const checkpoint = await openCheckpoint(await write(ggufFile(metadata(), tensors())));
    try {
      checkCheckpoint(checkpoint);
      assert.deepEqual(checkpoint.config, {
        family: 'llama',
        layers: 1,
        width: WIDTH,
        heads: 4,
        keyHeads: 2,
        headSize: 16,
        ffnWidth: FFN,
        vocabulary: VOCABULARY,
        ropeTheta: 100000,
        normEpsilon: 1e-5,
        tiedHead: true,
        qkvBias: false,
        qkNorm: false,
        contextLength: 2048,
        bosId: 1,
        eosIds: [2],
      });
      assert.equal(checkpoint.rotaryPairs, 'adjacent');
      assert.deepEqual([...checkpoint.tensorNames].sort(), MODEL.map(([, name]) => name).sort());
      for (const [, name, shape, kind] of MODEL) {
        assert.deepEqual(checkpoint.tensor(name), { shape, dtype: kind });
        const values = await checkpoint.readFloat32(name);
        assert.deepEqual(
          [...values],
          Array.from({ length: product(shape) }, (_, e) => KINDS[kind].value(e)),
          name,
        );
      }
    } finally {
      await checkpoint.close();
    }
  });

  test('rows 3 to 5 are the same values as in the whole; rows outside are refused', async () => {
    const checkpoint = await openCheckpoint(await write(ggufFile(metadata(), tensors())));
    try {
      const name = 'model.layers.0.mlp.down_proj.weight';
      const rows = await checkpoint.readFloat32(name, 3, 2);
      assert.deepEqual(
        [...rows],
        Array.from({ length: 2 * FFN }, (_, e) => KINDS.Q4_1.value(3 * FFN + e)),
      );
      await assert.rejects(checkpoint.readFloat32(name, 63, 2), { code: 'usage' });
      await assert.rejects(checkpoint.readFloat32('model.norm.bias'), { code: 'bad-format' });
    } finally {
      await checkpoint.close();
    }
  });

  test('stored blocks: scale, minimum and number of every element', async () => {
    const checkpoint = await openCheckpoint(await write(ggufFile(metadata(), tensors())));
    try {
      const found = await checkpoint.readBlocks('model.layers.0.mlp.down_proj.weight', 10, 4);
      assert.ok(found?.mins);
      assert.deepEqual([found.dtype, found.rows, found.blocksPerRow, found.blockSize], ['Q4_1', 4, 3, 32]);
      const numbers = Array.from({ length: 12 }, (_, b) => b + 30);
      assert.deepEqual([...found.scales], numbers.map(scaleOf));
      assert.deepEqual([...found.mins], numbers.map(minOf));
      const expected = numbers.flatMap(b => Array.from({ length: 32 }, (_, i) => numberOf(b, i, 16)));
      assert.deepEqual([...found.values], expected);
      const embedding = await checkpoint.readBlocks('model.embed_tokens.weight', 0, 1);
      assert.equal(embedding?.mins, undefined);
      assert.deepEqual([...embedding!.values].slice(0, 3), [-127, -120, -113]);
      const keys = await checkpoint.readBlocks('model.layers.0.self_attn.k_proj.weight', 0, 1);
      assert.deepEqual([...keys!.values].slice(0, 3), [-8, -1, 6]);
      assert.equal(await checkpoint.readBlocks('model.layers.0.mlp.up_proj.weight'), undefined);
    } finally {
      await checkpoint.close();
    }
  });

  test('blocks of every quantised type as gguf-py decodes them', async () => {
    // fixtures/gguf/blocks.json says where its values come from.
    const fixture = JSON.parse(
      await readFile(new URL('../../../test/fixtures/gguf/blocks.json', import.meta.url), 'utf8'),
    ) as { blocks: Record<string, { raw: string; values: string }> };
    assert.equal(Object.keys(fixture.blocks).length, 8);
    for (const [type, { raw, values }] of Object.entries(fixture.blocks)) {
      const expected = new Float32Array(Uint8Array.from(Buffer.from(values, 'base64')).buffer);
      const found = new Float32Array(expected.length);
      decodeBlocks(type as TensorType, Buffer.from(raw, 'base64'), found, 0);
      // Adding 0 makes -0 and 0 the same.
      assert.deepEqual(
        found.map(value => value + 0),
        expected.map(value => value + 0),
        type,
      );
    }
  });

  test('tokenizer files hold the vocabulary, control tokens as added ones, the template', async () => {
    const checkpoint = await openCheckpoint(await write(ggufFile(metadata(), tensors())));
    try {
      const { tokenizerJson, tokenizerConfig } = await checkpoint.tokenizer();
      const model = tokenizerJson['model'] as { vocab: Record<string, number>; merges: string[] };
      assert.deepEqual(
        model.vocab,
        Object.assign(Object.create(null), Object.fromEntries(TOKENS.map((t, i) => [t, i]))),
      );
      assert.deepEqual(model.merges, ['a b', 'Ġ a', 'ab c']);
      const added = tokenizerJson['added_tokens'] as { id: number; content: string; special: boolean }[];
      assert.deepEqual(
        added.map(({ id, content, special }) => [id, content, special]),
        [
          [0, '<|endoftext|>', true],
          [1, '<|im_start|>', true],
          [2, '<|im_end|>', true],
        ],
      );
      assert.equal(tokenizerConfig['bos_token'], '<|im_start|>');
      assert.equal(tokenizerConfig['eos_token'], '<|im_end|>');
      assert.equal(tokenizerConfig['chat_template'], '{{ messages }}');
    } finally {
      await checkpoint.close();
    }
  });

  test('Llama 3 divisors of the rotary frequencies', async () => {
    const factors = Float32Array.from({ length: 8 }, (_, i) => 1 + i);
    const freqs = { name: 'rope_freqs.weight', shape: [8], type: 0, data: new Uint8Array(factors.buffer) };
    const checkpoint = await openCheckpoint(await write(ggufFile(metadata(), [...tensors(), freqs])));
    assert.ok(checkpoint.config.family !== 'rwkv7backbone');
    assert.deepEqual(checkpoint.config.ropeScaling, { kind: 'factors', factors: [1, 2, 3, 4, 5, 6, 7, 8] });
    await checkpoint.close();
  });

  test('what is not supported is named', async () => {
    const cases: [Record<string, Meta | undefined>, RegExp][] = [
      [{ 'general.architecture': { type: 'text', value: 'gemma3' } }, /architecture "gemma3"/],
      [{ 'llama.expert_count': { type: 'u32', value: 8 } }, /mixture of experts/],
      [{ 'llama.rope.dimension_count': { type: 'u32', value: 8 } }, /rotation of 8 of 16/],
      [{ 'llama.rope.scaling.type': { type: 'text', value: 'yarn' } }, /rope scaling "yarn"/],
      [{ 'tokenizer.ggml.model': { type: 'text', value: 'llama' } }, /tokenizer model "llama"/],
      [{ 'tokenizer.ggml.pre': { type: 'text', value: 'tekken' } }, /pre-tokenizer "tekken"/],
    ];
    for (const [changes, message] of cases) {
      const error = await refusalOf(folder, ggufFile(metadata(changes), tensors()));
      assert.match(error.message, message);
      assert.equal(error.code, 'unsupported');
    }
    const extra = { name: 'blk.0.ffn_gate_exps.weight', shape: [32], type: 0, data: new Uint8Array(128) };
    assert.match((await refusalOf(folder, ggufFile(metadata(), [...tensors(), extra]))).message, /ffn_gate_exps/);
    const iq = tensors().map(t =>
      t.name === 'blk.0.attn_q.weight' ? { ...t, type: 20, data: new Uint8Array(2304) } : t,
    );
    assert.match((await refusalOf(folder, ggufFile(metadata(), iq))).message, /q_proj\.weight is stored as "IQ4_NL"/);
  });

  test('a config or tensor that does not fit is named', async () => {
    const cases: [Record<string, Meta | undefined>, RegExp][] = [
      [{ 'llama.block_count': undefined }, /llama\.block_count is missing/],
      [{ 'llama.block_count': { type: 'text', value: 'one' } }, /llama\.block_count is not a number/],
      [{ 'llama.block_count': { type: 'u32', value: 0xffffffff } }, /layers is 4294967295/],
      [{ 'llama.block_count': { type: 'u32', value: 2 } }, /model\.layers\.1\.input_layernorm\.weight is missing/],
      [{ 'llama.attention.head_count_kv': { type: 'u32', value: 3 } }, /cannot share 3 key heads/],
      [
        { 'llama.feed_forward_length': { type: 'u32', value: 128 } },
        /has shape \[96, 64\], its config says \[128, 64\]/,
      ],
      [{ 'tokenizer.ggml.eos_token_id': { type: 'u32', value: 40 } }, /token id 40/],
      [{ 'tokenizer.ggml.token_type': { type: 'i32s', value: [1] } }, /38 tokens have 1 types/],
    ];
    for (const [changes, message] of cases) {
      const error = await refusalOf(folder, ggufFile(metadata(changes), tensors()));
      assert.match(error.message, message);
      assert.equal(error.code, 'bad-format');
    }
  });
});
