/**
 * Name → where it is defined, over the files that were read. Built file by file from their text, again only for files whose
 * content changed. Keeps names and lines, never text. Bounded: over the bound it says that it is not complete.
 */
import { linesOf } from '../blocks.js';
import { languageOf, type Definition, type Language } from './definition.js';
import { listingOf } from './extract.js';

/** A file as it was read. */
export interface KnownFile {
  readonly path: string;
  readonly contentHash: string;
}

export interface IndexedDefinition extends Definition, KnownFile {
  readonly language: Language;
}

interface FileEntry extends KnownFile {
  readonly language: Language;
  readonly definitions: readonly Definition[];
  readonly likely: ReadonlyMap<string, number>;
}

/** About 60 bytes each. */
const MAX_ALL = 1_000_000;

export class DefinitionIndex {
  private readonly entries = new Map<string, FileEntry>();
  private readonly names = new Map<string, Set<FileEntry>>();
  private readonly likelyNames = new Map<string, Set<FileEntry>>();
  private readonly failures = new Map<string, { contentHash: string; at: number }>();
  private spellings: Map<string, string[]> | undefined;
  private total = 0;
  private over = false;

  constructor(private readonly maxAll = MAX_ALL) {}

  /** Files that are in it. */
  get files(): number {
    return this.entries.size;
  }

  get definitions(): number {
    return this.total;
  }

  /** False where a definition may be missing. */
  get complete(): boolean {
    return !this.over && this.failures.size === 0;
  }

  /** Lets go of the files that are not among `files` any more; gives those that must be put. */
  missing(files: readonly KnownFile[], retryMs = 10_000): KnownFile[] {
    const wanted = new Map(files.map(file => [file.path, file.contentHash]));
    for (const entry of [...this.entries.values()]) {
      if (wanted.get(entry.path) === entry.contentHash) continue;
      this.remove(entry);
      this.over = false; // There is room again.
    }
    for (const [path, { contentHash }] of this.failures)
      if (wanted.get(path) !== contentHash) this.failures.delete(path);
    if (this.over) return [];
    const now = Date.now();
    return files.filter(
      ({ path }) => !this.entries.has(path) && now - (this.failures.get(path)?.at ?? -Infinity) >= retryMs,
    );
  }

  /** `text` is undefined where the file is not, any more, the one that was read. */
  put({ path, contentHash }: KnownFile, text: string | undefined): void {
    const before = this.entries.get(path);
    if (before) this.remove(before);
    if (text === undefined) {
      this.failures.set(path, { contentHash, at: Date.now() });
      return;
    }
    this.failures.delete(path);
    const { definitions, likely } = listingOf(path, linesOf(text));
    if (this.total + definitions.length + likely.size > this.maxAll) {
      this.over = true;
      return;
    }
    const entry = { path, contentHash, language: languageOf(path), definitions, likely };
    this.entries.set(path, entry);
    this.total += definitions.length + likely.size;
    this.spellings = undefined;
    for (const { name } of definitions) enter(this.names, name, entry);
    for (const name of likely.keys()) enter(this.likelyNames, name, entry);
  }

  /** By path, then line. */
  named(name: string): IndexedDefinition[] {
    return [...(this.names.get(name) ?? [])]
      .flatMap(({ path, contentHash, language, definitions }) =>
        definitions
          .filter(definition => definition.name === name)
          .map(definition => ({ ...definition, path, contentHash, language })),
      )
      .sort(byPlace);
  }

  /** Where the name stands as definitions do, in files that do not list it: one line a file, by path. */
  likely(name: string): IndexedDefinition[] {
    return [...(this.likelyNames.get(name) ?? [])]
      .map(({ path, contentHash, language, likely }) => {
        return { name, kind: 'constant' as const, line: likely.get(name)!, path, contentHash, language };
      })
      .sort(byPlace);
  }

  /** Names that differ from this one in case and underscores only, for names of several words. */
  variantsOf(name: string): string[] {
    if (!isCompound(name)) return [];
    if (!this.spellings) {
      this.spellings = new Map();
      for (const known of this.names.keys()) {
        if (!isCompound(known)) continue;
        const bare = bareName(known);
        const same = this.spellings.get(bare);
        if (same) same.push(known);
        else this.spellings.set(bare, [known]);
      }
    }
    return (this.spellings.get(bareName(name)) ?? []).filter(known => known !== name).sort();
  }

  private remove(entry: FileEntry): void {
    this.entries.delete(entry.path);
    this.total -= entry.definitions.length + entry.likely.size;
    this.spellings = undefined;
    for (const { name } of entry.definitions) leave(this.names, name, entry);
    for (const name of entry.likely.keys()) leave(this.likelyNames, name, entry);
  }
}

function enter<T>(names: Map<string, Set<T>>, name: string, entry: T): void {
  const known = names.get(name);
  if (known) known.add(entry);
  else names.set(name, new Set([entry]));
}

function leave<T>(names: Map<string, Set<T>>, name: string, entry: T): void {
  const known = names.get(name);
  known?.delete(entry);
  if (known?.size === 0) names.delete(name);
}

function byPlace(a: IndexedDefinition, b: IndexedDefinition): number {
  return a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1;
}

function bareName(name: string): string {
  return name.replace(/[_-]/g, '').toLowerCase();
}

function isCompound(name: string): boolean {
  return /[\p{L}\p{N}][_-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name);
}
