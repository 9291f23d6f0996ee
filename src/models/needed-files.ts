/**
 * Which files of a repository or a folder make a checkpoint: the settings and tokenizer beside the weights, or one GGUF.
 * Looks at names alone and knows each by its exact name, so nothing else is ever downloaded or hashed. Pure.
 */
import { LongviewError } from '../base/index.js';
import { isPlainName } from './hub-id.js';

export interface Named {
  /** Path in the repository. */
  readonly path: string;
  readonly bytes: number;
}

export interface Needed<T extends Named> {
  /** Small ones first: what is wrong with them shows before the weights are there. */
  readonly files: readonly T[];
  /** Path of the GGUF where it is one; else the folder of the files is the checkpoint. */
  readonly gguf?: string;
}

const BESIDE = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
];
/** A tokenizer's older form, of use where there is no tokenizer.json. */
const OLD_TOKENIZER = ['vocab.json', 'merges.txt', 'added_tokens.json'];
const WEIGHTS = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const SHARD = /^model-(\d{5})-of-(\d{5})\.safetensors$/;
const PART_OF_GGUF = /-\d{5}-of-\d{5}\.gguf$/i;

/** `label` is for messages. Throws `not-found`, `usage` (several GGUF files) or `unsupported`, naming what there is. */
export function neededFiles<T extends Named>(label: string, listed: readonly T[], file?: string): Needed<T> {
  const byPath = new Map(listed.map(entry => [entry.path, entry]));
  if (file !== undefined) return ggufOf(label, byPath, file);
  const weights = weightsOf(label, byPath);
  if (weights) {
    if (!byPath.has('config.json')) throw new LongviewError('unsupported', `${label} has weights but no config.json.`);
    const beside = [...BESIDE, ...(byPath.has('tokenizer.json') ? [] : OLD_TOKENIZER)];
    const small = beside.flatMap(name => byPath.get(name) ?? []);
    return { files: [...small, ...weights] };
  }
  const ggufs = [...byPath.keys()].filter(path => /\.gguf$/i.test(path) && !/(^|[/.-])mmproj/i.test(path));
  if (ggufs.length === 1) return ggufOf(label, byPath, ggufs[0]!);
  if (ggufs.length > 1) {
    const whole = ggufs.filter(path => !PART_OF_GGUF.test(path) && path.split('/').every(isPlainName));
    throw new LongviewError(
      'usage',
      `${label} holds ${ggufs.length} GGUF files: name one of them, as in ${label}/${whole[0] ?? 'FILE.gguf'} (there are ${shortList(whole)}).`,
    );
  }
  throw new LongviewError(
    'unsupported',
    `${label} holds no weights that Longview reads (${WEIGHTS} or .gguf); ${found(byPath)}.`,
  );
}

/** The single file, or the index and all its shards; undefined where there are neither. */
function weightsOf<T extends Named>(label: string, byPath: ReadonlyMap<string, T>): readonly T[] | undefined {
  const single = byPath.get(WEIGHTS);
  if (single) return [single];
  const index = byPath.get(INDEX);
  if (!index) return undefined;
  const shards = [...byPath.values()].filter(({ path }) => SHARD.test(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const count = Number(SHARD.exec(shards[0]?.path ?? '')?.[2] ?? 0);
  const isComplete = shards.length === count && shards.every(({ path }) => Number(SHARD.exec(path)![2]) === count);
  if (count > 0 && isComplete) return [index, ...shards];
  throw new LongviewError(
    'unsupported',
    `${label}: the shards that ${INDEX} speaks of (model-00001-of-… .safetensors) are not all there.`,
  );
}

function ggufOf<T extends Named>(label: string, byPath: ReadonlyMap<string, T>, file: string): Needed<T> {
  const entry = byPath.get(file);
  if (!entry) {
    const ggufs = [...byPath.keys()].filter(path => /\.gguf$/i.test(path));
    const there = ggufs.length === 0 ? 'it holds no GGUF file' : `there are ${shortList(ggufs)}`;
    throw new LongviewError('not-found', `${label} has no file ${JSON.stringify(file)}; ${there}.`);
  }
  if (PART_OF_GGUF.test(file)) {
    throw new LongviewError('unsupported', `${label}: ${file} is one part of a split GGUF; take one that is whole.`);
  }
  if (!file.split('/').every(isPlainName)) {
    throw new LongviewError('unsupported', `${label}: ${JSON.stringify(file)} is no file name that Longview takes.`);
  }
  return { files: [entry], gguf: file };
}

/** What there is instead, for a repository whose weights are of another kind. */
function found(byPath: ReadonlyMap<string, Named>): string {
  const paths = [...byPath.keys()];
  if (paths.some(path => path.startsWith('adapter_model.')))
    return 'it is an adapter, to be merged into its base model first';
  const other = paths.filter(path => /\.(bin|pt|pth|safetensors|onnx|msgpack|h5|ckpt|npz|mlmodel)$/i.test(path));
  return other.length === 0 ? 'it holds no weights at all' : `there is only ${shortList(other)}`;
}

/** Names as they may be printed: quoted where they are odd, and not more than a line's worth. */
function shortList(paths: readonly string[]): string {
  const shown = paths
    .slice(0, 5)
    .map(path => (path.split('/').every(isPlainName) ? path : JSON.stringify(path.slice(0, 80))));
  return shown.join(', ') + (paths.length > shown.length ? ` and ${paths.length - shown.length} more` : '');
}
