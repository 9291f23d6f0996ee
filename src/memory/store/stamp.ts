/**
 * What the store knows of a memory without reading it: when it was written, how large it is, whose it is. Kept apart
 * from the memory, so that a memory's bytes depend on nothing but what was read.
 *
 * Payload of the envelope (`frame.ts`), kind 6, layout 1, little-endian:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       8     float64: written at, milliseconds since 1970
 *   8       4     uint32: bytes of the memory's value
 *   12      4     uint32: N, bytes of the path
 *   16      N     path, UTF-8
 */
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import { FrameKind, frame, unframe } from './frame.js';

export interface Stamp {
  /** Milliseconds since 1970. */
  readonly writtenAt: number;
  readonly bytes: number;
  readonly path: string;
}

const LAYOUT_VERSION = 1;

export function encodeStamp(stamp: Stamp): Uint8Array {
  const path = Buffer.from(stamp.path, 'utf8');
  const payload = Buffer.alloc(16 + path.byteLength);
  payload.writeDoubleLE(stamp.writtenAt, 0);
  payload.writeUInt32LE(stamp.bytes, 8);
  payload.writeUInt32LE(path.byteLength, 12);
  payload.set(path, 16);
  return frame(FrameKind.stamp, LAYOUT_VERSION, payload);
}

export function decodeStamp(bytes: Uint8Array): Result<Stamp> {
  const unframed = unframe(FrameKind.stamp, LAYOUT_VERSION, bytes);
  if (!unframed.ok) return unframed;
  const payload = Buffer.from(unframed.value);
  if (payload.byteLength < 16 || payload.readUInt32LE(12) !== payload.byteLength - 16) return failed('wrong length');
  return ok({
    writtenAt: payload.readDoubleLE(0),
    bytes: payload.readUInt32LE(8),
    path: payload.toString('utf8', 16),
  });
}
