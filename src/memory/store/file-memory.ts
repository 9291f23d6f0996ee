/**
 * What is kept of one file, its key, and its bytes. Never touches the disk and never holds the file's text.
 *
 * A file memory is a function of path, content, model and reading settings alone, and its key names these four.
 *
 * Payload of the envelope (`frame.ts`), kind 1, layout version 2. Numbers little-endian, offsets from the payload's
 * start, which lies at a multiple of 8. Every section begins at the next multiple of 8; the bytes between are 0.
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     T   tokens read, prefix included
 *   4       4     G   gist: layers x key heads
 *   8       4     S   gist: slots
 *   12      4     d   gist: head size
 *   16      4     K   recall: key heads
 *   20      4     R   recall: slots
 *   24      4     e   recall: head size
 *   28      4     P   provenance: runs of lines
 *   32      4     N   bytes of the path
 *   36      4     V   bytes of provenance
 *   40      32    SHA-256 of the file's bytes
 *   72      16    first half of SHA-256 over the bytes of the recall part, from its first section to its end
 *   88      16    first half of SHA-256 over the bytes of the gist part, from the recall part's end on
 *   104     N     path, UTF-8; here ends what the envelope's checksum is of
 *                 sections, in this order:
 *           K*R*e      recall keys, int8
 *           K*R*4      recall scales, float32
 *           K*R*4      recall counts, float32
 *           V          provenance (`provenance-bytes.ts`)
 *           G*S*d      gist keys, int8
 *           G*S*4      gist key scales, float32
 *           G*S*d      gist values, int8
 *           G*S*4      gist value scales, float32
 *           G*S*4      gist counts, float32
 *           G*S*4      gist key radii, float32
 *           G*S*4      gist value radii, float32
 *
 * So recall, which is needed of all files, is checked without the gists, which are most of the bytes.
 */
import { createHash } from 'node:crypto';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import type { PackedSlots, RecallSlots } from '../../engine/index.js';
import { FORMER_LAYOUT, decodeFormerMemory } from './former-file-memory.js';
import { FRAME_HEADER_BYTES, FrameKind, emptyFrame, frameHead, seal, unframe } from './frame.js';
import { gistArrays, gistLengths, readGist, readRecall, recallArrays, recallLengths } from './memory-arrays.js';
import { decodeProvenance, encodeProvenance, provenanceLength } from './provenance-bytes.js';
import type { Provenance } from './provenance.js';
import { SectionReader, placeSections, writeSections, type Sections } from './sections.js';

/** What is known of a memory without its parts. */
export interface MemoryHead {
  /** Tokens read, the prefix included. */
  readonly tokens: number;
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** SHA-256 of the file's bytes, 64 hex digits. */
  readonly contentHash: string;
}

/** The part that finds places. */
export interface RecallMemory extends MemoryHead {
  readonly recall: RecallSlots;
  readonly provenance: Provenance;
  /** Of the gist no more than this. */
  readonly gist: Pick<PackedSlots, 'slots'>;
}

/** The part that states are made of. */
export interface GistMemory extends MemoryHead {
  readonly gist: PackedSlots;
}

export interface FileMemory extends RecallMemory, GistMemory {
  readonly gist: PackedSlots;
}

/** ASCII: hash of the path, hash of the content, hash of the model, hash of the settings. */
export type MemoryKey = string;

export interface MemoryIdentity {
  /** Fingerprint of model and tokenizer. */
  readonly model: string;
  /** Everything else that changes what a reading gives, in canonical form. */
  readonly settings: string;
  readonly path: string;
  /** SHA-256 of the file's bytes, 64 hex digits. */
  readonly contentHash: string;
}

const LAYOUT_VERSION = 2;
const NUMBERS = 10;
const HASH_AT = 40;
const RECALL_DIGEST_AT = 72;
const GIST_DIGEST_AT = 88;
const PATH_AT = 104;
const DIGEST_BYTES = 16;

