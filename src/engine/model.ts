/**
 * A converted model, loaded: manifest, graphs, tokenizer. Validates the folder before anything in it is used.
 * Never downloads or converts.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError } from '../base/index.js';
import type { ProviderChoice } from './engine.js';
import { FILES } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';
import { readManifest } from './manifest.js';
import type { Tensor } from './ort.js';
import { Graph, chooseProvider, floats } from './ort.js';
import { Folder } from './state.js';

export interface LoadOptions {
  readonly threads: number;
  readonly provider?: string;
}

/** The two forms of the forward pass. */
export type ForwardRole = 'prefill' | 'decode';

export class Model {
  private readonly masks = new Map<number, Tensor>();

  private constructor(
    readonly path: string,
    readonly manifest: Manifest,
    private readonly forward: { readonly [role in ForwardRole]?: Graph },
    readonly score: Graph,
    readonly scoreRows: Graph,
    readonly folder: Folder,
    readonly provider: ProviderChoice,
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
      if (file.name === FILES.weights) continue;
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
    options: LoadOptions & { readonly only?: ForwardRole },
  ): Promise<Model> {
    const provider = await chooseProvider(options.provider, join(path, FILES.read));
    const settings = { threads: options.threads, provider: provider.name };
    const { only } = options;
    const load = (role: ForwardRole): Promise<Graph> =>
      Graph.load(join(path, FILES[role]), role === 'decode' ? { ...settings, spinning: true } : settings);
    let forward: { readonly [role in ForwardRole]?: Graph };
    if (hasOneGraph(manifest)) {
      const decode = await load('decode');
      forward = { prefill: decode, decode };
    } else {
      const prefill = only === 'decode' ? {} : { prefill: await load('prefill') };
      forward = { ...prefill, ...(only === 'prefill' ? {} : { decode: await load('decode') }) };
    }
    return new Model(
      path,
      manifest,
      forward,
      await Graph.load(join(path, FILES.score), settings),
      await Graph.load(join(path, FILES.scoreRows), settings),
      await Folder.load(path, settings, manifest.kvm.trained),
      provider,
    );
  }

  /** Whether `prefill` is the decode graph too, and takes its inputs. */
  get hasOneGraph(): boolean {
    return hasOneGraph(this.manifest);
  }

  get prefill(): Graph {
    return this.loaded('prefill');
  }

  get decode(): Graph {
    return this.loaded('decode');
  }

  private loaded(role: ForwardRole): Graph {
    const graph = this.forward[role];
    if (!graph) throw new Error(`${role} was left out when the model was loaded`);
    return graph;
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
    const { prefill, decode } = this.forward;
    for (const graph of new Set([prefill, decode, this.score, this.scoreRows])) await graph?.release();
    await this.folder.release();
  }
}

/** Weights in float16 become float32 in memory, once for each graph. */
function hasOneGraph({ quantisation }: Manifest): boolean {
  return quantisation === 'f16';
}
