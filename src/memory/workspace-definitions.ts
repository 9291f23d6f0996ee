/**
 * The definitions of a workspace's files: found by name, shown only while their file is still the one that was read, and
 * weighed by the model where there are several. Lists what changed when it is asked; never starts the engine to find.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { throwIfCancelled } from '../base/index.js';
import { linesOf } from './blocks.js';
import {
  DefinitionIndex,
  definitionText,
  definitionsOf,
  languageOf,
  type Definition,
  type DefinitionText,
  type IndexedDefinition,
  type Language,
} from './definitions/index.js';
import type { LazyEngine } from './lazy-engine.js';
import { placeScores, type PlaceToScore, type SlotsOfFile } from './place-scores.js';
import type { SourceFiles } from './source-files.js';
import { isOfUse, isWhole, partsOf, type MemoryKey, type Store } from './store/index.js';

export interface FoundDefinitions {
  /** Of exactly this name, by path and line; of names that differ in case and underscores only, where there is none. */
  readonly definitions: readonly IndexedDefinition[];
  readonly exact: boolean;
  /** Lines where exactly this name only looks defined, in files that list no definition of it. */
  readonly likely: readonly IndexedDefinition[];
  /** Files whose definitions are known. */
  readonly files: number;
  /** False while files are still being listed, or where some could not be. */
  readonly complete: boolean;
}

export interface WorkspaceDefinitions {
  /** Waits for the list to be up to date, `patienceMs` at most. */
  find(name: string, options?: { signal?: AbortSignal; patienceMs?: number }): Promise<FoundDefinitions>;
  /** Its lines from disk, or undefined where the file is not the one that was read any more. */
  show(definition: IndexedDefinition): Promise<DefinitionText | undefined>;
  /**
   * Per recall head, a score for each definition's head line: `placeScores`. Undefined where the model is not running yet:
   * it is started, and waited for with `wait`.
   */
  weigh(
    before: string,
    definitions: readonly IndexedDefinition[],
    options?: { signal?: AbortSignal; wait?: boolean },
  ): Promise<number[][] | undefined>;
  /** Text of a file as it is on disk now; undefined where it cannot be read. */
  textOf(path: string): Promise<string | undefined>;
  /** Definitions of a text that may not be saved. */
  definitionsIn(path: string, text: string): Definition[];
  /** `id`: what the editor says where the path says nothing. */
  languageOf(path: string, id?: string): Language;
}

interface Parts {
  readonly store: Store;
  readonly files: SourceFiles;
  readonly engine: LazyEngine;
}

const READ_AT_ONCE = 16;
/** The ledger is looked at again after this time. */
const FRESH_MS = 1000;
/** Files whose slots stay at hand. */
const SLOT_FILES = 64;
/** Tokens before the name that the model reads: more take longer than a hover may (docs/measurements). */
export const LOOK_UP_TOKENS = 64;

export class DefinitionFinder implements WorkspaceDefinitions {
  private readonly index = new DefinitionIndex();
  private readonly slots = new Map<string, SlotsOfFile>();
  private listing: Promise<void> | undefined;
  private listedAt = -Infinity;
  private closed = false;

  constructor(private readonly parts: Parts) {}

  readonly languageOf = languageOf;

  async find(name: string, options: { signal?: AbortSignal; patienceMs?: number } = {}): Promise<FoundDefinitions> {
    const { signal, patienceMs } = options;
    throwIfCancelled(signal);
    let late = false;
    if (performance.now() - this.listedAt > FRESH_MS) this.listing ??= this.list();
    if (this.listing) {
      const out = patienceMs === undefined ? [] : [sleep(patienceMs, 'late' as const, { signal, ref: false })];
      late = (await Promise.race([this.listing, ...out]).catch(() => undefined)) === 'late';
      throwIfCancelled(signal);
    }
    let definitions = this.index.named(name);
    const exact = definitions.length > 0;
    if (!exact) definitions = this.index.variantsOf(name).flatMap(other => this.index.named(other));
    const likely = this.index.likely(name);
    return { definitions, exact, likely, files: this.index.files, complete: !late && this.index.complete };
  }

  async show(definition: IndexedDefinition): Promise<DefinitionText | undefined> {
    const { path, contentHash, line } = definition;
    const row = this.parts.store.ledger.get(path);
    if (!row || !isWhole(row) || row.contentHash !== contentHash) return undefined;
    const source = await this.parts.files.read(path);
    if (!source.ok || source.value.contentHash !== contentHash) return undefined;
    const lines = linesOf(source.value.text);
    return line <= lines.length ? definitionText(path, lines, definition) : undefined;
  }

  async weigh(
    before: string,
    definitions: readonly IndexedDefinition[],
    options: { signal?: AbortSignal; wait?: boolean } = {},
  ): Promise<number[][] | undefined> {
    const engine = options.wait ? await this.parts.engine.get() : this.parts.engine.started;
    if (!engine) {
      // The next one who asks finds it running.
      this.parts.engine.get().catch(() => undefined);
      return undefined;
    }
    const places: PlaceToScore[] = [];
    for (const { path, line } of definitions) {
      const row = this.parts.store.ledger.get(path);
      const part = row && isWhole(row) ? partsOf(row).findLast(({ firstLine }) => firstLine <= line) : undefined;
      const file = part && this.slotsOf(part.key);
      if (!file) return undefined;
      const lineOfPart = line - part.firstLine + 1;
      places.push({ startLine: lineOfPart, endLine: lineOfPart, file });
    }
    const queries = await engine.queriesAt(before, LOOK_UP_TOKENS, { signal: options.signal });
    return placeScores(queries, engine.model.recall.keyHeadOf, places);
  }

  async textOf(path: string): Promise<string | undefined> {
    const source = await this.parts.files.read(path);
    return source.ok ? source.value.text : undefined;
  }

  definitionsIn(path: string, text: string): Definition[] {
    return definitionsOf(path, linesOf(text));
  }

  /** The ledger may have changed: it is looked at again at once. */
  changed(): void {
    this.listedAt = -Infinity;
  }

  close(): void {
    this.closed = true;
  }

  private async list(): Promise<void> {
    try {
      const rows = this.parts.store.ledger.all().filter(isOfUse);
      const missing = this.index.missing(rows);
      for (let at = 0; at < missing.length && !this.closed; at += READ_AT_ONCE) {
        const some = missing.slice(at, at + READ_AT_ONCE);
        const sources = await Promise.all(some.map(file => this.parts.files.read(file.path)));
        some.forEach((file, i) => {
          const source = sources[i]!;
          const same = source.ok && source.value.contentHash === file.contentHash;
          this.index.put(file, same ? source.value.text : undefined);
        });
      }
      this.listedAt = performance.now();
    } finally {
      this.listing = undefined;
    }
  }

  private slotsOf(key: MemoryKey): SlotsOfFile | undefined {
    const known = this.slots.get(key);
    if (known) return known;
    const memory = this.parts.store.getRecall(key);
    if (!memory?.ok) return undefined;
    const { recall, provenance } = memory.value;
    const own = {
      recall: { ...recall, keys: recall.keys.slice(), scales: recall.scales.slice(), counts: recall.counts.slice() },
      provenance,
    };
    this.slots.set(key, own);
    for (const oldest of this.slots.keys()) {
      if (this.slots.size <= SLOT_FILES) break;
      this.slots.delete(oldest);
    }
    return own;
  }
}
