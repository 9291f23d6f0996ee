/**
 * The tokenizer of a Hugging Face folder: `tokenizer.json`, else GPT-2's `vocab.json` and `merges.txt`. Two files like
 * these say nothing of how text is split before merging, so they are taken for GPT-2's only where that is certain.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, quoted } from '../../base/index.js';
import { GPT2_SPLITTING, bytePairTokenizer } from './bpe-tokenizer.js';
import type { AddedToken } from './bpe-tokenizer.js';
import { readJsonObject, readSmallText } from './byte-source.js';
import type { CheckpointConfig, TokenizerFiles } from './checkpoint.js';

const SMALL_JSON = 8 << 20;
const TOKENIZER_JSON = 128 << 20;
/** GPT-2's only control token: begins and ends a text. */
const END_OF_TEXT = '<|endoftext|>';

/** Throws `not-found` where the folder has no tokenizer, `unsupported`, `bad-format`. */
export async function folderTokenizer(folder: string, config: CheckpointConfig): Promise<TokenizerFiles> {
  const tokenizerConfig = (await readIfThere(join(folder, 'tokenizer_config.json'))) ?? {};
  const template = join(folder, 'chat_template.jinja');
  if (tokenizerConfig['chat_template'] === undefined && (await exists(template))) {
    tokenizerConfig['chat_template'] = await readSmallText(template, SMALL_JSON);
  }
  const path = join(folder, 'tokenizer.json');
  if ((await exists(path)) || !(await exists(join(folder, 'vocab.json')))) {
    return { tokenizerJson: await readJsonObject(path, TOKENIZER_JSON), tokenizerConfig };
  }
  const kind = tokenizerConfig['tokenizer_class'] ?? (config.family === 'rwkv7backbone' ? 'GPT2Tokenizer' : undefined);
  if (kind !== 'GPT2Tokenizer' && kind !== 'GPT2TokenizerFast') {
    const found = kind === undefined ? 'an unknown kind' : quoted(kind);
    throw new LongviewError('unsupported', `${folder}: a tokenizer of ${found} needs its tokenizer.json.`);
  }
  return gpt2Tokenizer(folder, tokenizerConfig, config.vocabulary);
}

/** The id that ends a text, where the tokenizer names one. */
export function endOfTextId({ tokenizerJson, tokenizerConfig }: TokenizerFiles): number | undefined {
  const named = tokenizerConfig['eos_token'] as { content?: unknown } | string | null | undefined;
  const content = typeof named === 'string' ? named : named?.content;
  if (typeof content !== 'string') return undefined;
  const { added_tokens: added, model } = tokenizerJson as {
    added_tokens?: ({ id?: unknown; content?: unknown } | null)[];
    model?: { vocab?: Record<string, unknown> | null } | null;
  };
  const listed = Array.isArray(added) ? added.find(token => token?.content === content)?.id : undefined;
  const id = listed ?? (model?.vocab && Object.hasOwn(model.vocab, content) ? model.vocab[content] : undefined);
  return typeof id === 'number' ? id : undefined;
}

async function gpt2Tokenizer(
  folder: string,
  config: Record<string, unknown>,
  embedded: number,
): Promise<TokenizerFiles> {
  const vocabulary = idsOf('vocab.json', await readJsonObject(join(folder, 'vocab.json'), TOKENIZER_JSON));
  const more = idsOf('added_tokens.json', (await readIfThere(join(folder, 'added_tokens.json'))) ?? {});
  for (const [token, id] of [...Object.entries(vocabulary), ...Object.entries(more)]) {
    if (id < embedded) continue;
    const reason = `token ${quoted(token)} has id ${id}, the embedding only ${embedded} rows`;
    throw new LongviewError('bad-format', `${folder}: ${reason}.`);
  }
  const text = await readSmallText(join(folder, 'merges.txt'), TOKENIZER_JSON);
  const lines = text.replace(/^#version[^\n]*\n/, '').split(/\r?\n/);
  const merges = lines.filter(line => line !== '');
  const wrong = merges.find(line => !/^\S+ \S+$/.test(line));
  if (wrong !== undefined) {
    throw new LongviewError('bad-format', `merges.txt: ${quoted(wrong)} is no pair of tokens.`);
  }
  const added: AddedToken[] = Object.entries(more).map(([content, id]) => ({ id, content, special: true }));
  const end = vocabulary[END_OF_TEXT];
  if (end !== undefined) added.push({ id: end, content: END_OF_TEXT, special: true });
  const names = end === undefined ? {} : { bos_token: END_OF_TEXT, eos_token: END_OF_TEXT };
  return {
    tokenizerJson: bytePairTokenizer({ splitting: GPT2_SPLITTING, vocabulary, added, merges }),
    tokenizerConfig: { add_bos_token: false, ...names, ...config },
  };
}

/** A table of token ids; without a prototype, for a token may have any name. */
function idsOf(file: string, table: Record<string, unknown>): Record<string, number> {
  const ids = Object.create(null) as Record<string, number>;
  for (const [token, id] of Object.entries(table)) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > 4_194_304) {
      throw new LongviewError('bad-format', `${file}: ${quoted(token)} has no id that can be.`);
    }
    ids[token] = id;
  }
  return ids;
}

export async function readIfThere(path: string): Promise<Record<string, unknown> | undefined> {
  return (await exists(path)) ? readJsonObject(path, SMALL_JSON) : undefined;
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
