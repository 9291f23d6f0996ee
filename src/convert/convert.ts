/**
 * Checkpoint → a model folder: graphs, weights, tokenizer, manifest. The manifest is written last, so a folder with one is
 * complete and checked. Never runs a graph itself: the caller lends a runner (the engine), so that a conversion is verified
 * by what will run it.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError, messageOf } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { Architecture, KvmSettings, Manifest, Quantisation, RecallSettings } from '../engine/graph-contract.js';
import { FILES, MANIFEST_FILE, MANIFEST_FORMAT, layersForRecall } from '../engine/graph-contract.js';
import type { BackboneConfig, BackboneKvm, Checkpoint, DecoderConfig } from './checkpoint/index.js';
import { checkCheckpoint, openCheckpoint } from './checkpoint/index.js';
import { oracleLogits } from './float-oracle.js';
import { backboneGraph } from './graphs/backbone-graph.js';
import type { TrainedFold } from './graphs/fold-graph.js';
import { foldGraph, readGraph, scoreGraph, scoreRowsGraph, tokensGraph } from './graphs/fold-graph.js';
import { forwardGraph, lowerPart } from './graphs/forward-graph.js';
import type { GraphOptions, StoredModel } from './graphs/forward-graph.js';
import { storeBackbone } from './store-backbone.js';
import type { InputListener } from './outlier-channels.js';
import { OutlierChannels } from './outlier-channels.js';
import { hasInt8, storeInt8Layers } from './store-int8.js';
import { storeWeights } from './store-weights.js';
import { highestTokenId } from './token-ids.js';
import type { GraphRunner } from './stored-check.js';
import { checkStride, everyColumn, medianDifference, mustVary } from './stored-check.js';
import { WeightsFile } from './weights-file.js';

/** What is known of a model beyond its checkpoint; absent parts take `defaultKvmSettings`. */
export interface ModelEntry {
  readonly name: string;
  readonly origin: string;
  readonly licence: string;
  /** Of a model trained with KVM only the prefix counts: the rest is its checkpoint's. */
  readonly kvm?: Partial<KvmSettings>;
  readonly recall?: RecallSettings;
  /** Path of the fitted recall values (query maps and five numbers a head), safetensors. */
  readonly recallFile?: string;
  /** Prompt of the check after writing. */
  readonly prompt?: readonly number[];
}

