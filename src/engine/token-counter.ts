/** A model's tokenizer from its folder, for the engine and for whoever only counts. Never loads weights or graphs. */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LongviewError } from '../base/index.js';
import { FILES } from './graph-contract.js';
import { TextTokenizer } from './tokenizer.js';

/** Throws `bad-format` where a file of the tokenizer is missing or damaged; `name` is the model's, for the message. */
export async function loadTokenizer(modelFolder: string, name: string): Promise<TextTokenizer> {
  const json = async (file: string): Promise<unknown> => {
    try {
      return JSON.parse(await readFile(join(modelFolder, file), 'utf8'));
    } catch (error) {
      const advice = `Remove it with \`longview model remove ${name}\` and add it again.`;
      throw new LongviewError('bad-format', `Model "${name}" has no usable ${file}. ${advice}`, { cause: error });
    }
  };
  return TextTokenizer.load(await json(FILES.tokenizer), await json(FILES.tokenizerConfig));
}

/** Counts a text's tokens as the engine of that model does, without starting one. */
export async function openTokenCounter(modelFolder: string): Promise<(text: string) => number> {
  const tokenizer = await loadTokenizer(modelFolder, basename(modelFolder));
  return text => tokenizer.count(text);
}
