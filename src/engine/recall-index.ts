/**
 * Recall slots of many texts and the scoring of questions against them: one softmax per head over all slots.
 * Knows ids, not files. Joined arrays are kept for the last set of ids asked for.
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { CallOptions, RecallScores } from './engine.js';
import { SCORE } from './graph-contract.js';
import type { Model } from './model.js';
import { bytes, floatData, floats } from './ort.js';
import type { RecallHeads } from './recall-heads.js';
import { KvmSession, prefill } from './session.js';
import type { RecallSlots } from './slots.js';
import type { TextTokenizer } from './tokenizer.js';

/** A question is read up to this many tokens. */
const QUESTION_TOKENS = 384;

/** Slots of all ids, joined: per key head int8 [N,d], float32 [N], float32 [N]. */
interface Joined {
  readonly signature: string;
  readonly slotStart: Uint32Array;
  readonly heads: readonly { keys: Int8Array; scales: Float32Array; logCounts: Float32Array }[];
  nullMass?: Float32Array;
}

export class RecallIndex {
  private readonly texts = new Map<string, RecallSlots>();
  private joined: Joined | undefined;

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
    this.joined = undefined;
  }

  drop(id: string): void {
    if (this.texts.delete(id)) this.joined = undefined;
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
    joined.nullMass ??= (await this.masses(recall.contentless, joined, options)).mass;
    const { mass, rows } = await this.masses(question, joined, options);
    return { rows, slotStart: joined.slotStart, mass, nullMass: joined.nullMass };
  }

  private async masses(
    question: string,
    joined: Joined,
    options: CallOptions,
  ): Promise<{ mass: Float32Array; rows: number }> {
    const queries = await this.queriesOf(question, options);
    const total = joined.slotStart.at(-1)!;
    const mass = new Float32Array(queries.length * total);
    const { headSize } = this.model.manifest.architecture;
    const rows = (queries[0]?.length ?? 0) / headSize;
    for (let head = 0; total > 0 && rows > 0 && head < queries.length; head++) {
      throwIfCancelled(options.signal);
      const { keys, scales, logCounts } = joined.heads[this.heads.keyHeadOf[head]!]!;
      const result = await this.model.score.run(
        {
          [SCORE.query]: floats(queries[head]!, [rows, headSize]),
          [SCORE.key]: bytes(keys, [total, headSize]),
          [SCORE.scale]: floats(scales, [total]),
          [SCORE.logCount]: floats(logCounts, [total]),
        },
        [SCORE.mass],
      );
      mass.set(floatData(result[SCORE.mass]!), head * total);
    }
    return { mass, rows };
  }

  /** Mapped query rows from the question's first token to the prompt's end (as the fit has them), per head float32 [R,d]. */
  private async queriesOf(question: string, options: CallOptions): Promise<Float32Array[]> {
    const { architecture, recall } = this.model.manifest;
    const special = { special: true } as const;
    const asked = this.tokenizer.encode(question).ids.slice(0, QUESTION_TOKENS);
    const text = this.tokenizer.decode(asked);
    // One text, so that the question's first word has its own space; in parts only where it holds what looks like a
    // control token, which stays text.
    const ids = this.tokenizer.holdsAddedToken(text)
      ? [
          ...this.tokenizer.encode(recall!.before, special).ids,
          ...asked,
          ...this.tokenizer.encode(recall!.after, special).ids,
        ]
      : [...this.tokenizer.encode(recall!.before + text + recall!.after, special).ids];
    const first = Math.min(this.tokenizer.encode(recall!.before, { special: true }).ids.length, ids.length);
    const { headSize, frequencies } = architecture;
    const rows = this.heads.queryHeads.map(() => new Float32Array((ids.length - first) * headSize));
    const session = await KvmSession.start(this.model, { schedule: { kind: 'keepEverything' } });
    const queryLayers = [...new Set(this.heads.queryHeads.map(([layer]) => layer))];
    await prefill(
      session,
      ids,
      () => ({ logitRows: [], queryLayers }),
      (pass, start, count) => {
        throwIfCancelled(options.signal);
        this.heads.queryHeads.forEach(([layer, head], i) => {
          const queries = pass.queries.get(layer)!;
          for (let token = Math.max(first, start); token < start + count; token++) {
            const row = (head * count + token - start) * headSize;
            rows[i]!.set(queries.subarray(row, row + headSize), (token - first) * headSize);
          }
        });
      },
    );
    return rows.map((own, head) => this.heads.mapQueries(head, own, frequencies, recall!.queryPosition));
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
