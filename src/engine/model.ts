/**
 * A converted model, loaded: manifest, graphs, tokenizer. Validates the folder before anything in it is used.
 * Never downloads or converts.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LongviewError } from '../base/index.js';
import type { ProviderChoice } from './engine.js';
import { FILES, layersForRecall } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';
import { int8ProductsAreExact } from './int8-products.js';
import { readManifest } from './manifest.js';
import type { NodePlaces, SessionSettings, Tensor } from './ort.js';
import { Graph, chooseProvider, floats } from './ort.js';
import { Folder } from './state.js';

export interface LoadOptions {
  readonly threads: number;
  readonly provider?: string;
  /** Has onnxruntime note what ran where, for `endProfiles`. Default false. */
  readonly profiled?: boolean;
  /** False: chunks go through float activations, as they do on other providers than the CPU. Default true. */
  readonly int8?: boolean;
}

/** Up to this many new tokens the single-token graph is faster. */
export const DECODE_TOKENS = 4;

/** The two forms of the forward pass. */
export type ForwardRole = 'prefill' | 'decode';

/** Which file it is: chunks have two forms. */
export type GraphRole = ForwardRole | 'prefillInt8';

export class Model {
  private readonly masks = new Map<number, Tensor>();
  private lowerModel: Promise<Model> | undefined;

  private constructor(
    readonly path: string,
    readonly manifest: Manifest,
    private readonly forward: { readonly [role in ForwardRole]?: Graph },
    readonly score: Graph,
    readonly scoreRows: Graph,
    readonly folder: Folder,
    readonly provider: ProviderChoice,
    private readonly settings: SessionSettings,
    /** Whether chunks go through int8 layers. */
    private readonly int8: boolean,
  ) {}

  /**
   * Holds every file against the manifest: sizes, and digests of all but the weights. Throws `not-found` or `bad-format`
   * with what to do.
   */
  static async load(path: string, options: LoadOptions): Promise<Model> {
    const manifest = await readManifest(path);
    for (const file of manifest.files) {
      const size = await stat(join(path, file.name)).then(
        found => found.size,
        () => -1,
      );
      const damaged = (what: string): LongviewError =>
        new LongviewError(
          'bad-format',
          `Model "${manifest.name}" is damaged (${file.name}: ${what}). ` +
            `Remove it with \`longview model remove ${manifest.name}\` and add it again.`,
        );
      if (size !== file.bytes) throw damaged(size < 0 ? 'missing' : `${size} bytes, not ${file.bytes}`);
      // Milliseconds, and onnxruntime is never given a graph that is not ours. Weights would take seconds.
      if (file.name === FILES.weights || file.name === FILES.weightsInt8) continue;
      const content = await readFile(join(path, file.name));
      if (createHash('sha256').update(content).digest('hex') !== file.sha256) throw damaged('it was changed');
    }
    return Model.loadGraphs(path, manifest, options);
  }

  /**
   * Loads the graphs of a folder whose manifest is known otherwise (a conversion that is being checked). Each form of the
   * forward pass has the weights in memory in its own order, so `only` one takes half.
   */
  static async loadGraphs(
    path: string,
    manifest: Manifest,
    options: LoadOptions & { readonly only?: GraphRole },
  ): Promise<Model> {
    const provider = await chooseProvider(options.provider, join(path, FILES.read));
    const settings = { threads: options.threads, provider: provider.name, profiled: options.profiled };
    const { only } = options;
    const wanted = only === undefined ? options.int8 !== false : only === 'prefillInt8';
    const int8 = wanted && (await usesInt8(provider, manifest));
    const load = (role: GraphRole): Promise<Graph> =>
      Graph.load(join(path, FILES[role]), role === 'decode' ? { ...settings, spinning: true } : settings);
    let forward: { readonly [role in ForwardRole]?: Graph };
    if (hasOneGraph(manifest)) {
      const decode = await load('decode');
      forward = { prefill: decode, decode };
    } else if (provider.name !== 'cpu') {
      // The decode graph's form is the CPU's, and its MatMul over an empty part ends WebGPU's process (onnxruntime 1.30).
      forward = { prefill: await load('prefill') };
    } else {
      const chunks = int8 ? 'prefillInt8' : 'prefill';
      const prefill = only === 'decode' ? {} : { prefill: await load(only ?? chunks) };
      forward = { ...prefill, ...(only !== undefined && only !== 'decode' ? {} : { decode: await load('decode') }) };
    }
    return new Model(
      path,
      manifest,
      forward,
      await Graph.load(join(path, FILES.score), settings),
      // Blocks have one size, so what is kept does not grow.
      await Graph.load(join(path, FILES.scoreRows), { ...settings, arena: true }),
      await Folder.load(path, settings, manifest.kvm.trained),
      provider,
      settings,
      int8,
    );
  }

