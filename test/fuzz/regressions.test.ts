/** What fuzzing found, each by its name: inputs that once crashed, hung, were believed, or filled the screen. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LongviewError, messageOf, quoted } from '../../src/base/index.js';
import { convertModel, openCheckpoint } from '../../src/convert/index.js';
import { endOfTextId } from '../../src/convert/checkpoint/folder-tokenizer.js';
import { MANIFEST_FILE } from '../../src/engine/graph-contract.js';
import { readManifest } from '../../src/engine/manifest.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { recallValues, tinyTextModel, tokenizerConfig, tokenizerJson } from '../engine/tiny-text-model.js';
import { writeSafetensors } from '../reference/safetensors.js';
import { TinyCheckpoint, safetensorsOf } from './tiny-checkpoint.js';

suite('found by fuzzing', function () {
  this.timeout(60_000);

  suite('tokenizers', () => {
    const load = (change: object) => TextTokenizer.load({ ...tokenizerJson, ...change }, tokenizerConfig);
    const nested = (times: number): unknown =>
      times === 0 ? tokenizerJson.pre_tokenizer : { type: 'Sequence', pretokenizers: [nested(times - 1)] };

    test('a Sequence in a Sequence splits as its steps do; one that nests without end is refused', () => {
      const ids = [...load({}).encode('ab 12').ids];
      // One token a byte.
      assert.deepEqual(ids, [...Buffer.from('ab 12')]);
      for (const times of [1, 2, 8])
        assert.deepEqual([...load({ pre_tokenizer: nested(times) }).encode('ab 12').ids], ids);
      const refused = { code: 'unsupported', message: 'tokenizer.json: a Sequence nested so deeply is not supported.' };
      assert.throws(() => load({ pre_tokenizer: nested(9) }), refused);
      assert.throws(() => load({ pre_tokenizer: nested(3000) }), refused);
    });

    test('two tokens with one id are damage; one token listed twice is not', () => {
      const twice = { code: 'bad-format', message: /^tokenizer\.json: two tokens have the id 97/ };
      const { vocab } = tokenizerJson.model;
      assert.throws(() => load({ model: { ...tokenizerJson.model, vocab: { ...vocab, b: 97 } } }), twice);
      assert.throws(() => load({ added_tokens: [{ id: 97, content: '<note>' }] }), twice);
      assert.equal(load({ added_tokens: [...tokenizerJson.added_tokens, { id: 97, content: 'a' }] }).size, 256);
    });

    test('null among the added tokens', () => {
      const added = [null, ...tokenizerJson.added_tokens];
      assert.throws(() => load({ added_tokens: added }), {
        code: 'bad-format',
        message: /^tokenizer\.json: added_tokens\.0: /,
      });
      const files = { tokenizerJson: { ...tokenizerJson, added_tokens: added }, tokenizerConfig };
      // `<|end|>` is the last of the list, by its id.
      assert.equal(endOfTextId(files), 255);
    });
  });

  suite('messages', () => {
    test('others’ errors: their first line, nothing that moves the cursor, at most 250 characters', () => {
      assert.equal(messageOf(new Error('one\u001b[2J\u2028two\nthree')), 'one\ufffd[2J\ufffdtwo');
      assert.equal(messageOf(new Error('x'.repeat(5000))), `${'x'.repeat(250)}…`);
    });

    test('values out of a file: quoted, cut, never a line end', () => {
      assert.equal(quoted('a\nb'), '"a\\nb"');
      assert.equal(quoted('\u0085\u2029'), '"\ufffd\ufffd"');
      assert.equal(quoted('x'.repeat(5000)).length, 82);
      assert.deepEqual([quoted([[]]), quoted({}), quoted(null), quoted(7)], ['a list', 'an object', 'null', '7']);
    });

    test('a tensor whose name has a line end, or is as long as a page', async () => {
      const tiny = new TinyCheckpoint();
      try {
        for (const name of ['a\nb', 'n'.repeat(3000)]) {
          const header = { ...tiny.header, [name]: { dtype: 'F32', shape: [1], data_offsets: [0, 999_999] } };
          tiny.write('model.safetensors', safetensorsOf(Buffer.from(JSON.stringify(header)), tiny.data));
          await assert.rejects(openCheckpoint(tiny.folder), (error: unknown) => {
            assert(error instanceof LongviewError && error.code === 'bad-format');
            assert(!error.message.includes('\n') && error.message.length < 400, error.message);
            return true;
          });
        }
      } finally {
        tiny.dispose();
      }
    });
  });

  suite('checkpoints', () => {
    let tiny: TinyCheckpoint;
    setup(() => (tiny = new TinyCheckpoint()));
    teardown(() => tiny.dispose());

    test('a named pipe in a file’s place is no file, and nobody waits for its writer', async function () {
      if (process.platform === 'win32') this.skip();
      const pipe = tiny.path('pipe.gguf');
      execFileSync('mkfifo', [pipe]);
      const refused = { code: 'usage', message: /is not a file\.$/ };
      await assert.rejects(openCheckpoint(pipe), refused);
      for (const name of ['config.json', 'model.safetensors', 'generation_config.json']) {
        const kept = existsSync(tiny.path(name)) ? readFileSync(tiny.path(name)) : undefined;
        rmSync(tiny.path(name), { force: true });
        execFileSync('mkfifo', [tiny.path(name)]);
        await assert.rejects(openCheckpoint(tiny.folder), refused, name);
        rmSync(tiny.path(name));
        if (kept) tiny.write(name, kept);
      }
      await (await openCheckpoint(tiny.folder)).close();
    });

    test('a scalar is one row of one value', async () => {
      const name = 'model.norm.weight';
      const [from] = tiny.header[name]!.data_offsets;
      const header = { ...tiny.header, [name]: { dtype: 'F32', shape: [], data_offsets: [from, from + 4] } };
      tiny.write('model.safetensors', safetensorsOf(Buffer.from(JSON.stringify(header)), tiny.data));
      const checkpoint = await openCheckpoint(tiny.folder);
      try {
        const first = tiny.data.readFloatLE(from);
        assert.deepEqual([...(await checkpoint.readFloat32(name))], [first]);
        assert.deepEqual([...(await checkpoint.readFloat32(name, 0, 1))], [first]);
        await assert.rejects(checkpoint.readFloat32(name, 1, 1), { code: 'usage' });
      } finally {
        await checkpoint.close();
      }
    });

    test('JSON that can be read and not written, for it nests without end: the conversion names its file', async () => {
      const endless = '['.repeat(20_000) + ']'.repeat(20_000);
      tiny.write('tokenizer.json', `${JSON.stringify(tokenizerJson).slice(0, -1)},"more":${endless}}`);
      const target = tiny.path('converted');
      const conversion = convertModel(tiny.folder, target, {
        quantisation: 'f32',
        entry: { name: 'tiny', origin: 'test', licence: 'none' },
        run: () => assert.fail('nothing is to be run'),
      });
      await assert.rejects(conversion, { code: 'bad-format', message: /^tokenizer\.json: Maximum call stack/ });
      assert(!existsSync(join(target, MANIFEST_FILE)));
    });
  });

  suite('recall values', () => {
    const folder = new TinyFolder();
    const copy = join(folder.path, 'copy');
    const file = join(copy, 'recall.safetensors');
    let good: Buffer;
    const damaged = (what: RegExp) => ({ code: 'bad-format', message: what });
    const load = async () => RecallHeads.load(copy, await readManifest(copy));
    suiteSetup(async () => {
      cpSync((await tinyTextModel(folder)).path, copy, { recursive: true });
      good = readFileSync(file);
    });
    suiteTeardown(() => folder.dispose());

    test('headers that are no table of tensors', async () => {
      const data = good.subarray(8 + Number(good.readBigUInt64LE(0)));
      for (const header of ['', 'null', '[]', '{', '{"weight":null}', '{"weight":{"dtype":"F32"}}', '"x"']) {
        writeFileSync(file, safetensorsOf(Buffer.from(header), data));
        await assert.rejects(load(), damaged(/recall values are damaged \(header\)/), header);
      }
      const whole = Buffer.from(good);
      whole.writeBigUInt64LE((1n << 64n) - 1n);
      writeFileSync(file, whole);
      await assert.rejects(load(), damaged(/recall values are damaged \(header\)/));
      writeFileSync(file, good.subarray(0, 7));
      await assert.rejects(load(), damaged(/recall values are damaged \(header\)/));
    });

    test('values that are not finite', async () => {
      for (const name of recallValues().keys()) {
        for (const value of [NaN, Infinity, -Infinity]) {
          const values = recallValues();
          values.get(name)!.data[1] = value;
          writeSafetensors(file, values);
          await assert.rejects(load(), damaged(new RegExp(`recall values are damaged \\(${name}\\)`)));
        }
      }
      writeSafetensors(file, recallValues());
      assert.equal((await load()).queryHeads.length, 5);
    });
  });
});