export interface ConvertOptions {
  readonly quantisation: Quantisation;
  readonly entry: ModelEntry;
  readonly run: GraphRunner;
  /** Refuses a checkpoint that brings no tokenizer, or one with ids beyond the embedding: it could not read text. */
  readonly forText?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

/** Paper's chunk and window; sinks, read distance and biases of retrofit.md; the reading window the recall heads were fitted with. */
export const defaultKvmSettings: KvmSettings = {
  chunk: 256,
  windowChunks: 2,
  readingWindowChunks: 3,
  sinks: 4,
  readDistance: 1024,
  stateBias: [
    { tokensPerSlot: 4, bias: -1 },
    { tokensPerSlot: 45, bias: -5 },
    // Carried on along the same slope: what a whole workspace in 2,048 slots comes to.
    { tokensPerSlot: 250, bias: -8 },
  ],
  prefix: '# The file at path: {label}\n',
};

/**
 * Largest allowed difference of logits from the float oracle: root mean square over the oracle's spread, median over the
 * prompt's tokens (int8 activations hit single tokens hard: microsoft/onnxruntime#29849). For f32 it bounds arithmetic
 * noise, for the others the damage of rounding (f16 measured: 0.002 on SmolLM2, 0.0005 to 0.0012 on the golden models);
 * a wrongly built graph differs by about 1.
 */
const TOLERANCE: Record<Quantisation, number> = { f32: 1e-4, f16: 0.01, q8: 0.15, q4: 0.3 };

/** The same for int8 layers, which are left out where they are further off (SmolLM2: 0.11). */
const INT8_TOLERANCE = 0.15;

/** What a model can do without: chunks then go through `prefill.onnx`. */
const INT8_FILES: readonly string[] = [FILES.prefillInt8, FILES.lowerInt8, FILES.weightsInt8];

/** A prompt of common token ids for models whose entry brings none. */
const PROMPT = [1, 5, 11, 29, 61, 97, 113, 127];

/**
 * Converts into `folder`, which should be empty; a cancelled or failed conversion leaves no manifest there.
 * Throws `bad-format`, `unsupported`, `disk-full`, `cancelled`, and `internal` where the written model does not compute
 * what the checkpoint does.
 */
export async function convertModel(source: string, folder: string, options: ConvertOptions): Promise<Manifest> {
  const checkpoint = await openCheckpoint(source);
  try {
    checkCheckpoint(checkpoint);
    if (options.forText === true) await checkTokenizer(checkpoint);
    await mkdir(folder, { recursive: true });
    await rm(join(folder, MANIFEST_FILE), { force: true });
    await checkSpace(checkpoint, folder, options.quantisation);
    return await writeModel(checkpoint, folder, options);
  } finally {
    await checkpoint.close();
  }
}

async function writeModel(checkpoint: Checkpoint, folder: string, options: ConvertOptions): Promise<Manifest> {
  const { entry, quantisation } = options;
  const files: { name: string; bytes: number; sha256: string }[] = [];
  const put = async (name: string, content: Uint8Array | string): Promise<void> => {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    await writeFile(join(folder, name), bytes);
    files.push({ name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  };

  const { config } = checkpoint;
  const { vocabulary } = config;
  const prompt = entry.prompt ?? PROMPT.filter(id => id < vocabulary);
  /** Makes a weights file with what `write` puts there. */
  const putWeights = async <T>(name: string, write: (file: WeightsFile) => Promise<T>): Promise<T> => {
    const file = await WeightsFile.create(join(folder, name));
    try {
      const result = await write(file);
      files.push({ name, ...(await file.finish()) });
      return result;
    } catch (error) {
      await file.abandon();
      throw error;
    }
  };
  const written =
    config.family === 'rwkv7backbone'
      ? await writeBackbone(checkpoint, config, putWeights, prompt, options)
      : await writeDecoder(checkpoint, config, putWeights, prompt, options);
  const { architecture, expected, fold: trained } = written;
  const { headSize } = architecture;
  if (quantisation !== 'f16') await put(FILES.prefill, written.prefill);
  if (written.lower) await put(FILES.lower, written.lower.graph);
  if (written.int8) await put(FILES.prefillInt8, written.int8.prefill);
  if (written.int8?.lower) await put(FILES.lowerInt8, written.int8.lower);
  await put(FILES.decode, written.decode);
  await put(FILES.tokens, tokensGraph(headSize, trained));
  const sums = trained ? 'all' : 'none';
  await put(FILES.fold, foldGraph(headSize, { choose: 'novelty', sums, trained }));
  await put(FILES.place, foldGraph(headSize, { choose: 'given', sums, trained }));
  await put(FILES.foldKeys, foldGraph(headSize, { choose: 'novelty', sums: 'keys' }));
  await put(FILES.placeKeys, foldGraph(headSize, { choose: 'given', sums: 'keys' }));
  await put(FILES.read, readGraph(headSize, trained));
  await put(FILES.score, scoreGraph(headSize));
  await put(FILES.scoreRows, scoreRowsGraph(headSize));
  const tokenizer = await tokenizerOf(checkpoint);
  if (tokenizer) {
    await put(FILES.tokenizer, jsonText(tokenizer.tokenizerJson, FILES.tokenizer));
    await put(FILES.tokenizerConfig, jsonText(tokenizer.tokenizerConfig, FILES.tokenizerConfig));
  }
  if (entry.recallFile !== undefined) {
    await put(FILES.recall, await readFile(entry.recallFile));
  }

  const stride = checkStride(vocabulary);
  await put(FILES.check, new Uint8Array(everyColumn(expected, vocabulary, stride).buffer));
  const draft: Manifest = {
    format: MANIFEST_FORMAT,
    name: entry.name,
    origin: entry.origin,
    licence: entry.licence,
    quantisation,
    architecture,
    kvm: written.kvm,
    recall: entry.recall,
    lowerLayers: written.lower?.layers,
    endTokens: checkpoint.config.eosIds,
    verification: { prompt, difference: 0, tolerance: TOLERANCE[quantisation], stride },
    fingerprint: '',
    files,
  };
  const { difference, without } = await verify(expected, folder, draft, options);
  for (const name of without) await rm(join(folder, name), { force: true });
  const kept = { ...draft, files: files.filter(({ name }) => !without.includes(name)) };
  const verification = { ...draft.verification, difference };
  const manifest: Manifest = { ...kept, verification, fingerprint: fingerprintOf(kept) };
  await writeFile(join(folder, MANIFEST_FILE), JSON.stringify(manifest, null, 1));
  return manifest;
}

/**
 * Memories are made by everything of a model but its recall values, which only map queries, and how its heads weigh a state
 * that is there or grows; of its recall heads by the key heads alone, in the order in which recall slots keep them. int8
 * layers, which not every machine keeps, compute the same up to rounding.
 */
function fingerprintOf(draft: Manifest): string {
  const { recall, files, ...rest } = draft;
  const kvm: KvmSettings = {
    ...rest.kvm,
    ...{ stateBiasOfHead: undefined, stateTemperatureOfKeyHead: undefined, stateValueScaleOfKeyHead: undefined },
    ...{ stateTokens: undefined, growing: undefined },
  };
  const { heads, keyHeads } = draft.architecture;
  const read = recall?.heads.map(([layer, head]) => `${layer}.${Math.floor((head * keyHeads) / heads)}`);
  const apart: readonly string[] = [FILES.recall, ...INT8_FILES];
  const made = { ...rest, kvm, files: files.filter(({ name }) => !apart.includes(name)), keyHeads: [...new Set(read)] };
  return createHash('sha256').update(JSON.stringify(made)).digest('hex');
}

type PutWeights = <T>(name: string, write: (file: WeightsFile) => Promise<T>) => Promise<T>;

/** What the two families write: weights into the file, and the graphs that read them. */
interface Written {
  /** Of the float oracle for the prompt, [n,V]. */
  readonly expected: Float32Array;
  readonly architecture: Architecture;
  readonly kvm: KvmSettings;
  readonly prefill: Uint8Array;
  readonly decode: Uint8Array;
  readonly lower?: { readonly graph: Uint8Array; readonly layers: number };
  readonly int8?: { readonly prefill: Uint8Array; readonly lower?: Uint8Array };
  readonly fold?: TrainedFold;
}

async function writeDecoder(
  checkpoint: Checkpoint,
  config: DecoderConfig,
  putWeights: PutWeights,
  prompt: readonly number[],
  options: ConvertOptions,
): Promise<Written> {
  const { quantisation } = options;
  const stored = await putWeights(FILES.weights, file => storeWeights(checkpoint, config, quantisation, file, options));
  const outliers = new OutlierChannels();
  const expected = await oracleOf(checkpoint, prompt, options, outliers.see);
  const int8 = hasInt8(config, quantisation)
    ? await putWeights(FILES.weightsInt8, file => storeInt8Layers(checkpoint, config, outliers, file, options))
    : undefined;
  const graph = (of: GraphOptions): Uint8Array => forwardGraph(stored, of);
  const layers = lowerLayers(stored, options);
  const lower = (of: Pick<GraphOptions, 'int8'>): Uint8Array | undefined => {
    if (layers === undefined) return undefined;
    return forwardGraph(lowerPart(stored, layers), { ...of, use: 'prefill', withLogits: false });
  };
  return {
    expected,
    architecture: stored.architecture,
    kvm: { ...defaultKvmSettings, ...options.entry.kvm },
    prefill: graph({ use: 'prefill' }),
    decode: graph({ use: 'decode' }),
    ...(layers !== undefined && { lower: { graph: lower({})!, layers } }),
    ...(int8 && { int8: { prefill: graph({ use: 'prefill', int8 }), lower: lower({ int8 }) } }),
  };
}

/** Throws `bad-format` for a model that nothing can be held against. */
async function oracleOf(
  checkpoint: Checkpoint,
  prompt: readonly number[],
  options: ConvertOptions,
  onInput?: InputListener,
): Promise<Float32Array> {
  const logits = await oracleLogits(checkpoint, prompt, { ...options, onInput });
  mustVary(logits, checkpoint.config.vocabulary);
  return logits;
}

/** Of the graph for recall alone. Where float16 leaves one graph for all, a third would take its memory again. */
function lowerLayers(stored: StoredModel, { entry: { recall }, quantisation }: ConvertOptions): number | undefined {
  const layers = recall && layersForRecall(recall);
  return layers === undefined || layers >= stored.layers.length || quantisation === 'f16' ? undefined : layers;
}

/** All but the prefix is the checkpoint's own: it was trained so. */
async function writeBackbone(
  checkpoint: Checkpoint,
  config: BackboneConfig,
  putWeights: PutWeights,
  prompt: readonly number[],
  options: ConvertOptions,
): Promise<Written> {
  const stored = await putWeights(FILES.weights, file =>
    storeBackbone(checkpoint, config, options.quantisation, file, options),
  );
  const { graph, carried } = backboneGraph(stored, 'prefill');
  return {
    expected: await oracleOf(checkpoint, prompt, options),
    architecture: { ...stored.architecture, carried },
    kvm: trainedKvmSettings(config.kvm, options.entry.kvm?.prefix ?? defaultKvmSettings.prefix),
    prefill: graph,
    decode: backboneGraph(stored, 'decode').graph,
    fold: stored.fold,
  };
}

function trainedKvmSettings(kvm: BackboneKvm, prefix: string): KvmSettings {
  const { chunk, windowChunks, sinks, schedule, roundDownTo, atLeast, maxSlots, gatesInitialState } = kvm;
  return {
    ...{ chunk, windowChunks, readingWindowChunks: windowChunks, sinks, prefix },
    // Of ordinary checkpoints only (retrofit.md).
    ...{ readDistance: 0, stateBias: [] },
    trained: { schedule: { ...schedule, roundDownTo, atLeast, atMost: maxSlots }, gatesInitialState },
  };
}

async function checkTokenizer(checkpoint: Checkpoint): Promise<void> {
  const { path } = checkpoint.origin;
  const tokenizer = await tokenizerOf(checkpoint);
  if (!tokenizer) {
    const advice = 'put tokenizer.json (or vocab.json and merges.txt) beside config.json';
    throw new LongviewError('bad-format', `${path} brings no tokenizer, so the model could not read text: ${advice}.`);
  }
  const { vocabulary } = checkpoint.config;
  const highest = highestTokenId(tokenizer.tokenizerJson);
  if (highest >= vocabulary) {
    throw new LongviewError(
      'bad-format',
      `${path}: its tokenizer has the id ${highest}, its embedding only ${vocabulary} rows: they are of different models.`,
    );
  }
}

/** A checkpoint without a tokenizer (a test model) still converts; it can be run by token ids only. */
async function tokenizerOf(checkpoint: Checkpoint): Promise<Awaited<ReturnType<Checkpoint['tokenizer']>> | undefined> {
  try {
    return await checkpoint.tokenizer();
  } catch (error) {
    if (error instanceof LongviewError && error.code === 'not-found') return undefined;
    throw error;
  }
}

function jsonText(value: unknown, file: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // What JSON.parse could read, it can't always write: nesting without end.
    throw new LongviewError('bad-format', `${file}: ${messageOf(error)}.`, { cause: error });
  }
}

/**
 * Runs all graphs on the prompt; gives the largest difference from the oracle, and which files to leave out: int8 layers
 * that are too far off, or can't be tried here. Throws `internal` where another graph is too far off.
 */
async function verify(
  expected: Float32Array,
  folder: string,
  draft: Manifest,
  { run, quantisation, signal, onProgress }: ConvertOptions,
): Promise<{ readonly difference: number; readonly without: readonly string[] }> {
  const { prompt, tolerance } = draft.verification;
  const { prefillInt8, ...found } = await run(folder, draft, prompt, signal, onProgress);
  const differenceOf = (logits: Float32Array): number =>
    medianDifference(logits, expected, draft.architecture.vocabulary);
  const difference = Math.max(...Object.values(found).map(differenceOf));
  if (!(difference <= tolerance)) {
    throw new LongviewError(
      'internal',
      `The converted model does not compute what its checkpoint does (difference ${difference.toPrecision(3)}, ` +
        `allowed ${tolerance}). Nothing was installed; ` +
        (quantisation === 'f32'
          ? "please report it with the model's name."
          : `try a finer quantisation (--quant ${quantisation === 'q4' ? 'q8' : 'f32'}); if f32 fails too, please report it.`),
    );
  }
  const ofInt8 = prefillInt8 ? differenceOf(prefillInt8) : NaN;
  if (!(ofInt8 <= INT8_TOLERANCE)) return { difference, without: INT8_FILES };
  return { difference: Math.max(difference, ofInt8), without: [] };
}

/** Throws `disk-full` before anything is written, where the folder's disk is too small. */
async function checkSpace(checkpoint: Checkpoint, folder: string, quantisation: Quantisation): Promise<void> {
  let values = 0;
  for (const name of checkpoint.tensorNames) values += checkpoint.tensor(name).shape.reduce((a, b) => a * b, 1);
  const { config } = checkpoint;
  const int8 = config.family !== 'rwkv7backbone' && hasInt8(config, quantisation) ? 1 : 0;
  const bytesPerWeight = { f32: 4, f16: 2, q8: 1.2, q4: 0.9 }[quantisation] + int8;
  const needed = values * bytesPerWeight + (16 << 20);
  const { bavail, bsize } = await statfs(folder);
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
  if (bavail * bsize < needed) {
    throw new LongviewError(
      'disk-full',
      `Not enough disk space to convert the model: ${megabytes(needed)} needed, ${megabytes(bavail * bsize)} free.`,
    );
  }
}
