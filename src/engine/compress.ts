/**
 * Slots or tokens that come in batches → a state of a wanted size, grown evenly by KVM's rule (memory.md, gists and the
 * workspace state). The first batch's slots are spread evenly over it; later ones are chosen by novelty.
 */
import type { Append, Folded, Folder, KeySlots, Slots } from './state.js';
import { emptyKeySlots, emptySlots, joinSlots, sliceSlots } from './state.js';

/** Incoming slots of one fold at most: a chunk of the paper. */
export const BATCH = 256;

/** Rows of n spread evenly over 0..rows-1, first and last included. */
export function spreadRows(n: number, rows: number): number[] {
  if (n === 1) return [0];
  return Array.from({ length: n }, (_, i) => Math.round((i * (rows - 1)) / (n - 1)));
}

/** Grows a state of all groups to `target` slots while `total` slots come in. */
export class Compressor {
  private state: Slots | undefined;
  private pending: Slots[] = [];
  private pendingSlots = 0;
  private done = 0;

  constructor(
    private readonly folder: Folder,
    private readonly target: number,
    private readonly total: number,
    /** Sees each fold: what came in, and where it went. */
    private readonly onFolded?: (batch: Slots, folded: Folded<Slots>, slotsBefore: number) => void,
  ) {}

  async add(incoming: Slots): Promise<void> {
    for (let from = 0; from < incoming.slots;) {
      const to = Math.min(incoming.slots, from + BATCH - this.pendingSlots);
      this.pending.push(from === 0 && to === incoming.slots ? incoming : sliceSlots(incoming, from, to));
      this.pendingSlots += to - from;
      from = to;
      if (this.pendingSlots === BATCH) await this.flush();
    }
  }

  /** The state; undefined when nothing came in. */
  async finish(): Promise<Slots | undefined> {
    if (this.pendingSlots > 0) await this.flush();
    return this.state;
  }

  private async flush(): Promise<void> {
    const batch = joinSlots(this.pending);
    this.pending = [];
    this.pendingSlots = 0;
    this.done += batch.slots;
    const before = this.state ?? emptySlots(batch.groups, batch.headSize);
    // More may come than was told: never over the target.
    const wanted = Math.round((this.target * this.done) / Math.max(this.total, this.done));
    const append = appendFor(before.slots, batch.slots, wanted);
    const folded = await this.folder.fold(before, batch, append, 0);
    this.state = folded.state;
    this.onFolded?.(batch, folded, before.slots);
  }
}

/** Merges recall keys chunk by chunk, `tokensPerSlot` tokens into one slot; remembers where each token went. */
export class RecallMerger {
  private state: KeySlots;
  private readonly slotsOf: Uint32Array[] = [];

  constructor(
    private readonly folder: Folder,
    heads: number,
    headSize: number,
    private readonly tokensPerSlot: number,
  ) {
    this.state = emptyKeySlots(heads, headSize);
  }

  /** Un-rotated keys of one chunk. */
  async add(incoming: KeySlots): Promise<void> {
    const wanted = this.state.slots + Math.max(1, Math.round(incoming.slots / this.tokensPerSlot));
    const append = appendFor(this.state.slots, incoming.slots, wanted);
    const { state, slotOf } = await this.folder.foldKeys(this.state, incoming, append);
    this.state = state;
    this.slotsOf.push(slotOf);
  }

  get slots(): KeySlots {
    return this.state;
  }

  /** uint32 [K,T]. */
  slotOfToken(): Uint32Array {
    const heads = this.state.groups;
    const tokens = this.slotsOf.reduce((sum, part) => sum + part.length / heads, 0);
    const all = new Uint32Array(heads * tokens);
    let done = 0;
    for (const part of this.slotsOf) {
      const run = part.length / heads;
      for (let head = 0; head < heads; head++) {
        all.set(part.subarray(head * run, (head + 1) * run), head * tokens + done);
      }
      done += run;
    }
    return all;
  }
}

function appendFor(slots: number, incoming: number, wanted: number): Append {
  const n = Math.min(incoming, Math.max(0, wanted - slots));
  return slots === 0 ? { rows: spreadRows(Math.max(1, n), incoming) } : { novel: n };
}
