/**
 * The engine in this process: a model and everything the house asks of it. Calls that compute block this thread; the
 * product runs it in a process of its own (process/).
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import { Composer } from './compose.js';
import { coarsenRecall } from './coarsen.js';
import type {
  CallOptions,
  ComposeOptions,
  Engine,
  GenerateRequest,
  GenerateResult,
  LossOptions,
  ModelDescription,
  ReadRequest,
  RecallScores,
  SpanScores,
  SpanShares,
  StateChange,
} from './engine.js';
import { giveStates } from './given-state.js';
import type { WeighedState } from './given-state.js';
import { groupsOf } from './graph-contract.js';
import { lossAfter, measureLoss } from './loss.js';
import { Model } from './model.js';
import type { LoadOptions } from './model.js';
import { unpackSlots } from './packing.js';
import { patchState } from './patch.js';
import { queriesAt } from './queries-at.js';
import { readSinks, readText } from './reader.js';
import { RecallHeads } from './recall-heads.js';
import { RecallIndex } from './recall-index.js';
import type { GivenState } from './read-state.js';
import type { CoarseRecall, ComposedState, PackedSlots, Reading, RecallSlots, StateSlots } from './slots.js';
import type { Slots } from './state.js';
import { loadTokenizer } from './token-counter.js';
import type { TextTokenizer } from './tokenizer.js';
import { write } from './writer.js';
import type { WriteOptions } from './writer.js';

export async function openEngine(modelFolder: string, options: LoadOptions): Promise<Engine> {
  return engineOf(await Model.load(modelFolder, options));
}

/** Over a loaded model, which is disposed with it. */
export async function engineOf(model: Model): Promise<Engine> {
  const tokenizer = await loadTokenizer(model.path, model.manifest.name);
  const heads = await RecallHeads.load(model.path, model.manifest);
  return new LocalEngine(model, tokenizer, heads);
}

class LocalEngine implements Engine {
  readonly generation = 1;
  readonly model: ModelDescription;
  private readonly states = new Map<string, WeighedState>();
  private readonly recall: RecallIndex;
  private sinks: Slots | undefined;
  private lastGiven: { key: string; given: GivenState } | undefined;

  constructor(
    private readonly loaded: Model,
    private readonly tokenizer: TextTokenizer,
    private readonly heads: RecallHeads,
  ) {
    this.recall = new RecallIndex(loaded, tokenizer, heads);
    this.model = describe(loaded, heads);
  }

  countTokens(text: string): Promise<number> {
    return Promise.resolve(this.tokenizer.count(text));
  }

  read(request: ReadRequest, options?: CallOptions): Promise<Reading> {
    return readText(this.loaded, this.tokenizer, this.heads, request, options);
  }

  async compose(
    gists: Iterable<PackedSlots> | AsyncIterable<PackedSlots>,
    options: ComposeOptions,
  ): Promise<ComposedState> {
    const { architecture } = this.loaded.manifest;
    const shape = { groups: groupsOf(architecture), headSize: architecture.headSize };
    const composer = new Composer(this.loaded.folder, shape, options.budget, options.incoming);
    let done = 0;
    for await (const gist of gists) {
      await options.giveWay?.();
      throwIfCancelled(options.signal);
      this.checkShape(gist, 'A gist');
      await composer.add(gist);
      done += gist.slots;
      options.onProgress?.(done);
    }
    return composer.finish();
  }

  async patch(state: StateSlots, change: StateChange, options?: CallOptions): Promise<ComposedState> {
    this.checkShape(state, 'The state');
    for (const gist of [...change.remove.map(({ gist }) => gist), ...change.add]) this.checkShape(gist, 'A gist');
    return patchState(this.loaded.folder, state, change, options);
  }

