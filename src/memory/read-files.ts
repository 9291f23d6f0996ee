/**
 * Reads files into memories, one after another: text → engine → memory and ledger row in one transaction. A file that
 * cannot be read gets a row with the reason and the run goes on. A memory that is there already for this content, model
 * and settings is looked up, not read. Never decides which files to read.
 */
import { LongviewError, codeOf, messageOf, throwIfCancelled, type Log, type ProgressListener } from '../base/index.js';
import type { Engine, Reading } from '../engine/index.js';
import { textVersion } from './documents/index.js';
import { NOT_FOR_THE_MODEL } from './ledger-scan.js';
import { readingSettings, type MemorySettings } from './settings.js';
import type { SourceFiles, SourceText } from './source-files.js';
import { fileMemoryKey, provenanceOf, type LedgerRow, type MemoryKey, type Store } from './store/index.js';

export interface ReadParts {
  readonly store: Store;
  readonly files: SourceFiles;
  /** Started at the first file that has to be read. */
  readonly engine: () => Promise<Engine>;
  /** Fingerprint of the model. */
  readonly model: string;
  readonly settings: MemorySettings;
  readonly log: Log;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** The file that is being read now. */
  readonly onFile?: (path: string | undefined) => void;
}

export interface ReadCounts {
  read: number;
  failed: number;
  tokens: number;
}

/** Bytes of a token before anything is known; refined while reading. */
const BYTES_PER_TOKEN = 3.5;
const MOST_FAILURES_IN_A_ROW = 3;

/** Key of the memory of a file with this content. */
export function memoryKeyOf(path: string, contentHash: string, model: string, settings: MemorySettings): string {
  return fileMemoryKey({ path, contentHash, model, settings: readingSettings(settings, path) });
}

/** What the keys of a file's memories by a model and its settings end with. */
export function memoryEndings(model: string, settings: MemorySettings): (path: string) => string {
  // The same for all files that are their own text.
  const known = new Map<string | undefined, string>();
  return path => {
    const version = textVersion(path);
    const ending = known.get(version) ?? endingOf(memoryKeyOf(path, '', model, settings));
    known.set(version, ending);
    return ending;
  };
}

function endingOf(key: MemoryKey): string {
  return key.slice(key.lastIndexOf('.', key.lastIndexOf('.') - 1));
}

export async function readFiles(paths: readonly string[], parts: ReadParts): Promise<ReadCounts> {
  const { store, signal } = parts;
  const counts: ReadCounts = { read: 0, failed: 0, tokens: 0 };
  const progress = new TokenProgress(
    paths.map(path => store.ledger.get(path)?.size ?? 0),
    parts.onProgress,
  );
  let failuresInARow = 0;
  for (const [at, path] of paths.entries()) {
    throwIfCancelled(signal);
    parts.onFile?.(path);
    const onTokens = (tokens: number): void => progress.within(at, tokens, path);
    try {
      const tokens = await readFile(path, parts, onTokens).catch((error: unknown) => {
        // The engine may have died of something else; it starts anew.
        if (signal?.aborted || codeOf(error) !== 'engine-crashed') throw error;
        return readFile(path, parts, onTokens);
      });
      if (tokens === undefined) counts.failed++;
      else if (tokens > 0) {
        counts.read++;
        counts.tokens += tokens;
      }
      progress.after(at, tokens ?? 0, path);
      failuresInARow = 0;
    } catch (error) {
      if (signal?.aborted || !isOfOneFile(error) || ++failuresInARow >= MOST_FAILURES_IN_A_ROW) throw error;
      // Without an engine no other file fares better, and this one is not to blame.
      await parts.engine();
      counts.failed++;
      parts.log('warning', `${path} could not be read: ${messageOf(error)}`);
      await skip(path, NOT_FOR_THE_MODEL, store);
      progress.after(at, 0, path);
    } finally {
      parts.onFile?.(undefined);
    }
  }
  return counts;
}

