/**
 * Reads one file into memories, part by part (`parts.ts`): text → engine → memory and ledger row in one transaction, so
 * that a run that ends at any moment loses no more than the part it was reading. A memory that is there already for this
 * text, model and settings is looked up, not read. Holds the text once and the slots of one part at a time.
 */
import { throwIfCancelled, type Log, type ProgressListener } from '../base/index.js';
import type { Engine, PackedSlots, Reading } from '../engine/index.js';
import type { Budget } from './budget.js';
import { unlessForgotten } from './forgetting.js';
import { wasForgotten } from './forgotten.js';
import type { GistRoom } from './gist-room.js';
import { GiveWay } from './give-way.js';
import { COARSENESSES, coarsenessOf, memoryEndings, memoryKeyOf } from './memory-keys.js';
import { eachPart, hashOfPart, hashOfParts, type TextPart } from './parts.js';
import type { MemorySettings } from './settings.js';
import type { SourceFiles, SourceText } from './source-files.js';
import {
  filePart,
  hasWholeGist,
  keysOf,
  partsOf,
  provenanceOf,
  type FileMemory,
  type FilePart,
  type LedgerRow,
  type MemoryKey,
  type Store,
  type StoreWriter,
} from './store/index.js';

export interface ReadParts {
  readonly store: Store;
  readonly files: SourceFiles;
  /** Started at the first text that has to be read. */
  readonly engine: () => Promise<Engine>;
  /** Fingerprint of the model. */
  readonly model: string;
  readonly settings: MemorySettings;
  readonly log: Log;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** `RefreshOptions.cpuShare`, as it is now. */
  readonly share?: () => number | undefined;
  /** Which files get gists. */
  readonly gists: GistRoom;
  /** What is written is told to it, and room is made after each part. */
  readonly budget?: Budget;
  /** The file that is being read now. */
  readonly onFile?: (path: string | undefined) => void;
}

export interface ReadTokens {
  /** Tokens of the file. */
  readonly tokens: number;
  /** Those of the parts that were not in memory before. */
  readonly read: number;
}

const NOTHING_READ: ReadTokens = { tokens: 0, read: 0 };
/** Slots of the gist of a text of several parts: the most that one text may have (memory.md). */
const GIST_SLOTS = 256;

/** What is known of a file beside its text. */
type Seen = Omit<SourceText, 'text'>;

interface PartsOfFile extends ReadTokens {
  readonly seen: Seen;
  readonly parts: readonly FilePart[];
  /** Of the texts of the parts. */
  readonly hashes: readonly string[];
  /** A memory that is still to be written with the row. */
  readonly unwritten?: { readonly key: MemoryKey; readonly memory: FileMemory };
}

/** `undefined` when the file has no readable text. `onTokens` gets the tokens of the file that are in memory so far. */
export async function readFile(
  path: string,
  work: ReadParts,
  onTokens: (tokens: number) => void,
): Promise<ReadTokens | undefined> {
  const { store, files, log } = work;
  const isForgotten = (): ReadTokens => {
    log('info', `${path} was forgotten meanwhile; it is not read.`);
    return NOTHING_READ;
  };
  if (wasForgotten(path, store)) return isForgotten();
  const before = store.ledger.get(path);
  const found = await readParts(path, work, onTokens);
  if (found === 'forgotten') return isForgotten();
  if (found === undefined || !('parts' in found)) return found;
  const { seen, parts, tokens, read, unwritten } = found;
  const levels = parts.map(({ key }) => coarsenessOf(key, path, memoryEndings(work.model, work.settings)) ?? 0);
  const hasGists = levels.every(level => level < 3);
  const needsGist = hasGists && hasWholeGist(parts);
  const gist = needsGist ? await gistOfParts(path, found, work) : undefined;
  if (needsGist && gist === undefined) return isForgotten();
  const after = read > 0 ? await files.read(path, work.signal) : undefined;
  const unchanged = after === undefined || (after.ok && after.value.contentHash === seen.contentHash);
  const isKept = await unlessForgotten(path, store, write => {
    if (unwritten) write.putMemory(unwritten.key, unwritten.memory);
    write.putRow({
      ...rowOf(path, seen, parts, store),
      ...(gist !== undefined && { gist }),
      ...(levels.some(level => level > 0) && { state: 'coarse' }),
      ...(!unchanged && { state: 'stale', reason: 'changed while it was read' }),
    });
  });
  if (!isKept) return isForgotten();
  work.gists.changed(before ? partsOf(before) : [], parts);
  if (unwritten) work.budget?.add(unwritten.key, unwritten.memory);
  await work.budget?.keep();
  return { tokens, read };
}

