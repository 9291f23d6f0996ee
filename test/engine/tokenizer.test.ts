/** The tokenizer over a vocabulary small enough to merge by hand; and what it refuses. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { BYTE_TO_CHARACTER } from '../../src/engine/tokenizer-bytes.js';
import { Merges } from '../../src/engine/tokenizer-merges.js';

const MERGES = ['a b', 'ab c', 'Ġ a', 'b c', 'Ġa b', 'ã ģ'];
const TOKENS = [...BYTE_TO_CHARACTER, ...MERGES.map(merge => merge.replace(' ', ''))];
const CONTROL = TOKENS.length;

type Change = (file: { model: Record<string, unknown>; [key: string]: unknown }) => void;

function load(change: Change = () => {}, config: Record<string, unknown> = {}): TextTokenizer {
  const file = {
    added_tokens: [
      { id: CONTROL, content: '<|end|>', special: true },
      { id: CONTROL + 1, content: '<think>', special: false },
    ],
    normalizer: null as unknown,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Digits', individual_digits: true },
        { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      ],
    },
    model: { type: 'BPE', vocab: Object.fromEntries(TOKENS.map((token, id) => [token, id])), merges: MERGES },
  };
  change(file);
  return TextTokenizer.load(file, { eos_token: { content: '<|end|>' }, ...config });
}

const idOf = (token: string) => TOKENS.indexOf(token);

suite('tokenizer', () => {
  test('merges by rank, the leftmost first, never across pieces', () => {
    const tokenizer = load();
    // ' abc' is one piece: 'a b' comes before 'Ġ a', then 'ab c'; the blank stays.
    const expected: [string, string[]][] = [
      ['abc', ['abc']],
      [' abc', ['Ġ', 'abc']],
      [' a', ['Ġa']],
      ['bcbc', ['bc', 'bc']],
      ['aab', ['a', 'ab']],
      ['ab\nc', ['ab', 'Ċ', 'c']],
      ['a12', ['a', '1', '2']],
      ['', []],
    ];
    for (const [text, tokens] of expected) {
      const { ids, ends } = tokenizer.encode(text);
      assert.deepEqual([...ids], tokens.map(idOf), JSON.stringify(text));
      let length = 0;
      assert.deepEqual(
        [...ends],
        tokens.map(token => (length += token.length)),
      );
    }
  });

  test('a token that ends inside a character ends at its start', () => {
    // 'あ' is E3 81 82: the first two bytes (ã, ģ) merge, the third is a token alone. '😀' is four tokens.
    const { ids, ends } = load().encode('aあ😀b');
    assert.deepEqual([...ids.slice(0, 3)], [idOf('a'), idOf('ãģ'), idOf('Ĥ')]);
    assert.deepEqual([...ends], [1, 1, 2, 2, 2, 2, 4, 5]);
  });

  test('NFC: offsets are those of the text as it was given', () => {
    const tokenizer = load(file => (file['normalizer'] = { type: 'NFC' }));
    const { ids, ends } = tokenizer.encode('xe\u0301y');
    assert.deepEqual([...ids], [idOf('x'), idOf('Ã'), idOf('©'), idOf('y')]);
    assert.deepEqual([...ends], [1, 1, 3, 4]);
  });

  test('bytes that are no token are left out, as Hugging Face does, and offsets go on', () => {
    const tokenizer = load(file => {
      Reflect.deleteProperty(file.model['vocab'] as object, BYTE_TO_CHARACTER[4]!);
    });
    // The two sides of what is left out become neighbours inside a piece: 'a' '\x04' 'b' are three pieces, so they don't.
    const { ids, ends } = tokenizer.encode('a\u0004b');
    assert.deepEqual([...ids], [idOf('a'), idOf('b')]);
    assert.deepEqual([...ends], [1, 3]);
  });

  test('added tokens only where they are asked for', () => {
    const tokenizer = load();
    assert.deepEqual(
      [...tokenizer.encode('a<|end|>b<think>', { special: true }).ids],
      [idOf('a'), CONTROL, idOf('b'), CONTROL + 1],
    );
    assert.deepEqual([...tokenizer.encode('a<|end|>b', { special: true }).ends], [1, 8, 9]);
    assert.equal(tokenizer.encode('<|end|>').ids.length, 7);
    assert.equal(tokenizer.decode([idOf('a'), CONTROL, CONTROL + 1]), 'a<think>');
    assert.equal(tokenizer.eosId, CONTROL);
    assert.deepEqual([...tokenizer.specialIds], [CONTROL]);
  });

  test('any text comes back, and offsets climb to its end', () => {
    const tokenizer = load();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), text => {
        const { ids, ends } = tokenizer.encode(text);
        assert.equal(tokenizer.decode(ids), text);
        ends.forEach((end, i) => assert.ok(end >= (ends[i - 1] ?? 0)));
        assert.equal(ends.at(-1) ?? 0, text.length);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  test('merging with a queue gives what trying every pair gives', () => {
    const merges = new Merges(MERGES, token => (TOKENS.includes(token) ? idOf(token) : undefined));
    /** The definition: of all neighbours that merge, the pair of lowest rank, leftmost; again until there is none. */
    const naive = (ids: readonly number[]): number[] => {
      const tokens = ids.map(id => TOKENS[id]!);
      for (;;) {
        const ranks = tokens.slice(1).map((right, i) => MERGES.indexOf(`${tokens[i]!} ${right}`));
        const best = Math.min(...ranks.filter(rank => rank >= 0));
        if (!Number.isFinite(best)) return tokens.map(idOf);
        const at = ranks.indexOf(best);
        tokens.splice(at, 2, tokens[at]! + tokens[at + 1]!);
      }
    };
    const letter = fc.constantFrom('a', 'b', 'c', 'Ġ', 'ã', 'ģ').map(idOf);
    fc.assert(
      fc.property(fc.array(letter, { maxLength: 60 }), ids => {
        assert.deepEqual(merges.apply(ids), naive(ids));
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  test('a long text is cut after a letter where it can be, so merges at the cut stay', () => {
    const tokenizer = load();
    const text = 'abc abc '.repeat(5000);
    const { ids } = tokenizer.encode(text);
    // 'abc', then 9,999 times 'Ġ' 'abc', then the last blank.
    assert.equal(ids.length, 1 + 2 * 9999 + 1);
    assert.equal(tokenizer.encode('a'.repeat(40_000)).ends.at(-1), 40_000);
    assert.equal(tokenizer.decode(tokenizer.encode('x' + '😀'.repeat(20_000)).ids).length, 40_001);
  });

  test('what is not byte-level BPE is refused by name', () => {
    const cases: [Change, RegExp][] = [
      [file => (file.model['type'] = 'Unigram'), /model "Unigram"/],
      [file => (file.model['byte_fallback'] = true), /byte_fallback/],
      [file => (file['normalizer'] = { type: 'Lowercase' }), /normalizer "Lowercase"/],
      [file => (file['pre_tokenizer'] = { type: 'Metaspace' }), /pre-tokenizer "Metaspace"/],
      [file => (file['pre_tokenizer'] = { type: 'Digits' }), /not byte-level/],
      [file => (file['pre_tokenizer'] = null), /without pre-tokenizer/],
      [file => (file['pre_tokenizer'] = { type: 'ByteLevel', add_prefix_space: true }), /add_prefix_space/],
      [
        file => (file['pre_tokenizer'] = { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated' }),
        /pattern "\("/,
      ],
    ];
    for (const [change, message] of cases) assert.throws(() => load(change), { code: 'unsupported', message });
    assert.throws(() => load(file => (file.model['vocab'] = { a: -1 })), {
      code: 'bad-format',
      message: /model\.vocab/,
    });
    assert.throws(() => load(file => (file.model['merges'] = ['a b', 7])), {
      code: 'bad-format',
      message: /model\.merges/,
    });
    assert.throws(() => TextTokenizer.load(null, {}), { code: 'bad-format' });
  });

  test('chat templates: default of several, none, one that fails', () => {
    const template =
      '{% for m in messages %}<|end|>{{ m.role }}:{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}';
    const named = load(undefined, {
      chat_template: [
        { name: 'tools', template: 'x' },
        { name: 'default', template },
      ],
    });
    const messages = [{ role: 'user', content: 'ab' }] as const;
    assert.equal(named.applyChatTemplate(messages), '<|end|>user:ab>');
    assert.equal(named.applyChatTemplate(messages, { addGenerationPrompt: false }), '<|end|>user:ab');
    assert.deepEqual(
      [...named.encodeChat(messages, { answerPrefix: 'ab' })],
      [CONTROL, ...named.encode('user:ab>ab').ids],
    );
    assert.throws(() => load().applyChatTemplate(messages), { code: 'unsupported' });
    const failing = load(undefined, { chat_template: "{{ raise_exception('no system role') }}" });
    assert.throws(() => failing.applyChatTemplate(messages), { code: 'bad-format', message: /no system role/ });
    assert.throws(() => load(undefined, { chat_template: '{% for %}' }), { code: 'unsupported' });
  });
});