/** Memories of one path, whatever content, model and settings, have keys that begin so. */
export function keyPrefixOfPath(path: string): string {
  return `${shortHash(path, 32)}.`;
}

export function fileMemoryKey(identity: MemoryIdentity): MemoryKey {
  const content = identity.contentHash.slice(0, 32);
  return `${keyPrefixOfPath(identity.path)}${content}.${shortHash(identity.model, 16)}.${shortHash(identity.settings, 16)}`;
}

/** True if `key` can be the key of a memory of this path and content. */
export function keyFits(key: MemoryKey, path: string, contentHash: string): boolean {
  return key.startsWith(`${keyPrefixOfPath(path)}${contentHash.slice(0, 32)}.`);
}

/** Bytes of a memory, as the table above says. Throws `RangeError` if shapes and arrays disagree (a bug of the caller). */
export function encodeFileMemory(memory: FileMemory): Uint8Array {
  if (!/^[0-9a-f]{64}$/.test(memory.contentHash)) throw new RangeError('The content hash is not 64 hex digits.');
  const path = Buffer.from(memory.path, 'utf8');
  const provenance = encodeProvenance(memory.provenance, memory.recall.slots);
  const numbers = numbersOf(memory, path.byteLength, provenance.byteLength);
  const { recall, gist } = layoutOf(numbers);
  const bytes = emptyFrame(FrameKind.fileMemory, LAYOUT_VERSION, gist.end);
  const payload = bytes.subarray(FRAME_HEADER_BYTES);
  const view = new DataView(bytes.buffer, FRAME_HEADER_BYTES);
  numbers.forEach((value, at) => view.setUint32(at * 4, value, true));
  payload.set(Buffer.from(memory.contentHash, 'hex'), HASH_AT);
  payload.set(path, PATH_AT);
  writeSections(payload, recall, [...recallArrays(memory.recall), provenance]);
  writeSections(payload, gist, gistArrays(memory.gist));
  payload.set(digestOf(payload, recall), RECALL_DIGEST_AT);
  payload.set(digestOf(payload, gist), GIST_DIGEST_AT);
  return seal(bytes, PATH_AT + path.byteLength);
}

/** Bytes of `encodeFileMemory`. */
export function fileMemoryBytes(memory: FileMemory): number {
  const provenance = provenanceLength(memory.provenance, memory.recall.slots);
  const numbers = numbersOf(memory, Buffer.byteLength(memory.path, 'utf8'), provenance);
  return FRAME_HEADER_BYTES + layoutOf(numbers).gist.end;
}

/** The memory in `bytes`. Its arrays are views on `bytes` where that is aligned, else on one copy of it. */
export function decodeFileMemory(bytes: Uint8Array): Result<FileMemory> {
  return decode(bytes, opened => {
    const recall = recallOf(opened);
    if (!recall.ok) return recall;
    const gist = gistOf(opened);
    return gist.ok ? ok({ ...opened.head, ...recall.value, gist: gist.value }) : gist;
  });
}

/** As `decodeFileMemory`, without looking at the gist. */
export function decodeRecall(bytes: Uint8Array): Result<RecallMemory> {
  return decode<RecallMemory>(bytes, opened => {
    const recall = recallOf(opened);
    return recall.ok ? ok({ ...opened.head, ...recall.value, gist: { slots: opened.numbers[2]! } }) : recall;
  });
}

/** As `decodeFileMemory`, without looking at the recall part. */
export function decodeGist(bytes: Uint8Array): Result<GistMemory> {
  return decode<GistMemory>(bytes, opened => {
    const gist = gistOf(opened);
    return gist.ok ? ok({ ...opened.head, gist: gist.value }) : gist;
  });
}

interface Opened {
  readonly head: MemoryHead;
  readonly payload: Uint8Array;
  readonly numbers: readonly number[];
  readonly layout: Layout;
}

