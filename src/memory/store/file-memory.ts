/**
 * What is kept of one file, its key, and its bytes. Never touches the disk and never holds the file's text.
 *
 * A file memory is a function of path, content, model and reading settings alone, and its key names these four.
 *
 * Payload of the envelope (`frame.ts`), kind 1, layout version 1. Numbers little-endian, offsets from the payload's
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
 *   28      4     P   provenance: (line, weight) pairs
 *   32      4     N   bytes of the path
 *   36      4     0
 *   40      32    SHA-256 of the file's bytes
 *   72            sections, in this order:
 *           N          path, UTF-8
 *           G*S*d      gist keys, int8
 *           G*S*4      gist key scales, float32
 *           G*S*d      gist values, int8
 *           G*S*4      gist value scales, float32
 *           G*S*4      gist counts, float32
 *           G*S*4      gist key radii, float32
 *           G*S*4      gist value radii, float32
 *           K*R*e      recall keys, int8
 *           K*R*4      recall scales, float32
 *           K*R*4      recall counts, float32
 *           K*(R+1)*4  provenance: first pair of each slot, uint32
 *           P*4        provenance: lines, uint32
 *           P*2        provenance: weights, uint16
 */
import { createHash } from 'node:crypto';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import type { PackedSlots, RecallSlots } from '../../engine/index.js';
import { FRAME_HEADER_BYTES, FrameKind, emptyFrame, seal, unframe } from './frame.js';
import type { Provenance } from './provenance.js';

export interface FileMemory {
  /** Tokens read, the prefix included. */
  readonly tokens: number;
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** SHA-256 of the file's bytes, 64 hex digits. */
  readonly contentHash: string;
  readonly gist: PackedSlots;
  readonly recall: RecallSlots;
  readonly provenance: Provenance;
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

const LAYOUT_VERSION = 1;
const FIXED_BYTES = 72;

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
  const numbers = [
    memory.tokens,
    memory.gist.groups,
    memory.gist.slots,
    memory.gist.headSize,
    memory.recall.heads,
    memory.recall.slots,
    memory.recall.headSize,
    memory.provenance.lines.length,
    path.byteLength,
  ];
  const layout = layoutOf(numbers);
  const sections: ArrayBufferView[] = [
    path,
    memory.gist.keys,
    memory.gist.keyScales,
    memory.gist.values,
    memory.gist.valueScales,
    memory.gist.counts,
    memory.gist.keyRadii,
    memory.gist.valueRadii,
    memory.recall.keys,
    memory.recall.scales,
    memory.recall.counts,
    memory.provenance.slotStart,
    memory.provenance.lines,
    memory.provenance.weights,
  ];
  const bytes = emptyFrame(FrameKind.fileMemory, LAYOUT_VERSION, layout.end);
  const payload = bytes.subarray(FRAME_HEADER_BYTES);
  const view = new DataView(bytes.buffer, FRAME_HEADER_BYTES);
  numbers.forEach((value, at) => view.setUint32(at * 4, value, true));
  payload.set(Buffer.from(memory.contentHash, 'hex'), 40);
  sections.forEach((section, at) => {
    const { offset, length } = layout.sections[at]!;
    if (section.byteLength !== length) {
      throw new RangeError(`Section ${at} has ${section.byteLength} bytes where its shape asks for ${length}.`);
    }
    payload.set(new Uint8Array(section.buffer, section.byteOffset, section.byteLength), offset);
  });
  return seal(bytes);
}

/** The memory in `bytes`. Its arrays are views on `bytes` where that is aligned, else on one copy of it. */
export function decodeFileMemory(bytes: Uint8Array): Result<FileMemory> {
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const unframed = unframe(FrameKind.fileMemory, LAYOUT_VERSION, aligned);
  if (!unframed.ok) return unframed;
  const payload = unframed.value;
  if (payload.byteLength < FIXED_BYTES) return failed('payload too short for its header');
  const header = new Uint32Array(payload.buffer, payload.byteOffset, 9);
  const layout = layoutOf([...header]);
  if (layout.end !== payload.byteLength) {
    return failed(`shapes ask for ${layout.end} bytes, there are ${payload.byteLength}`);
  }
  const [tokens, groups, slots, headSize, heads, recallSlots, recallHeadSize] = header as unknown as number[];
  let next = 0;
  const section = (): [ArrayBuffer, number, number] => {
    const { offset, length } = layout.sections[next++]!;
    return [payload.buffer as ArrayBuffer, payload.byteOffset + offset, length];
  };
  const bytesOf = (): Uint8Array => new Uint8Array(...section());
  const int8 = (): Int8Array => new Int8Array(...section());
  const float32 = (): Float32Array => {
    const [buffer, offset, length] = section();
    return new Float32Array(buffer, offset, length / 4);
  };
  const uint32 = (): Uint32Array => {
    const [buffer, offset, length] = section();
    return new Uint32Array(buffer, offset, length / 4);
  };
  const uint16 = (): Uint16Array => {
    const [buffer, offset, length] = section();
    return new Uint16Array(buffer, offset, length / 2);
  };
  // The order of the next lines is the order of the sections on disk.
  const path = Buffer.from(bytesOf()).toString('utf8');
  const gist: PackedSlots = {
    groups: groups!,
    slots: slots!,
    headSize: headSize!,
    keys: int8(),
    keyScales: float32(),
    values: int8(),
    valueScales: float32(),
    counts: float32(),
    keyRadii: float32(),
    valueRadii: float32(),
  };
  const recall: RecallSlots = {
    heads: heads!,
    slots: recallSlots!,
    headSize: recallHeadSize!,
    keys: int8(),
    scales: float32(),
    counts: float32(),
  };
  const provenance: Provenance = { slotStart: uint32(), lines: uint32(), weights: uint16() };
  const contentHash = Buffer.from(payload.subarray(40, 72)).toString('hex');
  const wrong = faultOf(provenance, recall);
  if (wrong !== undefined) return failed(wrong);
  return ok({ tokens: tokens!, path, contentHash, gist, recall, provenance });
}

/** Where each section lies in the payload, from the nine numbers of its header. */
function layoutOf(numbers: readonly number[]): { sections: { offset: number; length: number }[]; end: number } {
  const [, groups, slots, headSize, heads, recallSlots, recallHeadSize, pairs, path] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const gist = groups * slots;
  const recall = heads * recallSlots;
  const lengths = [
    path,
    gist * headSize,
    gist * 4,
    gist * headSize,
    gist * 4,
    gist * 4,
    gist * 4,
    gist * 4,
    recall * recallHeadSize,
    recall * 4,
    recall * 4,
    heads * (recallSlots + 1) * 4,
    pairs * 4,
    pairs * 2,
  ];
  let end = FIXED_BYTES;
  const sections = lengths.map(length => {
    const offset = Math.ceil(end / 8) * 8;
    end = offset + length;
    return { offset, length };
  });
  return { sections, end };
}

/** What makes provenance unusable although its checksum is right, e.g. after a bug of the writer. */
function faultOf(provenance: Provenance, recall: RecallSlots): string | undefined {
  const { slotStart, lines } = provenance;
  let last = 0;
  for (let at = 0; at < slotStart.length; at++) {
    const start = slotStart[at]!;
    const isFirstOfHead = at % (recall.slots + 1) === 0;
    if (start < last || (isFirstOfHead && start !== last)) return 'provenance is out of order';
    last = start;
  }
  return last === lines.length ? undefined : 'provenance does not cover its pairs';
}

function shortHash(text: string, digits: number): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, digits);
}
