/**
 * Recall slots of many texts and the scoring of questions against them: one softmax per head over all slots.
 * Knows ids, not files. Joined arrays are kept for the last set of ids asked for.
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { CallOptions, RecallScores, SpanShares } from './engine.js';
import { SCORE } from './graph-contract.js';
import type { Model } from './model.js';
import { bytes, floatData, floats } from './ort.js';
import type { Tensor } from './ort.js';
import { questionQueries } from './question-queries.js';
import type { RecallHeads } from './recall-heads.js';
import type { RecallSlots } from './slots.js';
import { floorShift } from './recall-floor.js';
import { spanScores, touchedSlots } from './span-scores.js';
import type { HeadSlots, TouchedSlots } from './span-scores.js';
import type { TextTokenizer } from './tokenizer.js';

/** Of one head: mapped query rows float32 [R,d], and what each counts, float32 [R]. */
interface Queries {
  readonly rows: Float32Array;
  readonly weights: Float32Array;
}

interface Asked {
  readonly question: string;
  readonly of: Joined;
  readonly queries: readonly Queries[];
  /** Per head float32 [R]. */
  readonly logSums: readonly Float32Array[];
  /** float32 [H,N]. */
  readonly mass: Float32Array;
}

/** Slots of all ids, joined. */
interface Joined {
  readonly signature: string;
  readonly slotStart: Uint32Array;
  /** Per key head. */
  readonly heads: readonly HeadSlots[];
  nullMass?: Float32Array;
}

export class RecallIndex {
  private readonly texts = new Map<string, RecallSlots>();
  private joined: Joined | undefined;
  private lastAsked: Asked | undefined;

  constructor(
    private readonly model: Model,
    private readonly tokenizer: TextTokenizer,
    private readonly heads: RecallHeads,
  ) {}

  put(id: string, slots: RecallSlots): void {
    if (slots.heads !== this.heads.keyHeads.length || slots.headSize !== this.model.manifest.architecture.headSize) {
      throw new LongviewError('bad-format', `Recall slots of "${id}" were made by another model; read it again.`);
    }
    this.texts.set(id, slots);
    this.forgetJoined();
  }

  drop(id: string): void {
    if (this.texts.delete(id)) this.forgetJoined();
  }

  private forgetJoined(): void {
    this.joined = undefined;
    this.lastAsked = undefined;
  }

  async score(question: string, ids: readonly string[], options: CallOptions = {}): Promise<RecallScores> {
    const { recall } = this.model.manifest;
    if (!recall) {
      throw new LongviewError(
        'unsupported',
        `Model "${this.model.manifest.name}" has no recall heads; choose a model whose entry names them.`,
      );
    }
    const joined = this.join(ids);
    joined.nullMass ??= (await this.ask(recall.contentless, joined, options)).mass;
    const { mass, queries } = await this.ask(question, joined, options);
    const rows = queries[0]?.weights.length ?? 0;
    return { rows, slotStart: joined.slotStart, mass, nullMass: joined.nullMass };
  }

  /** As `Engine.scoreSpans`. */
  async scoreSpans(
    question: string,
    ids: readonly string[],
    spans: SpanShares,
    options: CallOptions = {},
  ): Promise<Float32Array> {
    const joined = this.join(ids);
    const { queries, logSums } = await this.ask(question, joined, options);
    const count = spans.tokens.length;
    const scores = new Float32Array(queries.length * count);
    for (const [keyHead, { heads, own }] of this.byKeyHead(spans)) {
      const touched = touchedSlots(own, joined.heads[keyHead]!, this.model.manifest.architecture.headSize);
      for (const head of heads) {
        throwIfCancelled(options.signal);
        const rowMass = await this.rowMass(queries[head]!, logSums[head]!, touched);
        scores.set(
          spanScores({
            rowMass,
            weights: queries[head]!.weights,
            touched,
            spans,
            ...this.floorOf(head, joined.slotStart.at(-1)!),
          }),
          head * count,
        );
      }
    }
    return scores;
  }

  private *byKeyHead(spans: SpanShares): Generator<[number, { heads: number[]; own: SpanShares['keyHeads'][number] }]> {
    for (const [keyHead, own] of spans.keyHeads.entries()) {
      yield [
        keyHead,
        { own, heads: [...this.heads.keyHeadOf.keys()].filter(h => this.heads.keyHeadOf[h] === keyHead) },
      ];
    }
  }

