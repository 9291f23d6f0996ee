/**
 * The recall part of all file memories of a workspace: provenance here, keys in the engine, each put there once.
 * Never scores and never reads source files.
 */
import { GiveWay } from './give-way.js';
import type { Engine, RecallSlots } from '../engine/index.js';
import { tokensBefore } from './line-mass.js';
import { keysOf, partsOf, type LedgerRow, type MemoryKey, type Provenance, type Store } from './store/index.js';

export interface IndexedFile {
  readonly path: string;
  /** Key of its memory; its id in the engine. */
  readonly key: string;
  readonly contentHash: string;
  readonly slots: number;
  readonly provenance: Provenance;
  /** float64 [L+1]: tokens of lines, running sums. */
  readonly tokens: Float64Array;
  readonly gistSlots: number;
}

export class RecallIndex {
  private readonly files = new Map<string, IndexedFile>();
  /** Keys that are not in the engine yet. */
  private readonly pending = new Map<string, RecallSlots>();
  private readonly inEngine = new Set<string>();
  private engine: Engine | undefined;
  private generation = 0;

  constructor(private readonly store: Store) {}

  /** Loads memories that are new among `rows` and lets go of the others. Returns the rows whose memory cannot be used. */
  async sync(rows: readonly LedgerRow[]): Promise<LedgerRow[]> {
    const wanted = new Set(rows.flatMap(keysOf));
    for (const key of this.files.keys()) if (!wanted.has(key)) this.remove(key);
    const unusable: LedgerRow[] = [];
    const others = new GiveWay();
    for (const row of rows) {
      if (!partsOf(row).every(part => this.load(row, part.key))) unusable.push(row);
      await others.step();
    }
    return unusable;
  }

  /** The files of the index by path (code units); each has its slots in the engine after `push`. */
  all(): IndexedFile[] {
    return [...this.files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  get(key: string): IndexedFile | undefined {
    return this.files.get(key);
  }

  /** Brings the engine's slots up to date; after a restart of the engine all go there again. */
  async push(engine: Engine): Promise<void> {
    if (this.engine !== engine || this.generation !== engine.generation) this.inEngine.clear();
    this.engine = engine;
    this.generation = engine.generation;
    for (const key of this.inEngine) {
      if (this.files.has(key)) continue;
      this.inEngine.delete(key);
      await engine.dropRecall(key);
    }
    for (const key of this.files.keys()) {
      if (this.inEngine.has(key)) continue;
      const slots = this.pending.get(key) ?? this.slotsOf(key);
      if (!slots) continue;
      await engine.putRecall(key, slots);
      this.inEngine.add(key);
      this.pending.delete(key);
    }
  }

  private load(row: LedgerRow, key: MemoryKey): boolean {
    if (this.files.has(key)) return true;
    const memory = this.store.getMemory(key);
    if (!memory?.ok) return false;
    const { recall, gist, provenance } = memory.value;
    // Copies, so that the bytes of the whole memory can go.
    const own = {
      slotStart: provenance.slotStart.slice(),
      lines: provenance.lines.slice(),
      weights: provenance.weights.slice(),
    };
    this.files.set(key, {
      path: row.path,
      key,
      contentHash: row.contentHash,
      slots: recall.slots,
      provenance: own,
      tokens: tokensBefore(own, recall.slots),
      gistSlots: gist.slots,
    });
    this.pending.set(key, copied(recall));
    return true;
  }

  private slotsOf(key: string): RecallSlots | undefined {
    const memory = this.store.getMemory(key);
    return memory?.ok ? memory.value.recall : undefined;
  }

  private remove(key: string): void {
    this.files.delete(key);
    this.pending.delete(key);
  }
}

function copied(slots: RecallSlots): RecallSlots {
  return { ...slots, keys: slots.keys.slice(), scales: slots.scales.slice(), counts: slots.counts.slice() };
}
