/** Splitting as each model family does it, from the GGUF name of its pre-tokenizer to the pieces. No vocabulary needed. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckpoint } from '../../src/convert/checkpoint/index.js';
import { piecesOf, splittingRules } from '../../src/engine/tokenizer-splitting.js';
import { metadata, tensors } from '../convert/gguf-tiny.js';
import { ggufFile } from '../convert/gguf-writer.js';

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`../../../test/fixtures/tokenizer/${name}`, import.meta.url), 'utf8')) as unknown;

suite('splitting', () => {
  let folder: string;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-splitting-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  async function rulesOf(pre: string): Promise<readonly RegExp[]> {
    const path = join(folder, `${pre}.gguf`);
    await writeFile(path, ggufFile(metadata({ 'tokenizer.ggml.pre': { type: 'text', value: pre } }), tensors()));
    const checkpoint = await openCheckpoint(path);
    try {
      return splittingRules((await checkpoint.tokenizer()).tokenizerJson['pre_tokenizer']);
    } finally {
      await checkpoint.close();
    }
  }

  // fixtures/tokenizer/pieces.json says where its numbers come from.
  for (const pre of ['smollm', 'qwen2', 'llama-bpe']) {
    test(`${pre}: Hugging Face's pieces`, async () => {
      const { texts } = (await fixture('smollm2.json')) as { texts: { name: string; text: string }[] };
      const { pieces } = (await fixture('pieces.json')) as { pieces: Record<string, Record<string, number[]>> };
      const rules = await rulesOf(pre);
      assert.equal(texts.length, 14);
      for (const { name, text } of texts) {
        const points = Array.from(text);
        const expected = pieces[pre]![name]!.map((end, i, ends) => points.slice(ends[i - 1] ?? 0, end).join(''));
        assert.deepEqual([...piecesOf(text, rules)], expected, name);
      }
    });
  }

  test('a text longer than a stretch is cut where no piece lies across', async () => {
    const rules = await rulesOf('qwen2');
    // Words of 1 to 9 letters, signs and line ends in a fixed order; in parts of 50 words, each short, and in one go.
    const parts = Array.from({ length: 100 }, (_, p) =>
      Array.from(
        { length: 50 },
        (_, w) => `${'abcdefghi'.slice(0, 1 + ((p + w) % 9))}${['', ';', '()', ' ='][(p * w) % 4]!}`,
      ).join((p & 1) === 0 ? ' ' : '\n  '),
    );
    const text = parts.map(part => `${part}x`).join(' ');
    const apart = parts.flatMap((part, i) => [...piecesOf(`${i === 0 ? '' : ' '}${part}x`, rules)]);
    assert.ok(text.length > 2 * 16_384);
    assert.deepEqual([...piecesOf(text, rules)], apart);
  });
});