export async function skipFile(path: string, reason: string, store: Store, seen?: Seen): Promise<void> {
  const old = store.ledger.get(path);
  const { size, mtimeMs } = seen ?? old ?? { size: 0, mtimeMs: 0 };
  const row: LedgerRow = { path, size, mtimeMs, contentHash: '', state: 'skipped', reason, readAt: Date.now() };
  await unlessForgotten(path, store, write => write.putRow(row));
}

/** The file's text does not outlive this call. A file of one part is written by the caller, together with its final row. */
async function readParts(
  path: string,
  work: ReadParts,
  onTokens: (tokens: number) => void,
): Promise<PartsOfFile | ReadTokens | 'forgotten' | undefined> {
  const { store, model, settings } = work;
  const source = await work.files.read(path, work.signal);
  if (!source.ok) {
    throwIfCancelled(work.signal);
    await skipFile(path, source.reason, store);
    return undefined;
  }
  const { text, ...seen } = source.value;
  if (!/\S/.test(text)) {
    await skipFile(path, 'empty', store, seen);
    return NOTHING_READ;
  }
  const way = new GiveWay();
  const cuts: TextPart[] = [];
  for (const cut of eachPart(text, settings.parts)) {
    cuts.push(cut);
    await way.step();
  }
  // What the file was before is looked up part by part.
  const before = store.ledger.get(path);
  const former = new Set(keysOf(before ?? rowOf(path, seen, [], store)));
  const withGist = work.gists.isFor(before);
  const parts: FilePart[] = [];
  const hashes: string[] = [];
  const onTokensAfter = (done: number) => (more: number) => onTokens(done + more);
  let [tokens, read] = [0, 0];
  let unwritten: PartsOfFile['unwritten'];
  for (const { start, end, firstLine } of cuts) {
    throwIfCancelled(work.signal);
    const own = text.slice(start, end);
    const contentHash = cuts.length === 1 ? seen.contentHash : hashOfPart(own);
    const fineKey = memoryKeyOf(path, contentHash, model, settings);
    const known = knownMemory(path, contentHash, work);
    const key = known?.key ?? fineKey;
    const memory = known?.memory ?? (await readMemory(path, contentHash, own, withGist, work, onTokensAfter(tokens)));
    parts.push(filePart(firstLine, key, memory));
    hashes.push(contentHash);
    tokens += memory.tokens;
    if (known) continue;
    read += memory.tokens;
    if (cuts.length === 1) {
      unwritten = { key, memory };
      break;
    }
    const row: LedgerRow = { ...rowOf(path, seen, parts, store), state: 'reading' };
    if (!(await unlessForgotten(path, store, write => writePart(write, key, memory, row)))) return 'forgotten';
    work.budget?.add(key, memory);
    await work.budget?.keep(former);
    // What was read may have been coarsened to make room.
    parts.splice(0, parts.length, ...partsOf(store.ledger.get(path) ?? rowOf(path, seen, parts, store)));
  }
  return { seen, parts, hashes, tokens, read, unwritten };
}

/** A memory of this text that is there already, the finest. */
function knownMemory(
  path: string,
  contentHash: string,
  { store, model, settings }: ReadParts,
): { key: MemoryKey; memory: FileMemory } | undefined {
  for (const level of COARSENESSES) {
    const key = memoryKeyOf(path, contentHash, model, settings, level);
    const memory = store.getMemory(key);
    if (memory?.ok) return { key, memory: memory.value };
  }
  return undefined;
}

