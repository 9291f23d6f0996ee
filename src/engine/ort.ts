/**
 * The one importer of onnxruntime-node: sessions from files, tensors, the choice of an execution provider.
 * Never knows what a graph computes.
 */
import './no-telemetry.js';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Ort from 'onnxruntime-node';
import { LongviewError, messageOf, nativeFailure } from '../base/index.js';
import type { ProviderChoice } from './engine.js';
import { providerNamed } from './providers.js';

export type Tensor = Ort.Tensor;

const { InferenceSession, Tensor } = load();

/** Not by `import`: where that fails inside a module, Node 20 ends the process, whoever catches it. */
function load(): typeof Ort {
  try {
    return createRequire(import.meta.url)('onnxruntime-node') as typeof Ort;
  } catch (error) {
    throw nativeFailure('onnxruntime', `${process.platform}-${process.arch}`, error);
  }
}

export interface SessionSettings {
  readonly threads: number;
  /** Default `cpu`, which also takes the operators that another provider lacks. */
  readonly provider?: string;
  /**
   * Whether threads wait busily between operators. Measured on two cores: a third faster for single tokens, nothing for
   * chunks, and several times slower when another process wants the cores. Default false.
   */
  readonly spinning?: boolean;
  /**
   * Whether memory is kept between operators and runs: until the graph is released it only grows. Default false: for the
   * forward pass, that kept what every new state size asked for (1,570 MB against 930 MB after 12,000 tokens, 3 % faster).
   */
  readonly arena?: boolean;
  /** Has onnxruntime note which provider ran each node, for `endProfile`. Default false. */
  readonly profiled?: boolean;
}

/** Nodes of a graph that were run, as onnxruntime optimised it: provider → operator → how many. */
export type NodePlaces = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A graph that is ready to run. */
export class Graph {
  private constructor(
    private readonly session: Ort.InferenceSession,
    readonly path: string,
    private readonly profileFolder: string | undefined,
  ) {}

  /** Throws `bad-format` with the file's name where onnxruntime refuses the graph. */
  static async load(path: string, settings: SessionSettings): Promise<Graph> {
    try {
      return await Graph.create(path, path, settings);
    } catch (error) {
      throw new LongviewError(
        'bad-format',
        `The model file ${path} can't be loaded (${messageOf(error)}). Remove the model and add it again.`,
        { cause: error },
      );
    }
  }

  /** A graph that is in no file: made here, so a refusal is a bug. */
  static ofBytes(graph: Uint8Array, name: string, settings: SessionSettings): Promise<Graph> {
    return Graph.create(graph, name, settings);
  }

  private static async create(source: string | Uint8Array, path: string, settings: SessionSettings): Promise<Graph> {
    const profileFolder = settings.profiled ? await mkdtemp(join(tmpdir(), 'longview-profile-')) : undefined;
    const options: Ort.InferenceSession.SessionOptions = {
      executionProviders: settings.provider && settings.provider !== 'cpu' ? [settings.provider, 'cpu'] : ['cpu'],
      intraOpNumThreads: settings.threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      enableCpuMemArena: settings.arena ?? false,
      graphOptimizationLevel: 'all',
      extra: { session: { intra_op: { allow_spinning: settings.spinning ? '1' : '0' } } },
      logSeverityLevel: 3,
      ...(profileFolder !== undefined && { enableProfiling: true, profileFilePrefix: join(profileFolder, 'run') }),
    };
    const session =
      typeof source === 'string'
        ? await InferenceSession.create(source, options)
        : await InferenceSession.create(source, options);
    return new Graph(session, path, profileFolder);
  }

  /** Blocks this thread while it computes. Only the outputs asked for are fetched. */
  async run(feeds: Readonly<Record<string, Tensor>>, outputs: readonly string[]): Promise<Record<string, Tensor>> {
    return await this.session.run(feeds, outputs);
  }

