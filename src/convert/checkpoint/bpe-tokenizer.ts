/** The object of a `tokenizer.json` for byte-level BPE, from its parts, whatever files they came from. Pure. */

export interface Splitting {
  readonly preTokenizers: readonly object[];
  readonly normalizer?: object;
  /** A piece that is a token as a whole is not split by merges. */
  readonly ignoreMerges?: boolean;
}

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** A control token. */
  readonly special: boolean;
}

export interface BytePairParts {
  readonly splitting: Splitting;
  /** Token, in the byte alphabet of GPT-2, → id; added ones too. */
  readonly vocabulary: Readonly<Record<string, number>>;
  readonly added: readonly AddedToken[];
  /** `a b`, best first. */
  readonly merges: readonly string[];
}

export const BYTE_LEVEL = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };

export const GPT2_SPLITTING: Splitting = { preTokenizers: [{ ...BYTE_LEVEL, use_regex: true }] };

export function bytePairTokenizer({ splitting, vocabulary, added, merges }: BytePairParts): Record<string, unknown> {
  const { preTokenizers, normalizer = null, ignoreMerges = false } = splitting;
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added.map(({ id, content, special }) => ({ id, content, ...flags, special })),
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
      merges,
    },
  };
}
