/** Hostile tokenizer.json and tokenizer_config.json: loaded as the engine loads them, then used on a short text. */
import assert from 'node:assert/strict';
import { LongviewError } from '../../src/base/index.js';
import { BYTE_TO_CHARACTER } from '../../src/engine/tokenizer-bytes.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { mutateJson } from './json-mutations.js';
import { Trials } from './trials.js';

const WORDS =
  "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
const file = {
  version: '1.0',
  added_tokens: [
    { id: 259, content: '<|start|>', special: true, ...flags },
    { id: 260, content: '<|end|>', special: true, ...flags },
    { id: 261, content: '<note>', special: false, ...flags },
  ],
  normalizer: { type: 'NFC' },
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: WORDS }, behavior: 'Isolated', invert: false },
      { type: 'Digits', individual_digits: true },
      { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
    ],
  },
  model: {
    type: 'BPE',
    ignore_merges: true,
    byte_fallback: false,
    vocab: { ...Object.fromEntries(BYTE_TO_CHARACTER.map((c, byte) => [c, byte])), ab: 256, Ġa: 257, abc: 258 },
    merges: ['a b', ['Ġ', 'a'], 'ab c'],
  },
};
const config = {
  add_bos_token: true,
  bos_token: '<|start|>',
  eos_token: { content: '<|end|>' },
  pad_token: null,
  chat_template:
    '{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>{% endfor %}' +
    '{% if add_generation_prompt %}<|start|>assistant\n{% endif %}',
};
const TEXT = 'abc e\u0301 12345 <|end|> ab\r\n\u{1f600}';

/** As `openEngine` does it: JSON that is none is refused by name before. */
function use(tokenizerJson: string, tokenizerConfig: string): Promise<void> {
  const parse = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      throw new LongviewError('bad-format', 'tokenizer.json: is not JSON.');
    }
  };
  return Promise.resolve().then(() => {
    const tokenizer = TextTokenizer.load(parse(tokenizerJson), parse(tokenizerConfig));
    const { ids, ends } = tokenizer.encode(TEXT);
    assert.equal(ids.length, ends.length);
    assert(
      ends.every((end, i) => end <= TEXT.length && end >= (ends[i - 1] ?? 0)),
      'ends fall or pass the text',
    );
    assert(
      ids.every(id => id < tokenizer.size),
      'an id outside the vocabulary',
    );
    assert.equal(typeof tokenizer.decode(ids), 'string');
    if (tokenizer.hasChatTemplate) tokenizer.encodeChat([{ role: 'user', content: 'a <|end|>' }]);
  });
}

suite('fuzz: tokenizer', function () {
  this.timeout(120_000);
  const trials = new Trials('tokenizer', 20_004);
  suiteSetup(() => trials.start());
  suiteTeardown(() => trials.end());

  const judge = (number: number, did: string, tokenizerJson: string, tokenizerConfig: string) =>
    trials.judge(
      number,
      did,
      { size: tokenizerJson.length + tokenizerConfig.length, names: /tokenizer|chat template/ },
      () => use(tokenizerJson, tokenizerConfig),
    );

  test('as it was written it is used', async () => {
    assert.equal(await judge(-1, 'nothing', JSON.stringify(file), JSON.stringify(config)), 'read');
  });

  test('tokenizer.json', async () => {
    for (const [number, random] of trials.cases(2400)) {
      const { bytes, did } = mutateJson(file, random);
      await judge(number, did, bytes.toString(), JSON.stringify(config));
    }
  });

  test('tokenizer_config.json', async () => {
    for (const [number, random] of trials.cases(600, 100_000)) {
      const { bytes, did } = mutateJson(config, random);
      await judge(number, did, JSON.stringify(file), bytes.toString());
    }
  });
});
