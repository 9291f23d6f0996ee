/**
 * A Hugging Face folder (config.json, model.safetensors or shards with an index, tokenizer files) as `Checkpoint`.
 * Never follows a name out of the folder.
 */
import { basename, join } from 'node:path';
import { z } from 'zod';
import { LongviewError, quoted } from '../../base/index.js';
import { ByteSource, readJsonObject } from './byte-source.js';
import type { BackboneConfig, Checkpoint } from './checkpoint.js';
import { readBackboneConfig } from './backbone-config.js';
import { endOfTextId, exists, folderTokenizer, readIfThere } from './folder-tokenizer.js';
import { readHfConfig } from './hf-config.js';
import { readSafetensorsHeader } from './safetensors-header.js';
import { StoredCheckpoint } from './stored-checkpoint.js';
import type { StoredTensor } from './tensor-reader.js';

const SMALL_JSON = 8 << 20;
const INDEX_JSON = 64 << 20;
const MAX_SHARDS = 1024;

/** `only` names one weights file of the folder, else it is found. Throws `not-found`, `bad-format`, `unsupported`. */
export async function openHfFolder(folder: string, only?: string): Promise<Checkpoint> {
  const keys = await readJsonObject(join(folder, 'config.json'), SMALL_JSON);
  const generation = await readIfThere(join(folder, 'generation_config.json'));
  const index = only === undefined ? await shardsOf(folder) : undefined;
  const files = index ? [...new Set(index.values())] : [only ?? 'model.safetensors'];
  const sources: ByteSource[] = [];
  try {
    const tensors = new Map<string, StoredTensor>();
    const unreadable = new Map<string, string>();
    for (const file of files) {
      const source = await ByteSource.open(join(folder, file));
      sources.push(source);
      const table = await readSafetensorsHeader(source);
      const mine = (name: string) => index === undefined || index.get(name) === file;
      for (const [name, tensor] of table.tensors) if (mine(name)) tensors.set(name, tensor);
      for (const [name, type] of table.unreadable) if (mine(name)) unreadable.set(name, type);
    }
    for (const [name, file] of index ?? []) {
      if (!tensors.has(name) && !unreadable.has(name)) {
        throw new LongviewError(
          'bad-format',
          `${file}: tensor ${quoted(name)} is missing, though the index says it is there.`,
        );
      }
    }
    const file = join(basename(folder), 'config.json');
    const inputs = { file, config: keys, ...(generation && { generation }) };
    const config =
      keys['model_type'] === 'rwkv7backbone'
        ? await withEndOfText(folder, readBackboneConfig({ ...inputs, rowsOf: name => tensors.get(name)?.shape[0] }))
        : readHfConfig({ ...inputs, hasHead: tensors.has('lm_head.weight') || unreadable.has('lm_head.weight') });
    return new StoredCheckpoint({
      config,
      rotaryPairs: config.family === 'rwkv7backbone' ? 'adjacent' : 'half',
      origin: { kind: 'safetensors', path: folder, files: files.map(file => join(folder, file)) },
      sources,
      tensors,
      unreadable,
      tokenizer: () => folderTokenizer(folder, config),
    });
  } catch (error) {
    for (const source of sources) await source.close();
    throw error;
  }
}

/** Tensor name → shard file, where the folder is sharded and holds no single file. */
async function shardsOf(folder: string): Promise<Map<string, string> | undefined> {
  if (await exists(join(folder, 'model.safetensors'))) return undefined;
  const path = join(folder, 'model.safetensors.index.json');
  if (!(await exists(path))) {
    throw new LongviewError('not-found', `${folder} holds neither model.safetensors nor model.safetensors.index.json.`);
  }
  const parsed = z.record(z.string(), z.string()).safeParse((await readJsonObject(path, INDEX_JSON))['weight_map']);
  if (!parsed.success) throw new LongviewError('bad-format', `${path}: weight_map is not a table of file names.`);
  const index = new Map(Object.entries(parsed.data));
  const files = new Set(index.values());
  for (const file of files) {
    if (!/^[\w.-]{1,200}\.safetensors$/.test(file)) {
      throw new LongviewError('bad-format', `${path}: ${quoted(file)} is not a plain file name.`);
    }
  }
  if (files.size > MAX_SHARDS) throw new LongviewError('bad-format', `${path}: more than ${MAX_SHARDS} shards.`);
  return index;
}

/** The authors' configs name no end of text; their tokenizer does. */
async function withEndOfText(folder: string, config: BackboneConfig): Promise<BackboneConfig> {
  if (config.eosIds.length > 0) return config;
  try {
    const id = endOfTextId(await folderTokenizer(folder, config));
    return id === undefined || id >= config.vocabulary ? config : { ...config, eosIds: [id] };
  } catch (error) {
    // A folder that has no tokenizer, or one that cannot be used, says so when it is asked for it.
    if (error instanceof LongviewError) return config;
    throw error;
  }
}
