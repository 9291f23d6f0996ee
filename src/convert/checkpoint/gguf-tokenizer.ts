/**
 * The objects of `tokenizer.json` and `tokenizer_config.json`, built from GGUF metadata (byte-level BPE, model "gpt2").
 * A pre-tokenizer that is not known is refused by name: a wrong one would give other ids without any error.
 */
import { LongviewError, quoted } from '../../base/index.js';
import { BYTE_LEVEL, GPT2_SPLITTING, bytePairTokenizer } from './bpe-tokenizer.js';
import type { AddedToken, Splitting } from './bpe-tokenizer.js';
import type { TokenizerFiles } from './checkpoint.js';
import type { MetadataReader } from './gguf-metadata.js';

/** `tokenizer.ggml.token_type`. */
const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;

function splitBy(regex: string): readonly object[] {
  return [
    { type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false },
    { ...BYTE_LEVEL, use_regex: false },
  ];
}

/** Letters with one sign before them, numbers of at most `digits`, signs with their line ends, line ends, blanks. */
function wordsAndNumbers(digits: string): string {
  return [
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+',
    `\\p{N}${digits}`,
    ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|');
}

/** By `tokenizer.ggml.pre`. */
const SPLITTINGS = new Map<string, Splitting>([
  ['gpt-2', GPT2_SPLITTING],
  [
    'smollm',
    {
      preTokenizers: [
        { type: 'Digits', individual_digits: true },
        { ...BYTE_LEVEL, use_regex: true },
      ],
    },
  ],
  ['qwen2', { preTokenizers: splitBy(wordsAndNumbers('')), normalizer: { type: 'NFC' } }],
  ['llama-bpe', { preTokenizers: splitBy(wordsAndNumbers('{1,3}')), ignoreMerges: true }],
]);

/** Throws `unsupported` (another tokenizer model or pre-tokenizer) or `bad-format`. */
export function ggufTokenizer(metadata: MetadataReader): TokenizerFiles {
  const { source } = metadata;
  const model = metadata.text('tokenizer.ggml.model');
  if (model !== 'gpt2') {
    throw new LongviewError('unsupported', `${source.name}: tokenizer model ${quoted(model)} is not supported.`);
  }
  const pre = metadata.text('tokenizer.ggml.pre');
  const splitting = SPLITTINGS.get(pre);
  if (!splitting) {
    const known = [...SPLITTINGS.keys()].join(', ');
    throw new LongviewError(
      'unsupported',
      `${source.name}: pre-tokenizer ${quoted(pre)} is not supported; ${known} are.`,
    );
  }
  const tokens = metadata.texts('tokenizer.ggml.tokens');
  const types = metadata.numbers('tokenizer.ggml.token_type');
  if (types.length !== tokens.length) throw source.bad(`${tokens.length} tokens have ${types.length} types`);
  const vocabulary: Record<string, number> = Object.create(null) as Record<string, number>;
  const added: AddedToken[] = [];
  tokens.forEach((content, id) => {
    const type = types[id];
    const isAdded = type === CONTROL || type === USER_DEFINED;
    if (type !== NORMAL && !isAdded) return;
    vocabulary[content] = id;
    if (isAdded) added.push({ id, content, special: type === CONTROL });
  });
  const tokenAt = (key: string) => {
    const id = metadata.optionalNumber(`tokenizer.ggml.${key}_token_id`);
    return id === undefined ? null : (tokens[id] ?? null);
  };
  const merges = metadata.texts('tokenizer.ggml.merges');
  return {
    tokenizerJson: bytePairTokenizer({ splitting, vocabulary, added, merges }),
    tokenizerConfig: {
      add_prefix_space: false,
      add_bos_token: metadata.optionalFlag('tokenizer.ggml.add_bos_token') ?? pre === 'llama-bpe',
      bos_token: tokenAt('bos'),
      eos_token: tokenAt('eos'),
      pad_token: tokenAt('padding'),
      unk_token: tokenAt('unknown'),
      clean_up_tokenization_spaces: false,
      chat_template: metadata.optionalText('tokenizer.chat_template') ?? null,
    },
  };
}
