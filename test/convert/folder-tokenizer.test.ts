/** Tokenizers of Hugging Face folders: GPT-2's two files beside `tokenizer.json`, and when they are not enough. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckpoint } from '../../src/convert/index.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { goldenFolder } from './golden-folder.js';

suite('tokenizer of a Hugging Face folder', () => {
  let folder: string;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-folder-tokenizer-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  // A few letters of GPT-2's alphabet (Ġ is a blank, Ċ a line end), one merge of them over another, its control token.
  const vocabulary = { a: 0, b: 1, c: 2, '1': 3, Ġ: 4, Ċ: 5, '#': 6, ab: 7, Ġab: 8, '##': 9, '<|endoftext|>': 10 };
  const merges = '#version: 0.2\na b\nĠ ab\n# #\n';

  async function folderWith(files: Record<string, string>, config: object = {}): Promise<string> {
    const path = await goldenFolder(folder, 'fixed', config);
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }

  async function tokenizerOf(path: string): Promise<TextTokenizer> {
    const checkpoint = await openCheckpoint(path);
    try {
      const { tokenizerJson, tokenizerConfig } = await checkpoint.tokenizer();
      return TextTokenizer.load(tokenizerJson, tokenizerConfig);
    } finally {
      await checkpoint.close();
    }
  }

  const files = { 'vocab.json': JSON.stringify(vocabulary), 'merges.txt': merges };

  test('vocab.json and merges.txt: merges in order, words split as GPT-2 does, the control token is none of the text', async () => {
    for (const lineEnd of ['\n', '\r\n']) {
      const path = await folderWith({ ...files, 'merges.txt': merges.replaceAll('\n', lineEnd) });
      const tokenizer = await tokenizerOf(path);
      // Pieces by GPT-2's rule: `ab`, ` ab`, ` abc` (blank and letters), `11` (digits together), `##`, the line end.
      assert.deepEqual([...tokenizer.encode('ab ab abc11##\n').ids], [7, 8, 8, 2, 3, 3, 9, 5]);
      assert.equal(tokenizer.eosId, 10);
      assert.equal(tokenizer.bosId, 10);
      assert.equal(tokenizer.addsBos, false);
      assert.deepEqual([...tokenizer.specialIds], [10]);
      assert.equal(tokenizer.decode([8, 2, 10, 5]), ' abc\n');
      assert.deepEqual([...tokenizer.encode('ab<|endoftext|>', { special: true }).ids], [7, 10]);
    }
  });

  test('the end of a text comes from the tokenizer where the config names none', async () => {
    for (const [config, expected] of [
      [{}, [10]],
      [{ eos_token_id: 3 }, [3]],
    ] as const) {
      const checkpoint = await openCheckpoint(await folderWith(files, config));
      await checkpoint.close();
      assert.deepEqual(checkpoint.config.eosIds, expected);
    }
  });

  test('tokenizer.json goes first', async () => {
    const other = { model: { type: 'BPE', vocab: { z: 0 }, merges: [] }, added_tokens: [] };
    const path = await folderWith({ ...files, 'tokenizer.json': JSON.stringify(other) });
    const checkpoint = await openCheckpoint(path);
    assert.deepEqual((await checkpoint.tokenizer()).tokenizerJson, other);
    await checkpoint.close();
  });

  test('another kind of tokenizer needs its tokenizer.json; a damaged one is named', async () => {
    const cases: [Record<string, string>, string, RegExp][] = [
      [
        { ...files, 'tokenizer_config.json': '{"tokenizer_class":"Qwen2Tokenizer"}' },
        'unsupported',
        /"Qwen2Tokenizer"/,
      ],
      [{ 'vocab.json': files['vocab.json'] }, 'not-found', /merges\.txt/],
      [{}, 'not-found', /tokenizer\.json/],
      [{ ...files, 'vocab.json': '{"a":"b"}' }, 'bad-format', /vocab\.json: "a" has no id/],
      [{ ...files, 'vocab.json': '{"a":128}' }, 'bad-format', /token "a" has id 128, the embedding only 128 rows/],
      [{ ...files, 'merges.txt': 'a b\nab\n' }, 'bad-format', /merges\.txt: "ab" is no pair/],
    ];
    for (const [given, code, message] of cases) {
      await assert.rejects(tokenizerOf(await folderWith(given)), (error: Error & { code?: string }) => {
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      });
    }
  });
});