function writePart(write: StoreWriter, key: MemoryKey, memory: FileMemory, row: LedgerRow): void {
  write.putMemory(key, memory);
  write.putRow(row);
}

async function readMemory(
  path: string,
  contentHash: string,
  text: string,
  withGist: boolean,
  { engine, settings, signal, share }: ReadParts,
  onProgress: (tokens: number) => void,
): Promise<FileMemory> {
  const running = await engine();
  const { tokensPerRecallSlot, stateTokens } = settings;
  // Where a gist takes no longer, there is one.
  const noGist = !withGist && (stateTokens === 0 || running.model.lowerLayers !== undefined);
  const options = { signal, onProgress, cpuShare: share?.() };
  const reading = await running.read(
    { label: path, text, tokensPerRecallSlot, ...(noGist && { gistSlots: 0 }) },
    options,
  );
  return { path, contentHash, ...valuesOf(reading) };
}

function valuesOf(reading: Reading): Pick<FileMemory, 'tokens' | 'gist' | 'recall' | 'provenance'> {
  const { tokens, gist, recall } = reading;
  return { tokens, gist, recall, provenance: provenanceOf(reading) };
}

/**
 * Key of the memory that holds the gist of all parts, composed in their order and kept under the hash of their hashes; it
 * has no recall slots of its own. Undefined where the file was forgotten meanwhile.
 */
async function gistOfParts(
  path: string,
  { parts, hashes, tokens }: PartsOfFile,
  work: ReadParts,
): Promise<MemoryKey | undefined> {
  const { store, model, settings, signal, share } = work;
  const contentHash = hashOfParts(hashes);
  const key = memoryKeyOf(path, contentHash, model, settings);
  if (store.getGist(key)?.ok) return key;
  const first = store.getRecall(parts[0]!.key);
  const recall = first?.ok ? first.value.recall : { heads: 0, headSize: 0 };
  const incoming = parts.reduce((sum, part) => sum + (gistOf(store, part.key)?.slots ?? 0), 0);
  const running = await work.engine();
  const options = { budget: GIST_SLOTS, incoming, signal, cpuShare: share?.() };
  const { state } = await running.compose(gistsOf(store, parts), options);
  // Here and not above: the memory is looked at where onnxruntime does not load.
  const { packAsGist } = await import('../engine/index.js');
  const gist = packAsGist(state);
  throwIfCancelled(signal);
  const none = new Float32Array(0);
  const memory: FileMemory = {
    ...{ path, contentHash, tokens, gist },
    recall: {
      heads: recall.heads,
      slots: 0,
      headSize: recall.headSize,
      keys: new Int8Array(0),
      scales: none,
      counts: none,
    },
    provenance: { slotStart: new Uint32Array(recall.heads), lines: new Uint32Array(0), weights: new Uint16Array(0) },
  };
  return (await unlessForgotten(path, store, write => write.putMemory(key, memory))) ? key : undefined;
}

function gistOf(store: Store, key: MemoryKey): PackedSlots | undefined {
  const memory = store.getGist(key);
  return memory?.ok ? memory.value.gist : undefined;
}

function* gistsOf(store: Store, parts: readonly FilePart[]): Generator<PackedSlots> {
  for (const { key } of parts) {
    const gist = gistOf(store, key);
    if (gist) yield gist;
  }
}

function rowOf(path: string, seen: Seen, parts: readonly FilePart[], store: Store): LedgerRow {
  const usedAt = store.ledger.get(path)?.usedAt;
  const { size, mtimeMs, contentHash, partial: reason } = seen;
  const row = {
    path,
    size,
    mtimeMs,
    contentHash,
    state: 'read',
    readAt: Date.now(),
    ...(usedAt !== undefined && { usedAt }),
    parts: [...parts],
  } as const;
  return reason === undefined ? row : { ...row, reason };
}
