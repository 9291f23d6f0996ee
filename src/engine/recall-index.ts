/**
 * Recall slots of many texts and the scoring of questions against them: one softmax per head over all slots. Of a large
 * memory clusters of slots are scored first (`found-mass.ts`). Knows ids, not files. What texts have together is kept for
 * the last set of ids asked for.
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { CallOptions, RecallScores, SlotMass, SpanScores, SpanShares } from './engine.js';
import { foundMass } from './found-mass.js';
import type { JoinedSlots } from './found-mass.js';
import type { Model } from './model.js';
import { questionQueries } from './question-queries.js';
import { atMemorySize } from './recall-floor.js';
import type { RecallHeads } from './recall-heads.js';
import { blocksAt } from './slot-blocks.js';
import type { SlotTable } from './slot-blocks.js';
import { clustersOf } from './slot-clusters.js';
import type { Clusters } from './slot-clusters.js';
import { SlotScorer } from './slot-softmax.js';
import type { QueryRows } from './slot-softmax.js';
import type { RecallSlots } from './slots.js';
import { SpanMass, sharedSlots } from './span-scores.js';
import type { SharedSlots } from './span-scores.js';
import type { TextTokenizer } from './tokenizer.js';

/** When a memory is scored coarsely, and how many of its slots one by one even then. Measured: docs/measurements, Scoring. */
export interface CoarseLimits {
  /** Slots up to which each is scored: a million tokens where 4 are merged into one. */
  readonly exactSlots: number;
  /** Slots of the best clusters, per key head. */
  readonly fineSlots: number;
}

const LIMITS: CoarseLimits = { exactSlots: 262_144, fineSlots: 8192 };

interface Asked {
  readonly question: string;
  readonly of: Joined;
  /** Per key head. */
  readonly queries: readonly QueryRows[];
  readonly logSums: readonly Float32Array[];
  readonly found: SlotMass;
  readonly rows: number;
}

interface Joined extends JoinedSlots {
  readonly signature: string;
  contentless?: Asked;
}

interface Text {
  readonly table: SlotTable;
  clusters?: Clusters;
}

export class RecallIndex {
  private readonly texts = new Map<string, Text>();
  private joined: Joined | undefined;
  private lastAsked: Asked | undefined;
  private readonly scorer: SlotScorer;
  /** Query heads of each key head. */
  private readonly headsOf: readonly (readonly number[])[];

  constructor(
    private readonly model: Model,
    private readonly tokenizer: TextTokenizer,
    private readonly heads: RecallHeads,
    private readonly limits = LIMITS,
  ) {
    this.scorer = new SlotScorer(model);
    this.headsOf = heads.keyHeads.map((_, keyHead) =>
      [...heads.keyHeadOf.keys()].filter(head => heads.keyHeadOf[head] === keyHead),
    );
  }

  put(id: string, { heads, slots, headSize, keys, scales, counts }: RecallSlots): void {
    if (heads !== this.heads.keyHeads.length || headSize !== this.model.manifest.architecture.headSize) {
      throw new LongviewError('bad-format', `Recall slots of "${id}" were made by another model; read it again.`);
    }
    this.texts.set(id, { table: { slots, keys, scales, logCounts: counts.map(Math.log) } });
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
    const joined = await this.join(ids, options);
    const contentless = await this.contentless(joined, options);
    const { found, rows } = await this.ask(question, joined, options);
    const parameters = atMemorySize(this.heads.parameters, joined.starts.at(-1)!);
    return { rows, slotStart: joined.starts, mass: found, nullMass: contentless.found, parameters };
  }

  private async contentless(joined: Joined, options: CallOptions): Promise<Asked> {
    return (joined.contentless ??= await this.ask(this.model.manifest.recall!.contentless, joined, options));
  }

  /** As `Engine.scoreSpans`. */
  async scoreSpans(
    question: string,
    ids: readonly string[],
    spans: SpanShares,
    options: CallOptions = {},
  ): Promise<SpanScores> {
    const joined = await this.join(ids, options);
    const contentless = joined.coarse && (await this.contentless(joined, options));
    const asked = await this.ask(question, joined, options);
    const count = spans.tokens.length;
    const found = new Float32Array(this.heads.keyHeadOf.length * count);
    const nullMass = new Float32Array(contentless ? found.length : 0);
    const parameters = atMemorySize(this.heads.parameters, joined.starts.at(-1)!);
    for (const [keyHead, own] of spans.keyHeads.entries()) {
      const shared = sharedSlots(own, joined.starts.at(-1)!);
      const mass = await this.spanMass(asked, shared, count, keyHead, options);
      const ofNothing = contentless && (await this.spanMass(contentless, shared, count, keyHead, options));
      for (const [at, head] of this.headsOf[keyHead]!.entries()) {
        const lengthExponent = parameters.lengthExponent[head]!;
        const floor = Math.exp(parameters.logFloor[head]!);
        const scores = mass.scores(asked.queries[keyHead]!, at, spans.tokens, { lengthExponent, floor });
        found.set(scores, head * count);
        if (ofNothing) nullMass.set(ofNothing.mean(contentless.queries[keyHead]!, at), head * count);
      }
    }
    return contentless ? { found, nullMass } : { found };
  }

