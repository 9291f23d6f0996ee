/**
 * One row of the coverage ledger, its key and its bytes: a JSON object in an envelope (`frame.ts`), kind 2, layout 2.
 * Rows of layout 1, which named one memory, are understood. Never touches the disk.
 */
import { createHash } from 'node:crypto';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import type { MemoryKey, RecallMemory } from './file-memory.js';
import { FrameKind, frameJson, unframeJson } from './frame.js';

export const LEDGER_STATES = ['waiting', 'reading', 'read', 'stale', 'coarse', 'skipped'] as const;
export type LedgerState = (typeof LEDGER_STATES)[number];

/** A stretch of a file's text that has a memory of its own; most files are one. */
export interface FilePart {
  readonly key: MemoryKey;
  /** The file's line, counted from 1, that is line 1 of the memory. */
  readonly firstLine: number;
  /** Tokens read, the prefix included. */
  readonly tokens: number;
  /** Recall slots of each head. */
  readonly slots: number;
  /** Its memory has recall slots alone. */
  readonly noGist?: true;
}

/** Of the part that begins at that line of its file. */
export function filePart(firstLine: number, key: MemoryKey, { tokens, recall, gist }: RecallMemory): FilePart {
  return { key, firstLine, tokens, slots: recall.slots, ...(gist.slots === 0 && { noGist: true }) };
}

/** True if a file of these parts has a gist of its whole text beside theirs. */
export function hasWholeGist(parts: readonly FilePart[]): boolean {
  return parts.length > 1 && parts.every(part => !part.noGist);
}

/** What is known of one file that was seen. */
export interface LedgerRow {
  /** Relative to the workspace, with `/`. A folder that is skipped as a whole ends with `/`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
  /** SHA-256 of the file's bytes, 64 hex digits; empty while the file was never read. */
  readonly contentHash: string;
  readonly state: LedgerState;
  /** Why it is skipped, or what went wrong. */
  readonly reason?: string;
  /** Milliseconds since 1970. */
  readonly readAt?: number;
  /** When it was last recalled or open, to an hour; milliseconds since 1970. */
  readonly usedAt?: number;
  /** In the order of the text; the beginning of it while the state is `reading`. */
  readonly parts?: readonly FilePart[];
  /** Key of the gist of the whole text, where there are several parts. */
  readonly gist?: MemoryKey;
}

/** The parts of a file that are in memory. */
export function partsOf(row: LedgerRow): readonly FilePart[] {
  return row.parts ?? [];
}

/** True if all of the text is in memory, as it was when it was read. */
export function isWhole(row: LedgerRow): boolean {
  return partsOf(row).length > 0 && row.state !== 'reading';
}

/** True if its memory stands for what is on the disk, finely or coarsely. */
export function isOfUse(row: LedgerRow): boolean {
  return (row.state === 'read' || row.state === 'coarse') && partsOf(row).length > 0;
}

/** Keys of all memories the row stands on; these are never collected. */
export function keysOf(row: LedgerRow): MemoryKey[] {
  return [...partsOf(row).map(part => part.key), ...(row.gist === undefined ? [] : [row.gist])];
}

/** Key of the memory that holds the gist of the whole text. */
export function gistKeyOf(row: LedgerRow): MemoryKey | undefined {
  if (!isWhole(row)) return undefined;
  return row.gist ?? (row.parts?.length === 1 ? row.parts[0]!.key : undefined);
}

/** Tokens read, prefixes included. */
export function tokensOf(row: LedgerRow): number {
  return partsOf(row).reduce((sum, part) => sum + part.tokens, 0);
}

/** Recall slots of each head. */
export function slotsOf(row: LedgerRow): number {
  return partsOf(row).reduce((sum, part) => sum + part.slots, 0);
}

const LAYOUT_VERSION = 2;
const FORMER_LAYOUT = 1;
/** Longest path that is a key as it is, in bytes; LMDB's own limit is 1,978. */
const MOST_KEY_BYTES = 1024;

/** Key of a row: the path in UTF-8; a longer one is cut and continued by 0xff (never in UTF-8) and its SHA-256. */
export function ledgerKey(path: string): Uint8Array {
  const bytes = Buffer.from(path, 'utf8');
  if (bytes.byteLength <= MOST_KEY_BYTES) return bytes;
  const hash = createHash('sha256').update(bytes).digest();
  return Buffer.concat([bytes.subarray(0, MOST_KEY_BYTES - 33), Buffer.from([0xff]), hash]);
}

export function encodeLedgerRow(row: LedgerRow): Uint8Array {
  return frameJson(FrameKind.ledgerRow, LAYOUT_VERSION, row);
}

export function decodeLedgerRow(bytes: Uint8Array): Result<LedgerRow> {
  const row = unframeJson(FrameKind.ledgerRow, LAYOUT_VERSION, bytes);
  const former = row.ok ? undefined : unframeJson(FrameKind.ledgerRow, FORMER_LAYOUT, bytes);
  if (!row.ok && !former?.ok) return row;
  const value = row.ok ? row.value : former?.ok ? fromFormer(former.value) : undefined;
  return isLedgerRow(value) ? ok(value) : failed('not a ledger row');
}

/** Layout 1 had `memoryKey`, `tokens` and `slots` of the one memory beside the rest. */
function fromFormer(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { memoryKey: key, tokens = 0, slots = 0, ...rest } = value as Record<string, unknown>;
  return key === undefined ? rest : { ...rest, parts: [{ key, firstLine: 1, tokens, slots }] };
}

function isLedgerRow(value: unknown): value is LedgerRow {
  if (typeof value !== 'object' || value === null) return false;
  const row = value as Record<string, unknown>;
  return (
    typeof row.path === 'string' &&
    typeof row.size === 'number' &&
    typeof row.mtimeMs === 'number' &&
    typeof row.contentHash === 'string' &&
    LEDGER_STATES.includes(row.state as LedgerState) &&
    ['readAt', 'usedAt'].every(name => row[name] === undefined || typeof row[name] === 'number') &&
    ['reason', 'gist'].every(name => row[name] === undefined || typeof row[name] === 'string') &&
    (row.parts === undefined || (Array.isArray(row.parts) && row.parts.every(isFilePart)))
  );
}

function isFilePart(value: unknown): value is FilePart {
  if (typeof value !== 'object' || value === null) return false;
  const part = value as Record<string, unknown>;
  return typeof part.key === 'string' && ['firstLine', 'tokens', 'slots'].every(name => typeof part[name] === 'number');
}