/** Tokens read; 0 when there was nothing to read or the memory was there already; `undefined` when the file has no readable text. */
async function readFile(
  path: string,
  parts: ReadParts,
  onTokens: (tokens: number) => void,
): Promise<number | undefined> {
  const { store, files, settings, model } = parts;
  const source = await files.read(path);
  if (!source.ok) {
    throwIfCancelled(parts.signal);
    await skip(path, source.reason, store);
    return undefined;
  }
  if (source.value.text.trim() === '') {
    await skip(path, 'empty', store, source.value);
    return 0;
  }
  const key = memoryKeyOf(path, source.value.contentHash, model, settings);
  const known = store.getMemory(key);
  if (known?.ok) {
    await store.ledger.put(rowOf(path, source.value, key, known.value));
    return 0;
  }
  const engine = await parts.engine();
  const reading = await engine.read(
    { label: path, text: source.value.text, tokensPerRecallSlot: settings.tokensPerRecallSlot },
    { signal: parts.signal, onProgress: onTokens },
  );
  const after = await files.read(path);
  const row = rowOf(path, source.value, key, reading);
  const unchanged = after.ok && after.value.contentHash === source.value.contentHash;
  await store.batch(write => {
    write.putMemory(key, memoryOf(path, source.value, reading));
    write.putRow(unchanged ? row : { ...row, state: 'stale', reason: 'changed while it was read' });
  });
  return reading.tokens;
}

function memoryOf(path: string, source: SourceText, reading: Reading): Parameters<Store['putMemory']>[1] {
  return {
    path,
    contentHash: source.contentHash,
    tokens: reading.tokens,
    gist: reading.gist,
    recall: reading.recall,
    provenance: provenanceOf(reading),
  };
}

function rowOf(
  path: string,
  source: SourceText,
  key: MemoryKey,
  { tokens, recall }: Pick<Reading, 'tokens' | 'recall'>,
): LedgerRow {
  const { size, mtimeMs, contentHash } = source;
  const parts = [{ key, firstLine: 1, tokens, slots: recall.slots }];
  return { path, size, mtimeMs, contentHash, state: 'read', readAt: Date.now(), parts };
}

async function skip(path: string, reason: string, store: Store, seen?: SourceText): Promise<void> {
  const old = store.ledger.get(path);
  const { size, mtimeMs } = seen ?? old ?? { size: 0, mtimeMs: 0 };
  await store.ledger.put({ path, size, mtimeMs, contentHash: '', state: 'skipped', reason, readAt: Date.now() });
}

/** A failure that another file may not have; a full disk or a missing permission would come again with the next. */
function isOfOneFile(error: unknown): boolean {
  const code = codeOf(error);
  if (error instanceof LongviewError && code === 'internal') return true;
  return code === 'engine-crashed' || code === 'out-of-memory' || code === 'unsupported' || code === 'bad-format';
}

/** Progress in tokens of an estimated total. */
class TokenProgress {
  private readonly bytesAfter: number[];
  private tokens = 0;
  private bytes = 0;

  constructor(
    private readonly sizes: readonly number[],
    private readonly listener: ProgressListener | undefined,
  ) {
    this.bytesAfter = sizes.map(() => 0);
    for (let at = sizes.length - 2; at >= 0; at--) this.bytesAfter[at] = this.bytesAfter[at + 1]! + sizes[at + 1]!;
    this.report(
      sizes.reduce((sum, size) => sum + size, 0),
      0,
      0,
      undefined,
    );
  }

  within(at: number, tokens: number, item: string): void {
    const ofFile = this.sizes[at]! / this.bytesPerToken();
    this.report(this.bytesAfter[at]!, tokens, at, item, Math.max(0, ofFile - tokens));
  }

  after(at: number, tokens: number, item: string): void {
    if (tokens > 0) {
      this.tokens += tokens;
      this.bytes += this.sizes[at]!;
    }
    this.report(this.bytesAfter[at]!, 0, at + 1, item);
  }

  private report(
    bytesLeft: number,
    tokensOfFile: number,
    filesDone: number,
    item: string | undefined,
    leftOfFile = 0,
  ): void {
    const done = this.tokens + tokensOfFile;
    const total = Math.ceil(done + leftOfFile + bytesLeft / this.bytesPerToken());
    const files = { done: filesDone, total: this.sizes.length };
    this.listener?.({ task: 'Reading', done, total, unit: 'tokens', item, files });
  }

  private bytesPerToken(): number {
    return this.tokens > 1000 && this.bytes > 0 ? this.bytes / this.tokens : BYTES_PER_TOKEN;
  }
}
