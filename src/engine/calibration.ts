/**
 * What fitting recall values asks of a model: texts read with any key heads, query rows of any heads for a question, and
 * attention with its gradients. In this process; calls compute on it in turn. Never decides which heads or values are good.
 */
import { LongviewError } from '../base/index.js';
import type { Disposable } from '../base/index.js';
import type { CallOptions } from './engine.js';
import { FIT } from './graph-contract.js';
import type { Manifest, RecallSettings } from './graph-contract.js';
import { Model } from './model.js';
import type { LoadOptions } from './model.js';
import { Graph, bytes, floatData, floats } from './ort.js';
import type { Tensor } from './ort.js';
import { questionQueries } from './question-queries.js';
import { readText } from './reader.js';
import { readRecallValues } from './recall-values.js';
import { rotateRows, rotationOf } from './rotary.js';
import type { Reading } from './slots.js';
import type { HeadSlots } from './span-scores.js';
import { loadTokenizer } from './token-counter.js';
import type { TextTokenizer } from './tokenizer.js';

export interface CalibrationOptions extends LoadOptions {
  /** `convert`'s graphs for this head size (graph-contract.ts, FIT). */
  readonly graphs: (headSize: number) => { readonly forward: Uint8Array; readonly backward: Uint8Array };
}

/** Rows of questions, and how one head looks at its slots with them. */
export interface Look {
  /** float32 [R,d], as `rowsOf` gives them. */
  readonly rows: Float32Array;
  /** float32 [d,d]. */
  readonly map: Float32Array;
  readonly temperature: number;
  readonly slots: HeadSlots;
}

/** Gradients of a loss. */
export interface LookGradients {
  /** float32 [d,d]. */
  readonly map: Float32Array;
  /** By the logarithm of the temperature. */
  readonly logTemperature: number;
}

/** One head's attention and its gradients. */
export interface HeadAttention {
  /** float32 [R,N]: softmax over the slots. */
  attend(look: Look): Promise<Float32Array>;
  /** `attention`: what `attend` gave; `gradient`: of the loss, by it. float32 [R,N] both. */
  gradients(look: Look, attention: Float32Array, gradient: Float32Array): Promise<LookGradients>;
}

export interface Calibration extends HeadAttention, Disposable {
  readonly architecture: Pick<Manifest['architecture'], 'layers' | 'heads' | 'keyHeads' | 'headSize'>;
  /** The model's own, or what its chat template makes of one; with no heads where it has none. */
  readonly settings: RecallSettings;
  /** Fitted values that it has, by tensor; undefined where it has no recall heads. */
  readonly values: ReadonlyMap<string, Float32Array> | undefined;
  countTokens(text: string): number;
  /** As the product reads it, with the slots of these key heads and no gist. */
  read(
    label: string,
    text: string,
    keyHeads: readonly (readonly [layer: number, keyHead: number])[],
    tokensPerSlot: number,
    options?: CallOptions,
  ): Promise<Pick<Reading, 'tokens' | 'recall' | 'lineOfToken' | 'slotOfToken'>>;
  /** Rows of these query heads for a question: rotated to the query position, over sqrt(d); float32 [R,d] of each. */
  rowsOf(
    question: string,
    heads: readonly (readonly [layer: number, head: number])[],
    options?: CallOptions,
  ): Promise<Float32Array[]>;
}

/** Throws `unsupported` for a model trained with KVM, whose queries are not to be had; and what loading throws. */
export async function openCalibration(modelFolder: string, options: CalibrationOptions): Promise<Calibration> {
  const model = await Model.load(modelFolder, options);
  const { manifest } = model;
  const { name, architecture, recall, kvm } = manifest;
  if (kvm.trained) {
    await model.dispose();
    throw new LongviewError(
      'unsupported',
      `Model ${name} was trained with KVM; only ordinary models get recall heads.`,
    );
  }
  const tokenizer = await loadTokenizer(modelFolder, name);
  const values = recall ? await readRecallValues(modelFolder) : undefined;
  const graphs = options.graphs(architecture.headSize);
  const settings = { threads: options.threads };
  const forward = await Graph.ofBytes(graphs.forward, 'fit-forward', settings);
  const backward = await Graph.ofBytes(graphs.backward, 'fit-backward', settings);
  return new LocalCalibration(model, tokenizer, recall ?? settingsFrom(tokenizer), values, forward, backward);
}

