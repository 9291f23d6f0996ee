/**
 * The layout of an exported memory, `NAME.longview-memory`: what was read of a folder, in one file that another machine can
 * take over. Never touches the disk; `write-export.ts` and `read-export.ts` do.
 *
 * It holds the file memories that the ledger's files stand on, of one model and its reading settings: numbers, paths, hashes,
 * line numbers. Not in it: text of any file, times, absolute paths, host names; the workspace state (it is composed from
 * these) and the definitions (they are listed from disk); memories that no file stands on at the moment; files that are
 * only partly read, and coarsened memories, which are what the budget of one machine left of them.
 *
 * The bytes are a function of that content and of the model's name: two stores hold the same if their exports are equal.
 * They are not compressed.
 *
 * The file is a sequence of envelopes (`store/frame.ts`: magic, kind, length, layout version, checksum), nothing between:
 *
 *   KIND  PAYLOAD
 *   7     head, JSON: {"model":{"name":…,"fingerprint":…},"settings":…}; its layout version is that of the whole file
 *         then each file, in the order of the paths' UTF-8 bytes:
 *   8     file, JSON: {"path":…,"contentHash":…,"settings":…,"parts":[{"firstLine":…,"content":…},…],"gist":…}
 *   1     its memories (`store/file-memory.ts`), each once: of the parts in their order, then the gist's
 *   9     end, JSON: {"files":…,"memories":…,"sha256":…}; the digest of all bytes before this envelope
 *
 * JSON has no spaces, and its fields are in the order shown. `contentHash` is the SHA-256 of the file's bytes in 64 hex
 * digits; `content` of a part, and `gist` (only where a file has several parts), are the first 32 of the content hash of
 * that memory. A file has `settings` where they are not the head's: what made a document's text belongs to them. The key of
 * a memory in the store follows from its path, its content hash, fingerprint and settings.
 */
import { failed, ok, type Result } from '../../base/index.js';
import { FrameKind, frameHead, frameJson, unframeJson } from '../store/frame.js';
import type { MemoryKey } from '../store/index.js';

export const EXPORT_VERSION = 2;
/** Version 1 has memories of the former layout, which decode too. */
const READABLE_VERSIONS: readonly number[] = [1, EXPORT_VERSION];
export const EXPORT_EXTENSION = '.longview-memory';

/** Bytes of an envelope at most, so that no file can make its reader hold more. */
export const MOST_BYTES = {
  [FrameKind.exportHead]: 65_536,
  [FrameKind.exportedFile]: 16_000_000,
  [FrameKind.fileMemory]: 256_000_000,
  [FrameKind.exportEnd]: 65_536,
} as const;

export interface ExportHead {
  readonly model: { readonly name: string; readonly fingerprint: string };
  /** `readingSettings` of files that are their own text. */
  readonly settings: string;
}

export interface ExportedFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly contentHash: string;
  /** `readingSettings` of this file, where they are not the head's. */
  readonly settings?: string;
  readonly parts: readonly { readonly firstLine: number; readonly content: string }[];
  readonly gist?: string;
}

export interface ExportEnd {
  readonly files: number;
  readonly memories: number;
  readonly sha256: string;
}

const LAYOUT_VERSION = 1;
const CONTENT = /^[0-9a-f]{32}$/;
const HASH = /^[0-9a-f]{64}$/;
const MOST_PATH_BYTES = 4096;

export function encodeHead(head: ExportHead, version = EXPORT_VERSION): Uint8Array {
  const { model, settings } = head;
  const { name, fingerprint } = model;
  return frameJson(FrameKind.exportHead, version, { model: { name, fingerprint }, settings });
}

/** True if an export whose head has this layout version can be read here. */
export function isReadable(version: number): boolean {
  return READABLE_VERSIONS.includes(version);
}

export function encodeFile({ path, contentHash, settings, parts, gist }: ExportedFile): Uint8Array {
  const ordered = parts.map(({ firstLine, content }) => ({ firstLine, content }));
  return frameJson(FrameKind.exportedFile, LAYOUT_VERSION, { path, contentHash, settings, parts: ordered, gist });
}

export function encodeEnd({ files, memories, sha256 }: ExportEnd): Uint8Array {
  return frameJson(FrameKind.exportEnd, LAYOUT_VERSION, { files, memories, sha256 });
}

export function decodeHead(bytes: Uint8Array): Result<ExportHead> {
  const found = frameHead(bytes);
  const version = found.ok && isReadable(found.value.payloadVersion) ? found.value.payloadVersion : EXPORT_VERSION;
  const encode = (head: ExportHead): Uint8Array => encodeHead(head, version);
  return decoded(bytes, FrameKind.exportHead, version, encode, value => {
    const { model, settings } = value as Partial<ExportHead>;
    return typeof model?.name === 'string' && typeof model.fingerprint === 'string' && typeof settings === 'string';
  });
}

export function decodeFile(bytes: Uint8Array): Result<ExportedFile> {
  return decoded(bytes, FrameKind.exportedFile, LAYOUT_VERSION, encodeFile, value => {
    const { path, contentHash, settings, parts, gist } = value as Partial<Record<keyof ExportedFile, unknown>>;
    return (
      typeof path === 'string' &&
      isPortablePath(path) &&
      isHash(contentHash) &&
      (settings === undefined || typeof settings === 'string') &&
      Array.isArray(parts) &&
      parts.length > 0 &&
      parts.every(isPart) &&
      (gist === undefined || isContent(gist))
    );
  });
}

export function decodeEnd(bytes: Uint8Array): Result<ExportEnd> {
  return decoded(bytes, FrameKind.exportEnd, LAYOUT_VERSION, encodeEnd, value => {
    const { files, memories, sha256 } = value as Partial<Record<keyof ExportEnd, unknown>>;
    return Number.isSafeInteger(files) && Number.isSafeInteger(memories) && isHash(sha256);
  });
}

/** Contents of the memories that follow a file's record, each once. */
export function contentsOf({ parts, gist }: ExportedFile): string[] {
  return [...new Set([...parts.map(part => part.content), ...(gist === undefined ? [] : [gist])])];
}

/** The part of a key that names the content. */
export function contentOfKey(key: MemoryKey): string {
  return key.split('.')[1] ?? '';
}

/** True for a path that is one file inside a workspace on every system: relative, with `/`, never leading out. */
export function isPortablePath(path: string): boolean {
  if (Buffer.byteLength(path, 'utf8') > MOST_PATH_BYTES || /\p{Surrogate}/u.test(path)) return false;
  if (path.includes('\0') || path.includes('\\') || /^[A-Za-z]:/.test(path)) return false;
  return path.split('/').every(name => name !== '' && name !== '.' && name !== '..');
}

function isPart(value: unknown): boolean {
  const { firstLine, content } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(firstLine) && (firstLine as number) >= 1 && isContent(content);
}

function isContent(value: unknown): boolean {
  return typeof value === 'string' && CONTENT.test(value);
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && HASH.test(value);
}

/** The value, if it is of the wanted kind and spelled as `encode` spells it. */
function decoded<T>(
  bytes: Uint8Array,
  kind: FrameKind,
  version: number,
  encode: (value: T) => Uint8Array,
  isSound: (value: object) => boolean,
): Result<T> {
  const found = unframeJson(kind, version, bytes);
  if (!found.ok) return found;
  const { value } = found;
  if (typeof value !== 'object' || value === null || !isSound(value)) return failed('not what it should hold');
  return Buffer.compare(encode(value as T), bytes) === 0 ? ok(value as T) : failed('not spelled as it should be');
}