  /** Where the nodes ran since it was loaded; undefined where none ran or it was not loaded `profiled`. Only once. */
  async endProfile(): Promise<NodePlaces | undefined> {
    if (this.profileFolder === undefined) return undefined;
    this.session.endProfiling();
    try {
      const [file] = await readdir(this.profileFolder);
      if (file === undefined) return undefined;
      return nodePlaces(JSON.parse(await readFile(join(this.profileFolder, file), 'utf8')) as ProfileEvent[]);
    } finally {
      await rm(this.profileFolder, { recursive: true, force: true });
    }
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/** What of onnxruntime's profile is looked at. */
interface ProfileEvent {
  readonly cat: string;
  readonly name: string;
  readonly args?: { readonly provider?: string; readonly op_name?: string };
}

function nodePlaces(events: readonly ProfileEvent[]): NodePlaces | undefined {
  const places: Record<string, Record<string, number>> = {};
  const counted = new Set<string>();
  for (const { cat, name, args } of events) {
    if (cat !== 'Node' || !name.endsWith('_kernel_time') || args?.provider === undefined || counted.has(name)) continue;
    counted.add(name);
    const operators = (places[args.provider.replace('ExecutionProvider', '')] ??= {});
    const operator = args.op_name ?? 'unknown';
    operators[operator] = (operators[operator] ?? 0) + 1;
  }
  return counted.size === 0 ? undefined : places;
}

export function floats(values: Float32Array, shape: readonly number[]): Tensor {
  return new Tensor('float32', values, shape);
}

export function bytes(values: Int8Array | Uint8Array, shape: readonly number[]): Tensor {
  return new Tensor(values instanceof Int8Array ? 'int8' : 'uint8', values, shape);
}

export function integers(values: readonly number[] | Uint32Array, shape: readonly number[] = [values.length]): Tensor {
  const wide = new BigInt64Array(values.length);
  for (let i = 0; i < values.length; i++) wide[i] = BigInt(values[i]!);
  return new Tensor('int64', wide, shape);
}

export function floatData(tensor: Tensor): Float32Array {
  return tensor.data as Float32Array;
}

/** Rows `from` up to `to` of the first dimension; shares the data. */
export function rowsOf(tensor: Tensor, from: number, to: number): Tensor {
  const data = tensor.data as Float32Array | BigInt64Array;
  const size = data.length / tensor.dims[0]!;
  return new Tensor(tensor.type, data.subarray(from * size, to * size), [to - from, ...tensor.dims.slice(1)]);
}

/** One below the other in the first dimension. All are float32 or all int64. */
export function joinedRows(parts: readonly Tensor[]): Tensor {
  const rows = parts.reduce((sum, { dims }) => sum + dims[0]!, 0);
  const length = parts.reduce((sum, { size }) => sum + size, 0);
  const [first] = parts;
  const data = first!.type === 'int64' ? new BigInt64Array(length) : new Float32Array(length);
  let at = 0;
  for (const part of parts) {
    if (data instanceof Float32Array) data.set(part.data as Float32Array, at);
    else data.set(part.data as BigInt64Array, at);
    at += part.size;
  }
  return new Tensor(first!.type, data, [rows, ...first!.dims.slice(1)]);
}

/** int64 data as 32-bit numbers. */
export function integerData(tensor: Tensor): Uint32Array {
  return Uint32Array.from(tensor.data as BigInt64Array, Number);
}

/**
 * Which provider runs the graphs: the one asked for if it can load `probe` (a small graph of the model), else the CPU,
 * with the reason. A provider that ends the process ends the engine process only. Throws `usage` for an unknown name.
 */
export async function chooseProvider(wanted: string | undefined, probe: string): Promise<ProviderChoice> {
  const name = providerNamed(wanted);
  if (name === 'auto') return { name: 'cpu', reason: 'the default' };
  if (name === 'cpu') return { name: 'cpu', reason: 'asked for' };
  try {
    const session = await InferenceSession.create(probe, { executionProviders: [name], logSeverityLevel: 4 });
    await session.release();
    return { name, reason: 'asked for' };
  } catch (error) {
    return { name: 'cpu', reason: `${name} can't be used here: ${unusableBecause(messageOf(error))}` };
  }
}

/** What onnxruntime's own words, which name its source files, mean to a user. */
function unusableBecause(words: string): string {
  if (/shared library|backend not found/.test(words))
    return 'this onnxruntime has no such provider, or it lacks a library';
  if (/RequestAdapter/.test(words)) return 'there is no graphics card or driver that it can use';
  return words;
}
