/**
 * A GGUF file as `Checkpoint`. The Llama family is stored with q and k permuted so that rotary pairs are adjacent;
 * the values are handed out as stored and `rotaryPairs` says so.
 */
import { LongviewError, quoted } from '../../base/index.js';
import type { ByteSource } from './byte-source.js';
import type { Checkpoint, DecoderConfig, RopeScaling } from './checkpoint.js';
import { decodeBlocks } from './ggml-types.js';
import { readGgufHeader } from './gguf-header.js';
import type { GgufHeader } from './gguf-header.js';
import { MetadataReader } from './gguf-metadata.js';
import { ggufTokenizer } from './gguf-tokenizer.js';
import { validateConfig } from './config-limits.js';
import { canonicalName } from './names.js';
import { StoredCheckpoint } from './stored-checkpoint.js';
import type { StoredTensor } from './tensor-reader.js';

/** Takes over `source`; closes it where opening fails is the caller's work. */
export async function openGguf(source: ByteSource): Promise<Checkpoint> {
  const header = await readGgufHeader(source);
  const metadata = new MetadataReader(source, header.metadata);
  const config = await readConfig(source, header, metadata);
  const tensors = new Map<string, StoredTensor>();
  const unreadable = new Map<string, string>();
  for (const [ggufName, { dimensions, type, offset }] of header.tensors) {
    const name = canonicalName(ggufName);
    if (name === undefined) {
      if (ggufName.startsWith('rope_freqs.')) continue;
      throw new LongviewError(
        'unsupported',
        `${source.name}: tensor ${quoted(ggufName)} is not part of a model Longview reads.`,
      );
    }
    if (type.readable === undefined) unreadable.set(name, type.name);
    else tensors.set(name, { source, offset, shape: [...dimensions].reverse(), dtype: type.readable });
  }
  return new StoredCheckpoint({
    config,
    rotaryPairs: config.family === 'llama' ? 'adjacent' : 'half',
    origin: { kind: 'gguf', path: source.path, files: [source.path] },
    sources: [source],
    tensors,
    unreadable,
    // eslint-disable-next-line @typescript-eslint/require-await -- an error becomes a rejection
    tokenizer: async () => ggufTokenizer(metadata),
  });
}

async function readConfig(source: ByteSource, header: GgufHeader, metadata: MetadataReader): Promise<DecoderConfig> {
  const architecture = metadata.text('general.architecture');
  if (architecture !== 'llama' && architecture !== 'qwen2' && architecture !== 'qwen3') {
    throw new LongviewError(
      'unsupported',
      `${source.name}: architecture ${quoted(architecture)} is not supported; llama, qwen2 and qwen3 are.`,
    );
  }
  const key = (name: string) => `${architecture}.${name}`;
  const refuse = (reason: string) => new LongviewError('unsupported', `${source.name}: ${reason} is not supported.`);
  if ((metadata.optionalNumber(key('expert_count')) ?? 0) > 0) throw refuse('a mixture of experts');
  const width = metadata.number(key('embedding_length'));
  const heads = metadata.number(key('attention.head_count'));
  const headSize = metadata.optionalNumber(key('attention.key_length')) ?? width / heads;
  const valueSize = metadata.optionalNumber(key('attention.value_length')) ?? headSize;
  if (valueSize !== headSize) throw refuse(`a value head of ${valueSize} beside a key head of ${headSize}`);
  const rotary = metadata.optionalNumber(key('rope.dimension_count')) ?? headSize;
  if (rotary !== headSize) throw refuse(`rotation of ${rotary} of ${headSize} dimensions`);
  const scalingType = metadata.optionalText(key('rope.scaling.type')) ?? 'none';
  if (scalingType !== 'none') throw refuse(`rope scaling ${quoted(scalingType)}`);
  const embedding = header.tensors.get('token_embd.weight');
  if (embedding?.dimensions.length !== 2) throw source.bad('tensor token_embd.weight is missing or not a matrix');
  const tokens = metadata.length('tokenizer.ggml.tokens');
  const vocabulary = embedding.dimensions[1]!;
  if (tokens !== undefined && tokens > vocabulary) {
    throw source.bad(`its tokenizer has ${tokens} tokens, its embedding only ${vocabulary}`);
  }
  const ropeScaling = await readFactors(source, header, headSize);
  const eos = ['eos', 'eot', 'eom'].map(name => metadata.optionalNumber(`tokenizer.ggml.${name}_token_id`));
  return validateConfig(source.name, {
    family: architecture,
    layers: metadata.number(key('block_count')),
    width,
    heads,
    keyHeads: metadata.optionalNumber(key('attention.head_count_kv')) ?? heads,
    headSize,
    ffnWidth: metadata.number(key('feed_forward_length')),
    vocabulary,
    ropeTheta: metadata.optionalNumber(key('rope.freq_base')) ?? 10000,
    ...(ropeScaling && { ropeScaling }),
    normEpsilon: shortest(metadata.number(key('attention.layer_norm_rms_epsilon'))),
    tiedHead: !header.tensors.has('output.weight'),
    qkvBias: header.tensors.has('blk.0.attn_q.bias'),
    qkNorm: header.tensors.has('blk.0.attn_q_norm.weight'),
    contextLength: metadata.number(key('context_length')),
    bosId: metadata.optionalNumber('tokenizer.ggml.bos_token_id'),
    eosIds: [...new Set(eos.filter(id => id !== undefined))],
  });
}

/** Scaled rope of Llama 3.1 and later: a tensor of divisors, float32 [headSize / 2]. */
async function readFactors(source: ByteSource, header: GgufHeader, headSize: number): Promise<RopeScaling | undefined> {
  const tensor = header.tensors.get('rope_freqs.weight');
  if (!tensor) return undefined;
  if (tensor.type.name !== 'F32' || tensor.dimensions.length !== 1 || tensor.dimensions[0] !== headSize / 2) {
    throw source.bad(`tensor rope_freqs.weight is not ${headSize / 2} float32 values`);
  }
  const factors = new Float32Array(headSize / 2);
  decodeBlocks('F32', await source.read(tensor.offset, tensor.bytes), factors, 0);
  if (!factors.every(factor => factor > 0))
    throw source.bad('tensor rope_freqs.weight holds a divisor that is not positive');
  return { kind: 'factors', factors: [...factors] };
}

/** The shortest decimal with the same float32: 1e-5, not 0.000009999999747. */
function shortest(value: number): number {
  const short = Number(value.toPrecision(7));
  return Math.fround(short) === Math.fround(value) ? short : value;
}
