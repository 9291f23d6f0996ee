/**
 * Keeps memories within their budgets of RAM and disk, while files are read: what no file stands on goes first, then
 * memories are coarsened, those of the least useful files first and all of them to one level before any goes to the next.
 * Each part of a file is coarsened in one transaction. Never reads source files and never refuses a file.
 */
import { throwIfCancelled, type Log } from '../base/index.js';
import type { Engine, PackedSlots } from '../engine/index.js';
import { COARSENESSES, coarsenessOf, memoryEndings, memoryKeyOf } from './memory-keys.js';
import { RUNS_OF_COARSER_SLOT, SLOTS_PER_COARSER_SLOT, type Coarseness, type MemorySettings } from './settings.js';
import {
  fileMemoryBytes,
  filePart,
  isOfUse,
  mergedProvenance,
  partsOf,
  type FileMemory,
  type LedgerRow,
  type MemoryKey,
  type Store,
} from './store/index.js';

export interface BudgetParts {
  readonly store: Store;
  readonly engine: () => Promise<Engine>;
  /** Fingerprint of the model. */
  readonly model: string;
  readonly settings: MemorySettings;
  readonly log: Log;
  readonly signal?: AbortSignal;
  /** `RefreshOptions.cpuShare`, as it is now. */
  readonly share?: () => number | undefined;
}

/** Bytes. */
interface Size {
  readonly ram: number;
  readonly disk: number;
}

/** Room is made from this share of a budget on, down to that one, so that it is not passed and not looked at too often. */
const FULL = 0.9;
const ENOUGH = 0.8;

const vendored = /(^|\/)(vendor(ed)?|third[-_]?party|external|deps|dist|node_modules|bower_components|generated)\//i;

export class Budget {
  private readonly endings: ReturnType<typeof memoryEndings>;
  private readonly ramOf = new Map<MemoryKey, number>();
  private ram = 0;
  private disk = 0;
  private said = false;

  /** `known` tells the RAM of memories that were looked at already. */
  constructor(
    private readonly parts: BudgetParts,
    known: (key: MemoryKey) => number | undefined,
  ) {
    const { store, model, settings } = parts;
    this.endings = memoryEndings(model, settings);
    this.disk = store.listKeys().reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { key } of store.ledger.all().filter(isOfUse).flatMap(partsOf)) {
      this.ramOf.set(key, known(key) ?? 0);
    }
    for (const bytes of this.ramOf.values()) this.ram += bytes;
  }

  /** To be told of each memory that was written. */
  add(key: MemoryKey, memory: FileMemory): void {
    const { ram, disk } = sizeOf(memory);
    this.ram += ram - (this.ramOf.get(key) ?? 0);
    this.disk += disk;
    this.ramOf.set(key, ram);
  }

  /** Makes room where a budget is nearly used up. `needed` stay although no row stands on them. */
  async keep(needed?: ReadonlySet<MemoryKey>): Promise<void> {
    if (!this.isOver(FULL)) return;
    const { store, log, signal } = this.parts;
    if (this.isDiskOver(FULL)) this.disk -= (await store.collectGarbage({ keepBytes: 0, keep: needed })).bytes;
    for (const level of [1, 2, 3] as const) {
      for (const row of leastUsefulFirst(store.ledger.all())) {
        // Without its gist a memory takes no less RAM.
        if (!(level === 3 ? this.isDiskOver(ENOUGH) : this.isOver(ENOUGH))) break;
        throwIfCancelled(signal);
        await this.coarsen(row, level);
      }
    }
    if (!this.isOver(1) || this.said) return;
    this.said = true;
    log(
      'warning',
      'The memory takes more than its budget although all of it is coarse. Raise the budget or exclude files.',
    );
  }

  /** Bytes of disk up to the budget. */
  get diskLeft(): number {
    return Math.max(0, ENOUGH * this.parts.settings.diskBytes - this.disk);
  }

  private isOver(share: number): boolean {
    return this.isDiskOver(share) || this.ram > share * this.parts.settings.ramBytes;
  }

  private isDiskOver(share: number): boolean {
    return this.disk > share * this.parts.settings.diskBytes;
  }

  private async coarsen({ path }: LedgerRow, level: Coarseness): Promise<void> {
    const { store, model, settings } = this.parts;
    for (const key of new Set(partsOf(store.ledger.get(path) ?? emptyRow).map(part => part.key))) {
      const found = coarsenessOf(key, path, this.endings);
      const memory = found !== undefined && found < level ? store.getMemory(key) : undefined;
      if (found === undefined || !memory?.ok) continue;
      const coarse = await this.coarser(memory.value, found, level);
      const newKey = memoryKeyOf(path, coarse.contentHash, model, settings, level);
      await store.batch(write => {
        const row = store.ledger.get(path);
        if (!row || !partsOf(row).some(part => part.key === key)) return;
        write.putMemory(newKey, coarse);
        write.deleteMemory(key);
        if (level === 3 && row.gist !== undefined) write.deleteMemory(row.gist);
        write.putRow({
          ...row,
          state: row.state === 'read' ? 'coarse' : row.state,
          parts: partsOf(row).map(part => (part.key === key ? filePart(part.firstLine, newKey, coarse) : part)),
          ...(level === 3 && { gist: undefined }),
        });
      });
      const before = sizeOf(memory.value);
      this.ram -= this.ramOf.get(key) ?? before.ram;
      this.disk -= before.disk;
      this.ramOf.delete(key);
      this.add(newKey, coarse);
    }
  }

  private async coarser(memory: FileMemory, from: Coarseness, to: Coarseness): Promise<FileMemory> {
    let { recall, provenance } = memory;
    for (const level of COARSENESSES.slice(from, to)) {
      const slotsPerSlot = SLOTS_PER_COARSER_SLOT[level as 0 | 1 | 2];
      if (slotsPerSlot === 1 || recall.slots === 0) continue;
      const engine = await this.parts.engine();
      const { signal, share } = this.parts;
      const merged = await engine.coarsen(recall, slotsPerSlot, { signal, cpuShare: share?.() });
      const mostRuns = RUNS_OF_COARSER_SLOT[level as 0 | 1];
      provenance = mergedProvenance(provenance, recall.slots, merged.slotOf, merged.recall.slots, mostRuns);
      recall = merged.recall;
    }
    return { ...memory, recall, provenance, gist: to === 3 ? withoutSlots(memory.gist) : memory.gist };
  }
}