  private floorOf(head: number, slots: number): { lengthExponent: number; floor: number } {
    const { lengthExponent, logFloor } = this.heads.parameters;
    return { lengthExponent: lengthExponent[head]!, floor: Math.exp(logFloor[head]! + floorShift(slots)) };
  }

  private async rowMass(queries: Queries, logSum: Float32Array, { slots }: TouchedSlots): Promise<Float32Array> {
    const rows = queries.weights.length;
    const total = slots.logCounts.length;
    if (rows === 0 || total === 0) return new Float32Array(0);
    const result = await this.model.scoreRows.run(
      { ...this.scoreInputs(queries, slots), [SCORE.logSum]: floats(logSum, [rows]) },
      [SCORE.rowMass],
    );
    return floatData(result[SCORE.rowMass]!);
  }

  private scoreInputs(queries: Queries, { keys, scales, logCounts }: HeadSlots): Record<string, Tensor> {
    const { headSize } = this.model.manifest.architecture;
    return {
      [SCORE.query]: floats(queries.rows, [queries.weights.length, headSize]),
      [SCORE.key]: bytes(keys, [scales.length, headSize]),
      [SCORE.scale]: floats(scales, [scales.length]),
      [SCORE.logCount]: floats(logCounts, [scales.length]),
    };
  }

  /** The question's rows, and their softmax over all slots; of the last question it is known. */
  private async ask(question: string, joined: Joined, options: CallOptions): Promise<Asked> {
    if (this.lastAsked?.question === question && this.lastAsked.of === joined) return this.lastAsked;
    const queries = await this.queriesOf(question, options);
    const total = joined.slotStart.at(-1)!;
    const mass = new Float32Array(queries.length * total);
    const logSums: Float32Array[] = [];
    for (const [head, own] of queries.entries()) {
      throwIfCancelled(options.signal);
      logSums.push(new Float32Array(own.weights.length));
      if (total === 0 || own.weights.length === 0) continue;
      const inputs = this.scoreInputs(own, joined.heads[this.heads.keyHeadOf[head]!]!);
      inputs[SCORE.rowWeight] = floats(own.weights, [own.weights.length]);
      const result = await this.model.score.run(inputs, [SCORE.mass, SCORE.logSum]);
      mass.set(floatData(result[SCORE.mass]!), head * total);
      logSums[head]!.set(floatData(result[SCORE.logSum]!));
    }
    this.lastAsked = { question, of: joined, queries, logSums, mass };
    return this.lastAsked;
  }

  /** Per head. */
  private async queriesOf(question: string, options: CallOptions): Promise<Queries[]> {
    const { architecture, recall } = this.model.manifest;
    const { queryHeads } = this.heads;
    const own = await questionQueries(this.model, this.tokenizer, queryHeads, recall!, question, options);
    return own.map((rows, head) => ({
      rows: this.heads.mapQueries(head, rows, architecture.frequencies, recall!.queryPosition),
      weights: this.heads.weighRows(head, rows, architecture.frequencies, recall!.queryPosition),
    }));
  }

  private join(ids: readonly string[]): Joined {
    const signature = JSON.stringify(ids);
    if (this.joined?.signature === signature) return this.joined;
    const texts = ids.map(id => {
      const slots = this.texts.get(id);
      if (!slots) throw new LongviewError('stale', `"${id}" is not in the recall index; put it there first.`);
      return slots;
    });
    const slotStart = new Uint32Array(ids.length + 1);
    texts.forEach((text, i) => (slotStart[i + 1] = slotStart[i]! + text.slots));
    const total = slotStart.at(-1)!;
    const { headSize } = this.model.manifest.architecture;
    const heads = this.heads.keyHeads.map((_, head) => {
      const keys = new Int8Array(total * headSize);
      const scales = new Float32Array(total);
      const logCounts = new Float32Array(total);
      texts.forEach((text, i) => {
        const [from, to] = [head * text.slots, (head + 1) * text.slots];
        keys.set(text.keys.subarray(from * headSize, to * headSize), slotStart[i]! * headSize);
        scales.set(text.scales.subarray(from, to), slotStart[i]);
        logCounts.set(text.counts.subarray(from, to).map(Math.log), slotStart[i]);
      });
      return { keys, scales, logCounts };
    });
    this.joined = { signature, slotStart, heads };
    return this.joined;
  }
}