  private async spanMass(
    { of: { tables, starts, headSize }, queries, logSums }: Asked,
    shared: SharedSlots,
    count: number,
    keyHead: number,
    options: CallOptions,
  ): Promise<SpanMass> {
    const mass = new SpanMass(shared, count, logSums[keyHead]!);
    for (const block of blocksAt(tables, starts, shared.slots, keyHead, headSize)) {
      throwIfCancelled(options.signal);
      mass.add(await this.scorer.exponentials(queries[keyHead]!, block, logSums[keyHead]!));
    }
    return mass;
  }

  /** The question's rows, and their softmax over all slots; of the last question it is known. */
  private async ask(question: string, joined: Joined, options: CallOptions): Promise<Asked> {
    if (this.lastAsked?.question === question && this.lastAsked.of === joined) return this.lastAsked;
    const { queries, rows } = await this.queriesOf(question, options);
    const { fineSlots } = this.limits;
    const found = await foundMass(this.scorer, this.model.threads, queries, joined, fineSlots, options);
    const perHead = <T>(of: (keyHead: number, at: number) => T): T[] =>
      this.heads.keyHeadOf.map((keyHead, head) => of(keyHead, this.headsOf[keyHead]!.indexOf(head)));
    this.lastAsked = {
      question,
      of: joined,
      queries,
      logSums: found.map(({ logSums }) => logSums),
      found: {
        ...(joined.coarse && { slots: found.map(({ slots }) => slots!) }),
        mass: perHead((keyHead, at) => found[keyHead]!.mass[at]!),
        rest: perHead((keyHead, at) => found[keyHead]!.rest[at]!),
      },
      rows,
    };
    return this.lastAsked;
  }

  /** Per key head: mapped rows of its query heads. */
  private async queriesOf(question: string, options: CallOptions): Promise<{ queries: QueryRows[]; rows: number }> {
    const { architecture, recall } = this.model.manifest;
    const { queryHeads } = this.heads;
    const own = await questionQueries(this.model, this.tokenizer, queryHeads, recall!, question, options);
    const rows = (own[0]?.length ?? 0) / architecture.headSize;
    const settings = [architecture.frequencies, recall!.queryPosition] as const;
    const queries = this.headsOf.map(heads => ({
      rows: joinedFloats(heads.map(head => this.heads.mapQueries(head, own[head]!, ...settings))),
      weights: joinedFloats(heads.map(head => this.heads.weighRows(head, own[head]!, ...settings))),
      starts: [0, ...heads.map((_, at) => (at + 1) * rows)],
    }));
    return { queries, rows };
  }

  private async join(ids: readonly string[], options: CallOptions): Promise<Joined> {
    const signature = JSON.stringify(ids);
    if (this.joined?.signature === signature) return this.joined;
    const texts = ids.map(id => {
      const text = this.texts.get(id);
      if (!text) throw new LongviewError('stale', `"${id}" is not in the recall index; put it there first.`);
      return text;
    });
    const tables = texts.map(({ table }) => table);
    const starts = startsOf(tables);
    const { headSize } = this.model.manifest.architecture;
    const shape = { heads: this.heads.keyHeads.length, headSize };
    if (starts.at(-1)! <= this.limits.exactSlots) {
      return (this.joined = { signature, tables, starts, headSize });
    }
    const clusters: Clusters[] = [];
    for (const text of texts)
      clusters.push((text.clusters ??= await clustersOf(text.table, this.scorer, shape, options)));
    return (this.joined = { signature, tables, starts, headSize, coarse: { clusters, starts: startsOf(clusters) } });
  }
}

function startsOf(tables: readonly SlotTable[]): Uint32Array {
  const starts = new Uint32Array(tables.length + 1);
  tables.forEach(({ slots }, at) => (starts[at + 1] = starts[at]! + slots));
  return starts;
}

function joinedFloats(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