  putState(id: string, slots: PackedSlots<Int8Array | Int16Array>, tokensPerSlot: number): Promise<void> {
    return new Promise(resolve => {
      this.checkShape(slots, `State "${id}"`);
      this.states.set(id, { slots: unpackSlots(slots), tokensPerSlot });
      this.lastGiven = undefined;
      resolve();
    });
  }

  dropState(id: string): Promise<void> {
    this.states.delete(id);
    this.lastGiven = undefined;
    return Promise.resolve();
  }

  coarsen(slots: RecallSlots, slotsPerSlot: number, options?: CallOptions): Promise<CoarseRecall> {
    return coarsenRecall(this.loaded.folder, slots, slotsPerSlot, options);
  }

  putRecall(id: string, slots: RecallSlots): Promise<void> {
    return new Promise(resolve => {
      this.recall.put(id, slots);
      resolve();
    });
  }

  dropRecall(id: string): Promise<void> {
    this.recall.drop(id);
    return Promise.resolve();
  }

  scoreRecall(question: string, ids: readonly string[], options?: CallOptions): Promise<RecallScores> {
    return this.recall.score(question, ids, options);
  }

  scoreSpans(question: string, ids: readonly string[], spans: SpanShares, options?: CallOptions): Promise<SpanScores> {
    return this.recall.scoreSpans(question, ids, spans, options);
  }

  queriesAt(text: string, tokens: number, options?: CallOptions): Promise<Float32Array> {
    return queriesAt(this.loaded, this.tokenizer, this.heads, text, tokens, options);
  }

  async generate(request: GenerateRequest, options?: WriteOptions): Promise<GenerateResult> {
    const given = request.states && request.states.length > 0 ? await this.given(request.states) : undefined;
    return write(this.loaded, this.tokenizer, request, given, options);
  }

  loss(text: string, options: LossOptions): Promise<{ loss: number; tokens: number }> {
    return measureLoss(this.loaded, this.tokenizer, text, options);
  }

  lossAfter(texts: readonly string[], continuation: string, options?: CallOptions): Promise<Float32Array> {
    return lossAfter(this.loaded, this.tokenizer, texts, continuation, options);
  }

  dispose(): Promise<void> {
    return this.loaded.dispose();
  }

  private checkShape(slots: { readonly groups: number; readonly headSize: number }, what: string): void {
    const { architecture } = this.loaded.manifest;
    if (slots.groups !== groupsOf(architecture) || slots.headSize !== architecture.headSize) {
      throw new LongviewError('bad-format', `${what} was made by another model; compose it again.`);
    }
  }

  private async given(ids: readonly string[]): Promise<GivenState> {
    const key = JSON.stringify(ids);
    if (this.lastGiven?.key !== key) {
      const states = ids.map(id => {
        const state = this.states.get(id);
        if (!state) throw new LongviewError('stale', `State "${id}" is not in the engine; put it there first.`);
        return state;
      });
      this.sinks ??= await readSinks(this.loaded, this.tokenizer);
      this.lastGiven = { key, given: giveStates(this.loaded.manifest, this.sinks, states) };
    }
    return this.lastGiven.given;
  }
}

function describe(model: Model, heads: RecallHeads): ModelDescription {
  const { manifest } = model;
  const { layers, heads: queryHeads, keyHeads, headSize, vocabulary } = manifest.architecture;
  return {
    name: manifest.name,
    fingerprint: manifest.fingerprint,
    ...{ layers, heads: queryHeads, keyHeads, headSize, vocabulary },
    chunk: manifest.kvm.chunk,
    windowChunks: manifest.kvm.windowChunks,
    sinks: manifest.kvm.sinks,
    // Keys and values as int8, and five float32 numbers a group.
    bytesPerSlot: groupsOf(manifest.architecture) * (2 * headSize + 20),
    quantisation: manifest.quantisation,
    lowerLayers: model.lowerLayers,
    provider: model.provider,
    recall: { keyHeads: heads.keyHeads.length, keyHeadOf: heads.keyHeadOf, parameters: heads.parameters },
  };
}
