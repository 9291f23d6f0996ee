/**
 * The recall part of all memories of a workspace: provenance here, keys in the engine, each put there once.
 * Never scores and never reads source files.
 */
import { ramBytesOf } from './budget.js';
import { GiveWay } from './give-way.js';
import type { Engine } from '../engine/index.js';
import { tokensBefore } from './line-mass.js';
import { keysOf, partsOf, type LedgerRow, type MemoryKey, type Provenance, type Store } from './store/index.js';

/** What is held here of one memory. */
interface IndexedMemory {
  /** Its id in the engine. */
  readonly key: MemoryKey;
  readonly slots: number;
  readonly provenance: Provenance;
  /** float64 [L+1]: tokens of lines, running sums. */
  readonly tokens: Float64Array;
  /** Bytes that it takes here and in the engine. */
  readonly ram: number;
}

/** A part of a file, which for most files is all of it. */
export interface IndexedPart extends IndexedMemory {
  readonly path: string;
  /** Hash of the file. */
  readonly contentHash: string;
  /** The file's line that is line 1 of the memory. */
  readonly firstLine: number;
}

export class RecallIndex {
  private readonly memories = new Map<MemoryKey, IndexedMemory>();
  private parts: readonly IndexedPart[] = [];
  private readonly inEngine = new Set<MemoryKey>();
  private engine: Engine | undefined;
  private generation = 0;

  constructor(private readonly store: Store) {}

  /** Loads memories that are new among `rows` and lets go of the others. Returns the rows whose memory cannot be used. */
  async sync(rows: readonly LedgerRow[]): Promise<LedgerRow[]> {
    const wanted = new Set(rows.flatMap(keysOf));
    for (const key of this.memories.keys()) if (!wanted.has(key)) this.memories.delete(key);
    const unusable: LedgerRow[] = [];
    const parts: IndexedPart[] = [];
    const others = new GiveWay();
    for (const row of [...rows].sort((a, b) => (a.path < b.path ? -1 : 1))) {
      const own: IndexedPart[] = [];
      for (const { key, firstLine } of partsOf(row)) {
        const memory = this.load(key);
        if (memory) own.push({ ...memory, path: row.path, contentHash: row.contentHash, firstLine });
        await others.step();
      }
      if (own.length < partsOf(row).length) unusable.push(row);
      else parts.push(...own);
    }
    this.parts = parts;
    return unusable;
  }

  /** Bytes that a memory takes here and in the engine, if it is in the index. */
  ramOf(key: MemoryKey): number | undefined {
    return this.memories.get(key)?.ram;
  }

  /** By path (code units), and in the order of the file's lines; each has its slots in the engine after `push`. */
  all(): readonly IndexedPart[] {
    return this.parts;
  }

  /** Brings the engine's slots up to date; after a restart of the engine all go there again. */
  async push(engine: Engine): Promise<void> {
    if (this.engine !== engine || this.generation !== engine.generation) this.inEngine.clear();
    this.engine = engine;
    this.generation = engine.generation;
    const wanted = new Set(this.parts.map(part => part.key));
    for (const key of this.inEngine) {
      if (wanted.has(key)) continue;
      this.inEngine.delete(key);
      await engine.dropRecall(key);
    }
    for (const key of wanted) {
      if (this.inEngine.has(key)) continue;
      const memory = this.store.getRecall(key);
      if (!memory?.ok) continue;
      await engine.putRecall(key, memory.value.recall);
      this.inEngine.add(key);
    }
  }

  private load(key: MemoryKey): IndexedMemory | undefined {
    const known = this.memories.get(key);
    if (known) return known;
    const memory = this.store.getRecall(key);
    if (!memory?.ok) return undefined;
    const { recall, provenance } = memory.value;
    const tokens = tokensBefore(provenance, recall.slots);
    const loaded = { key, slots: recall.slots, provenance, tokens, ram: ramBytesOf(memory.value) };
    this.memories.set(key, loaded);
    return loaded;
  }
}
