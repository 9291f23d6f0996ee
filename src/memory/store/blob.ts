/**
 * A named blob: bytes of the caller with their name, so that damage to the key is found too. Never knows what is in it.
 *
 * Payload of the envelope (`frame.ts`), kind 3, layout 2:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     uint32, little-endian: N, bytes of the name
 *   4       4     0
 *   8       N     name, UTF-8; zeros up to the next multiple of 8
 *   …             the bytes
 */
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { FRAME_HEADER_BYTES, FrameKind, emptyFrame, seal, unframe } from './frame.js';

const LAYOUT_VERSION = 2;
const NAME_AT = 8;

export function encodeBlob(name: string, bytes: Uint8Array): Uint8Array {
  const nameBytes = Buffer.from(name, 'utf8');
  const start = startAfter(nameBytes.byteLength);
  const framed = emptyFrame(FrameKind.blob, LAYOUT_VERSION, start + bytes.byteLength);
  new DataView(framed.buffer).setUint32(FRAME_HEADER_BYTES, nameBytes.byteLength, true);
  framed.set(nameBytes, FRAME_HEADER_BYTES + NAME_AT);
  framed.set(bytes, FRAME_HEADER_BYTES + start);
  return seal(framed);
}

/** The bytes are a view on `framed`, not a copy; they begin at a multiple of 8 of it. */
export function decodeBlob(framed: Uint8Array): Result<{ readonly name: string; readonly bytes: Uint8Array }> {
  const unframed = unframe(FrameKind.blob, LAYOUT_VERSION, framed);
  if (!unframed.ok) return unframed;
  const payload = Buffer.from(unframed.value.buffer, unframed.value.byteOffset, unframed.value.byteLength);
  const length = payload.byteLength < NAME_AT ? Infinity : payload.readUInt32LE(0);
  if (startAfter(length) > payload.byteLength) return failed('wrong length');
  const name = payload.toString('utf8', NAME_AT, NAME_AT + length);
  return ok({ name, bytes: unframed.value.subarray(startAfter(length)) });
}

function startAfter(nameLength: number): number {
  return NAME_AT + Math.ceil(nameLength / 8) * 8;
}
