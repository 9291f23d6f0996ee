/**
 * The envelope of every value in the store: what it is, how long it is, and a checksum of it.
 * Never interprets the payload and never throws for bad bytes: those are a `Result` with a reason.
 *
 * All numbers little-endian.
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     magic: 4c 56 47 56 ("LVGV")
 *   4       2     version of the envelope: 1
 *   6       2     kind of payload (`FrameKind`)
 *   8       4     length of the payload in bytes, N
 *   12      4     version of the payload's own layout
 *   16      16    first half of SHA-256 over bytes 0 to 15 and the payload, or as much of it as its layout says
 *   32      N     payload; it begins at a multiple of 8
 */
import { createHash } from 'node:crypto';
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';

/** Kinds of payload. Numbers are on disk: never reuse one. */
export const FrameKind = {
  fileMemory: 1,
  ledgerRow: 2,
  blob: 3,
  format: 4,
  lease: 5,
  stamp: 6,
  /** In exported files alone (`portable/export-file.ts`). */
  exportHead: 7,
  exportedFile: 8,
  exportEnd: 9,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export const FRAME_HEADER_BYTES = 32;
const MAGIC = 0x5647564c;
const ENVELOPE_VERSION = 1;
const CHECKSUM_AT = 16;

/** Bytes of an envelope whose payload, of `length` zero bytes, is still to be written; then call `seal`. */
export function emptyFrame(kind: FrameKind, payloadVersion: number, length: number): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, ENVELOPE_VERSION, true);
  view.setUint16(6, kind, true);
  view.setUint32(8, length, true);
  view.setUint32(12, payloadVersion, true);
  return bytes;
}

/** Writes the checksum of a finished frame, over so many bytes of its payload; returns the same bytes. */
export function seal(bytes: Uint8Array, sealed = bytes.byteLength): Uint8Array {
  bytes.set(checksum(bytes, sealed), CHECKSUM_AT);
  return bytes;
}

/** A sealed envelope around a copy of `payload`. */
export function frame(kind: FrameKind, payloadVersion: number, payload: Uint8Array): Uint8Array {
  const bytes = emptyFrame(kind, payloadVersion, payload.byteLength);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return seal(bytes);
}

export function frameJson(kind: FrameKind, payloadVersion: number, value: object): Uint8Array {
  return frame(kind, payloadVersion, Buffer.from(JSON.stringify(value), 'utf8'));
}

/** What an envelope is. */
export interface FrameHead {
  /** A number of `FrameKind`, or of a kind that is not known here. */
  readonly kind: number;
  readonly payloadVersion: number;
  /** Bytes of the whole envelope. */
  readonly length: number;
}

/** The head of what may be an envelope; says nothing of the payload, which may be missing. */
export function frameHead(bytes: Uint8Array): Result<FrameHead> {
  if (bytes.byteLength < FRAME_HEADER_BYTES) return failed(`cut off: ${bytes.byteLength} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) return failed('not a value of this store');
  const envelope = view.getUint16(4, true);
  if (envelope !== ENVELOPE_VERSION) return failed(`envelope version ${envelope}, not ${ENVELOPE_VERSION}`);
  return ok({
    kind: view.getUint16(6, true),
    payloadVersion: view.getUint32(12, true),
    length: FRAME_HEADER_BYTES + view.getUint32(8, true),
  });
}

/**
 * The payload (a view on `bytes`, not a copy) if kind, version, length and checksum are right. `sealed`: how many bytes of the
 * payload the checksum is of, where not of all; asked before anything is sure.
 */
export function unframe(
  kind: FrameKind,
  payloadVersion: number,
  bytes: Uint8Array,
  sealed: (payload: Uint8Array) => number = payload => payload.byteLength,
): Result<Uint8Array> {
  const head = frameHead(bytes);
  if (!head.ok) return head;
  const { value: found } = head;
  if (found.kind !== kind) return failed(`kind ${found.kind}, not ${kind}`);
  if (found.payloadVersion !== payloadVersion) {
    return failed(`layout version ${found.payloadVersion}, not ${payloadVersion}`);
  }
  if (found.length !== bytes.byteLength) {
    return failed(
      `${bytes.byteLength - FRAME_HEADER_BYTES} bytes of payload, not ${found.length - FRAME_HEADER_BYTES}`,
    );
  }
  const payload = bytes.subarray(FRAME_HEADER_BYTES);
  const stored = bytes.subarray(CHECKSUM_AT, FRAME_HEADER_BYTES);
  if (Buffer.compare(stored, checksum(bytes, sealed(payload))) !== 0) return failed('checksum does not match');
  return ok(payload);
}

/** The value of a payload that is JSON; what it is remains to be looked at. */
export function unframeJson(kind: FrameKind, payloadVersion: number, bytes: Uint8Array): Result<unknown> {
  const payload = unframe(kind, payloadVersion, bytes);
  if (!payload.ok) return payload;
  try {
    return ok(JSON.parse(Buffer.from(payload.value).toString('utf8')) as unknown);
  } catch {
    return failed('not JSON');
  }
}

function checksum(bytes: Uint8Array, sealed: number): Uint8Array {
  return createHash('sha256')
    .update(bytes.subarray(0, CHECKSUM_AT))
    .update(bytes.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + sealed))
    .digest()
    .subarray(0, FRAME_HEADER_BYTES - CHECKSUM_AT);
}