  /** That a graph uses. */
  get threads(): number {
    return this.settings.threads;
  }

  /** Of the graph of the lower layers, where they are enough for the recall heads, which may have been chosen anew. */
  get lowerLayers(): number | undefined {
    const { lowerLayers, recall } = this.manifest;
    return recall && lowerLayers !== undefined && layersForRecall(recall) <= lowerLayers ? lowerLayers : undefined;
  }

  /**
   * The same model as far as its recall heads, without logits; this one where it has no such graph. Loaded when it is first
   * asked for: its weights are in memory once more.
   */
  lower(): Promise<Model> {
    const { lowerLayers: layers } = this;
    if (layers === undefined) return Promise.resolve(this);
    const load = async (): Promise<Model> => {
      const { path, score, scoreRows, folder, provider, settings, int8 } = this;
      const prefill = await Graph.load(join(path, int8 ? FILES.lowerInt8 : FILES.lower), settings);
      const architecture = { ...this.manifest.architecture, layers, kvmLayers: layers };
      const manifest = { ...this.manifest, architecture };
      return new Model(path, manifest, { prefill }, score, scoreRows, folder, provider, settings, int8);
    };
    this.lowerModel ??= load().catch((error: unknown) => {
      // The next reading tries again.
      this.lowerModel = undefined;
      throw error;
    });
    return this.lowerModel;
  }

  /** The form that takes a pass of `n` new tokens. */
  roleOf(n: number): ForwardRole {
    if (hasOneGraph(this.manifest)) return 'decode';
    return n <= DECODE_TOKENS && this.forward.decode ? 'decode' : 'prefill';
  }

  graphOf(role: ForwardRole): Graph {
    const graph = this.forward[role];
    if (!graph) throw new Error(`${role} was left out when the model was loaded`);
    return graph;
  }

  /** Of each graph that was run: file name → where its nodes ran. Only once, of a model that was loaded `profiled`. */
  async endProfiles(): Promise<Record<string, NodePlaces>> {
    const places: Record<string, NodePlaces> = {};
    for (const graph of this.graphs()) {
      const found = await graph.endProfile();
      if (found) places[basename(graph.path)] = found;
    }
    return places;
  }

  /** float32 [1,1,n,n]: 0 on and under the diagonal, -1e30 above. */
  causalBias(n: number): Tensor {
    let mask = this.masks.get(n);
    if (!mask) {
      const values = new Float32Array(n * n);
      for (let row = 0; row < n; row++) values.fill(-1e30, row * n + row + 1, (row + 1) * n);
      mask = floats(values, [1, 1, n, n]);
      // Chunk and single token are what comes again and again.
      if (n === 1 || n === this.manifest.kvm.chunk) this.masks.set(n, mask);
    }
    return mask;
  }

  async dispose(): Promise<void> {
    const lower = await this.lowerModel?.catch(() => undefined);
    await lower?.graphOf('prefill').release();
    for (const graph of this.graphs()) await graph.release();
  }

  private graphs(): Set<Graph> {
    const { prefill, decode } = this.forward;
    const forward = [prefill, decode].filter(graph => graph !== undefined);
    return new Set([...forward, this.score, this.scoreRows, ...this.folder.graphs]);
  }
}

/** Whether chunks go through int8 layers: where the model has them, on a processor that multiplies them exactly. */
async function usesInt8({ name }: ProviderChoice, { files }: Manifest): Promise<boolean> {
  return name === 'cpu' && files.some(file => file.name === FILES.prefillInt8) && (await int8ProductsAreExact());
}

/** Weights in float16 become float32 in memory, once for each graph. */
function hasOneGraph({ quantisation }: Manifest): boolean {
  return quantisation === 'f16';
}