/** Memories of the former layout are checked and decoded as a whole. */
function decode<T extends MemoryHead>(bytes: Uint8Array, take: (opened: Opened) => Result<T>): Result<T | FileMemory> {
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const frame = frameHead(aligned);
  if (frame.ok && frame.value.payloadVersion === FORMER_LAYOUT) return decodeFormerMemory(aligned);
  const opened = open(aligned);
  return opened.ok ? take(opened.value) : opened;
}

function open(bytes: Uint8Array): Result<Opened> {
  const unframed = unframe(FrameKind.fileMemory, LAYOUT_VERSION, bytes, sealedBytes);
  if (!unframed.ok) return unframed;
  const payload = unframed.value;
  if (payload.byteLength < PATH_AT) return failed('payload too short for its header');
  const numbers = [...new Uint32Array(payload.buffer, payload.byteOffset, NUMBERS)];
  const layout = layoutOf(numbers);
  if (layout.gist.end !== payload.byteLength) {
    return failed(`shapes ask for ${layout.gist.end} bytes, there are ${payload.byteLength}`);
  }
  const path = Buffer.from(payload.subarray(PATH_AT, PATH_AT + numbers[8]!)).toString('utf8');
  const contentHash = Buffer.from(payload.subarray(HASH_AT, RECALL_DIGEST_AT)).toString('hex');
  return ok({ head: { tokens: numbers[0]!, path, contentHash }, payload, numbers, layout });
}

/** Bytes of a payload that the envelope's checksum is of; digests of the others are among them. */
function sealedBytes(payload: Uint8Array): number {
  if (payload.byteLength < PATH_AT) return payload.byteLength;
  return PATH_AT + new DataView(payload.buffer, payload.byteOffset).getUint32(32, true);
}

function recallOf({ payload, numbers, layout }: Opened): Result<Pick<FileMemory, 'recall' | 'provenance'>> {
  if (!isWhole(payload, layout.recall, RECALL_DIGEST_AT)) return failed('checksum of recall does not match');
  const [, , , , heads, slots, headSize, runs] = numbers as Numbers;
  const reader = new SectionReader(payload, layout.recall);
  const recall = readRecall({ heads, slots, headSize }, reader);
  const provenance = decodeProvenance(reader.bytes(), heads, slots, runs);
  return provenance.ok ? ok({ recall, provenance: provenance.value }) : provenance;
}

function gistOf({ payload, numbers, layout }: Opened): Result<PackedSlots> {
  if (!isWhole(payload, layout.gist, GIST_DIGEST_AT)) return failed('checksum of gist does not match');
  const [, groups, slots, headSize] = numbers as Numbers;
  return ok(readGist({ groups, slots, headSize }, new SectionReader(payload, layout.gist)));
}

function isWhole(payload: Uint8Array, part: Sections, digestAt: number): boolean {
  return Buffer.compare(payload.subarray(digestAt, digestAt + DIGEST_BYTES), digestOf(payload, part)) === 0;
}

function digestOf(payload: Uint8Array, { start, end }: Sections): Uint8Array {
  return createHash('sha256').update(payload.subarray(start, end)).digest().subarray(0, DIGEST_BYTES);
}

/** In the order of the table. */
type Numbers = [number, number, number, number, number, number, number, number, number, number];

function numbersOf({ tokens, gist, recall, provenance }: FileMemory, path: number, provenanceBytes: number): Numbers {
  const runs = provenance.lines.length;
  const gistShape = [gist.groups, gist.slots, gist.headSize] as const;
  return [tokens, ...gistShape, recall.heads, recall.slots, recall.headSize, runs, path, provenanceBytes];
}

interface Layout {
  readonly recall: Sections;
  readonly gist: Sections;
}

function layoutOf(numbers: readonly number[]): Layout {
  const [, groups, gistSlots, gistHeadSize, heads, slots, headSize, , path, provenance] = numbers as Numbers;
  const recall = placeSections([...recallLengths({ heads, slots, headSize }), provenance], PATH_AT + path);
  const gist = placeSections(gistLengths({ groups, slots: gistSlots, headSize: gistHeadSize }), recall.end);
  return { recall, gist };
}

function shortHash(text: string, digits: number): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, digits);
}