class LocalCalibration implements Calibration {
  readonly architecture;

  constructor(
    private readonly model: Model,
    private readonly tokenizer: TextTokenizer,
    readonly settings: RecallSettings,
    readonly values: ReadonlyMap<string, Float32Array> | undefined,
    private readonly forward: Graph,
    private readonly backward: Graph,
  ) {
    this.architecture = model.manifest.architecture;
  }

  countTokens(text: string): number {
    return this.tokenizer.count(text);
  }

  read(
    label: string,
    text: string,
    keyHeads: readonly (readonly [layer: number, keyHead: number])[],
    tokensPerSlot: number,
    options?: CallOptions,
  ): Promise<Reading> {
    const heads = { keyHeads: keyHeads.map(([layer, head]) => ({ layer, head })) };
    const request = { label, text, tokensPerRecallSlot: tokensPerSlot, gistSlots: 0 };
    return readText(this.model, this.tokenizer, heads, request, options);
  }

  async rowsOf(
    question: string,
    heads: readonly (readonly [layer: number, head: number])[],
    options?: CallOptions,
  ): Promise<Float32Array[]> {
    const { frequencies, headSize } = this.architecture;
    const rotation = rotationOf(frequencies, this.settings.queryPosition, 1);
    const rows = await questionQueries(this.model, this.tokenizer, heads, this.settings, question, options);
    return rows.map(own => {
      rotateRows(own, rotation);
      return own.map(value => value / Math.sqrt(headSize));
    });
  }

  async attend(look: Look): Promise<Float32Array> {
    return floatData((await this.forward.run(this.feedsOf(look), [FIT.attention]))[FIT.attention]!);
  }

  async gradients(look: Look, attention: Float32Array, gradient: Float32Array): Promise<LookGradients> {
    // The counts are in the attention already.
    const { [FIT.logCount]: counts, ...feeds } = this.feedsOf(look);
    const shape = [look.rows.length / this.architecture.headSize, counts!.dims[0]!];
    const result = await this.backward.run(
      {
        ...feeds,
        [FIT.attention]: floats(attention, shape),
        [FIT.attentionGradient]: floats(gradient, shape),
      },
      [FIT.mapGradient, FIT.temperatureGradient],
    );
    return {
      map: floatData(result[FIT.mapGradient]!),
      logTemperature: floatData(result[FIT.temperatureGradient]!)[0]!,
    };
  }

  async dispose(): Promise<void> {
    await this.forward.release();
    await this.backward.release();
    await this.model.dispose();
  }

  private feedsOf({ rows, map, temperature, slots }: Look): Record<string, Tensor> {
    const { headSize } = this.architecture;
    const count = rows.length / headSize;
    const total = slots.scales.length;
    return {
      [FIT.row]: floats(rows, [count, headSize]),
      [FIT.map]: floats(map, [headSize, headSize]),
      [FIT.temperature]: floats(Float32Array.of(temperature), [1]),
      [FIT.key]: bytes(slots.keys, [total, headSize]),
      [FIT.scale]: floats(slots.scales, [total]),
      [FIT.logCount]: floats(slots.logCounts, [total]),
    };
  }
}

/** Stands for the question while a chat template is filled in; no template changes it. */
const MARK = 'QUESTIONMARKSTANDSHERE';

/** The question in the model's own chat template, as the answer begins with a definition; plain text where it has none. */
function settingsFrom(tokenizer: TextTokenizer): RecallSettings {
  const asked = `Which function does this: ${MARK}`;
  const [before, after = '\ndef'] = templated(tokenizer, asked).split(MARK);
  return { heads: [], queryPosition: 512, before: before!, after, contentless: 'N/A' };
}

function templated(tokenizer: TextTokenizer, content: string): string {
  try {
    return tokenizer.applyChatTemplate([{ role: 'user', content }], { answerPrefix: 'def' });
  } catch {
    return `${content}\ndef`;
  }
}
