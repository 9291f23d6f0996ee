/**
 * The objects of `tokenizer.json` and `tokenizer_config.json`, built from GGUF metadata (byte-level BPE, model "gpt2").
 * A pre-tokenizer that is not known is refused by name: a wrong one would give other ids without any error.
 */
import { LongviewError } from '../../base/index.js';
import type { TokenizerFiles } from './checkpoint.js';
import type { MetadataReader } from './gguf-metadata.js';

/** `tokenizer.ggml.token_type`. */
const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;

interface Splitting {
  readonly preTokenizers: readonly object[];
  readonly normalizer?: object;
  /** A piece that is a token as a whole is not split by merges. */
  readonly ignoreMerges?: boolean;
}

const BYTE_LEVEL = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };

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
  ['gpt-2', { preTokenizers: [{ ...BYTE_LEVEL, use_regex: true }] }],
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
    throw new LongviewError(
      'unsupported',
      `${source.name}: tokenizer model ${JSON.stringify(model)} is not supported.`,
    );
  }
  const pre = metadata.text('tokenizer.ggml.pre');
  const splitting = SPLITTINGS.get(pre);
  if (!splitting) {
    const known = [...SPLITTINGS.keys()].join(', ');
    throw new LongviewError(
      'unsupported',
      `${source.name}: pre-tokenizer ${JSON.stringify(pre)} is not supported; ${known} are.`,
    );
  }
  const tokens = metadata.texts('tokenizer.ggml.tokens');
  const types = metadata.numbers('tokenizer.ggml.token_type');
  if (types.length !== tokens.length) throw source.bad(`${tokens.length} tokens have ${types.length} types`);
  const vocabulary: Record<string, number> = Object.create(null) as Record<string, number>;
  const added: object[] = [];
  tokens.forEach((content, id) => {
    const type = types[id];
    const isAdded = type === CONTROL || type === USER_DEFINED;
    if (type !== NORMAL && !isAdded) return;
    vocabulary[content] = id;
    if (!isAdded) return;
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: type === CONTROL };
    added.push({ id, content, ...flags });
  });
  const tokenAt = (key: string) => {
    const id = metadata.optionalNumber(`tokenizer.ggml.${key}_token_id`);
    return id === undefined ? null : (tokens[id] ?? null);
  };
  const { preTokenizers, normalizer = null, ignoreMerges = false } = splitting;
  return {
    tokenizerJson: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer,
      pre_tokenizer: preTokenizers.length === 1 ? preTokenizers[0] : { type: 'Sequence', pretokenizers: preTokenizers },
      post_processor: null,
      decoder: { ...BYTE_LEVEL, add_prefix_space: true, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: ignoreMerges,
        vocab: vocabulary,
        merges: metadata.texts('tokenizer.ggml.merges'),
      },
    },
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
