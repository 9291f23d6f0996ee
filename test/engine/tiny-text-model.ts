/**
 * A tiny model that reads text: one token a byte, ids the bytes' values, two control tokens in place of the bytes 254 and
 * 255, which UTF-8 never uses. With recall heads and random values for them. Never trained: its texts are noise.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecallSettings } from '../../src/engine/graph-contract.js';
import type { Model } from '../../src/engine/model.js';
import { BYTE_TO_CHARACTER } from '../../src/engine/tokenizer-bytes.js';
import type { ModelEntry } from '../../src/convert/index.js';
import type { Tensor } from '../reference/safetensors.js';
import { writeSafetensors } from '../reference/safetensors.js';
import { seededRandom, tinyModel, tinyReading, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';
import type { TinyFolder } from './tiny-engine.js';

export const START = 254;
export const END = 255;

/** First 4 tokens, so the sinks: START, `i`, `n`, space. */
export const PREFIX = '<|start|>in {label}:\n';

export const tokenizerJson = {
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  added_tokens: [
    { id: START, content: '<|start|>', special: true },
    { id: END, content: '<|end|>', special: true },
  ],
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(BYTE_TO_CHARACTER.slice(0, START).map((character, byte) => [character, byte])),
    merges: [],
  },
};

export const tokenizerConfig = {
  eos_token: '<|end|>',
  chat_template:
    '{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>{% endfor %}' +
    '{% if add_generation_prompt %}<|start|>assistant\n{% endif %}',
};

/** Two heads read the same key head, (2, 1): 5 query heads on 4 key heads. */
export const recall: RecallSettings = {
  heads: [
    [1, 0],
    [1, 4],
    [2, 5],
    [2, 3],
    [0, 3],
  ],
  queryPosition: 24,
  before: '<|start|>find ',
  after: '<|end|>def',
  contentless: 'N/A',
};

/** The recall key heads as [layer, key head], in the order of the query heads that first read them. */
export const recallKeyHeads = [
  [1, 0],
  [1, 1],
  [2, 1],
  [0, 1],
] as const;
export const recallKeyHeadOf = [0, 1, 2, 2, 3];

export function recallValues(): Map<string, Tensor> {
  const random = seededRandom(31);
  const heads = recall.heads.length;
  const tensor = (shape: number[], spread: number, middle = 0): Tensor => {
    const length = shape.reduce((a, b) => a * b, 1);
    return { shape, data: Float32Array.from({ length }, () => middle + (random() * 2 - 1) * spread) };
  };
  return new Map([
    ['query_map', tensor([heads, 8, 8], 0.3)],
    ['log_temperature', tensor([heads], 0.4)],
    ['weight', tensor([heads], 0.5, 1)],
    ['null_weight', tensor([heads], 0.2, 0.3)],
    ['length_exponent', tensor([heads], 0.2, 0.5)],
    ['log_floor', tensor([heads], 1, -7)],
    ['row_direction', tensor([heads, 8], 1.5)],
  ]);
}

/** Converted into `folder` and loaded. The weights are those of the llama variant, read as `tinyReading` says. */
export async function tinyTextModel(
  folder: TinyFolder,
  name = 'text',
  entry: Partial<ModelEntry> = {},
): Promise<Model> {
  const source = join(folder.path, `${name}-checkpoint`);
  writeTinyModel(tinyModel(tinyVariants.llama.model), source);
  writeFileSync(join(source, 'tokenizer.json'), JSON.stringify(tokenizerJson));
  writeFileSync(join(source, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  const recallFile = join(source, 'recall.safetensors');
  writeSafetensors(recallFile, recallValues());
  return folder.convert(source, name, 'f32', { kvm: { ...tinyReading, prefix: PREFIX }, recall, recallFile, ...entry });
}
