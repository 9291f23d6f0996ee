/**
 * What is taken from `tokenizer.json` and `tokenizer_config.json`, checked once. Only byte-level BPE is read; anything
 * else is refused by name, since it would give other ids without any error.
 */
import { z } from 'zod';
import { LongviewError, quoted } from '../base/index.js';

const MAX_ID = 4_194_304;
const id = z.number().int().min(0).max(MAX_ID);

/** `a b`, or the two apart. */
export type Merge = string | readonly [string, string];

// By hand: a hundred thousand entries are too many for a schema.
function isVocabulary(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(entry => Number.isInteger(entry) && entry >= 0 && entry <= MAX_ID);
}

function isMergeList(value: unknown): boolean {
  const isText = (part: unknown) => typeof part === 'string';
  const isMerge = (entry: unknown) =>
    isText(entry) || (Array.isArray(entry) && entry.length === 2 && entry.every(isText));
  return Array.isArray(value) && value.every(isMerge);
}

const tokenizerFile = z.object({
  normalizer: z.looseObject({ type: z.string() }).nullish(),
  pre_tokenizer: z.unknown(),
  added_tokens: z.array(z.looseObject({ id, content: z.string().min(1), special: z.boolean().optional() })).default([]),
  model: z.looseObject({
    type: z.literal('BPE').optional(),
    vocab: z.custom<Record<string, number>>(isVocabulary, 'not a table of token ids'),
    merges: z.custom<Merge[]>(isMergeList, 'not a list of pairs'),
    ignore_merges: z.boolean().nullish(),
    byte_fallback: z.boolean().nullish(),
  }),
});

const named = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();

const configFile = z.object({
  bos_token: named,
  eos_token: named,
  pad_token: named,
  unk_token: named,
  add_bos_token: z.boolean().nullish(),
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .nullish()
    .catch(undefined),
});

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** A control token: never shown, never made from a text. */
  readonly special: boolean;
}

export interface TokenizerParts {
  readonly vocabulary: Readonly<Record<string, number>>;
  readonly merges: readonly Merge[];
  readonly ignoreMerges: boolean;
  readonly preTokenizer: unknown;
  readonly nfc: boolean;
  readonly added: readonly AddedToken[];
  readonly names: { readonly [name in 'bos_token' | 'eos_token' | 'pad_token' | 'unk_token']?: string };
  readonly addsBos: boolean;
  readonly chatTemplate?: string;
}

/** Throws `bad-format` or `unsupported`. */
export function readTokenizerFiles(tokenizerJson: unknown, tokenizerConfig: unknown): TokenizerParts {
  const type = (tokenizerJson as { model?: { type?: unknown } } | null)?.model?.type;
  if (type !== undefined && type !== 'BPE') throw unsupported(`model ${quoted(type)}`);
  const file = parse(tokenizerFile, tokenizerJson, 'tokenizer.json');
  const config = parse(configFile, tokenizerConfig, 'tokenizer_config.json');
  if (file.model.byte_fallback) throw unsupported('byte_fallback');
  const normalizer = file.normalizer;
  if (normalizer && normalizer.type !== 'NFC') throw unsupported(`normalizer ${quoted(normalizer.type)}`);
  const template = config.chat_template;
  const chatTemplate =
    typeof template === 'string' ? template : template?.find(({ name }) => name === 'default')?.template;
  const nameOf = (value: z.infer<typeof named>) => (typeof value === 'string' ? value : value?.content);
  return {
    vocabulary: file.model.vocab,
    merges: file.model.merges,
    ignoreMerges: file.model.ignore_merges ?? false,
    preTokenizer: file.pre_tokenizer,
    nfc: normalizer?.type === 'NFC',
    added: file.added_tokens.map(token => ({ id: token.id, content: token.content, special: token.special ?? false })),
    names: {
      bos_token: nameOf(config.bos_token),
      eos_token: nameOf(config.eos_token),
      pad_token: nameOf(config.pad_token),
      unk_token: nameOf(config.unk_token),
    },
    addsBos: config.add_bos_token ?? false,
    ...(chatTemplate !== undefined && { chatTemplate }),
  };
}

function unsupported(what: string): LongviewError {
  return new LongviewError('unsupported', `tokenizer.json: ${what} is not supported; byte-level BPE is.`);
}

function parse<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new LongviewError('bad-format', `${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`);
}