/** Rows that can be coarsened: longest out of use first, then vendored ones, then large ones; what is being read last. */
export function leastUsefulFirst(rows: readonly LedgerRow[]): LedgerRow[] {
  const rank = (row: LedgerRow): number[] => [
    row.state === 'reading' ? 1 : 0,
    row.usedAt ?? 0,
    vendored.test(row.path) ? 0 : 1,
    -row.size,
  ];
  return rows
    .filter(row => isOfUse(row) || (row.state === 'reading' && partsOf(row).length > 0))
    .map(row => ({ row, rank: rank(row) }))
    .sort((a, b) => {
      const at = a.rank.findIndex((value, i) => value !== b.rank[i]);
      if (at >= 0) return a.rank[at]! - b.rank[at]!;
      return a.row.path < b.row.path ? -1 : 1;
    })
    .map(({ row }) => row);
}

/** RAM: the slots, twice (the engine holds them once, and clusters of them and what a question needs beside), and their provenance. */
export function ramBytesOf({ recall, provenance }: Pick<FileMemory, 'recall' | 'provenance'>): number {
  const slots = recall.keys.byteLength + recall.scales.byteLength + recall.counts.byteLength;
  return 2 * slots + provenanceBytes(provenance);
}

function sizeOf(memory: FileMemory): Size {
  return { ram: ramBytesOf(memory), disk: fileMemoryBytes(memory) };
}

function provenanceBytes({ slotStart, lines, weights, spans }: FileMemory['provenance']): number {
  return slotStart.byteLength + lines.byteLength + weights.byteLength + (spans?.byteLength ?? 0);
}

function withoutSlots({ groups, headSize }: PackedSlots): PackedSlots {
  const none = new Float32Array(0);
  const nothing = { keyScales: none, valueScales: none, counts: none, keyRadii: none, valueRadii: none };
  return { groups, slots: 0, headSize, keys: new Int8Array(0), values: new Int8Array(0), ...nothing };
}

const emptyRow: LedgerRow = { path: '', size: 0, mtimeMs: 0, contentHash: '', state: 'waiting' };
