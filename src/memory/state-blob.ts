/**
 * The composed workspace state as bytes (a blob of the store, which adds the checksum), and the digest of what it was
 * made from. Never touches the disk.
 *
 * Payload, little-endian; every section begins at a multiple of 4:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     version: 1
 *   4       4     G   layers x key heads
 *   8       4     S   slots
 *   12      4     d   head size
 *   16      8     tokens of the files in it, float64
 *   24      32    digest
 *   56      G*S*4 key scales, float32
 *           G*S*4 value scales
 *           G*S*4 counts
 *           G*S*4 key radii
 *           G*S*4 value radii
 *           G*S*d keys, int8
 *           G*S*d values, int8
 */
import { createHash } from 'node:crypto';
import { failed, ok, type Result } from '../base/index.js';
import type { PackedSlots } from '../engine/index.js';

export interface WorkspaceState {
  /** Hex digest of what it was composed from. */
  readonly digest: string;
  /** Tokens of the files in it. */
  readonly tokens: number;
  readonly slots: PackedSlots;
}

/** Bytes before the first section. */
export const STATE_HEADER_BYTES = 56;
const VERSION = 1;

/** Digest of the memories (in canonical order), the model and the budget that make a state. */
export function stateDigest(keys: readonly string[], model: string, budget: number): string {
  return createHash('sha256')
    .update(JSON.stringify([VERSION, model, budget, keys]))
    .digest('hex');
}

export function encodeState({ digest, tokens, slots }: WorkspaceState): Uint8Array {
  const cells = slots.groups * slots.slots;
  const bytes = new Uint8Array(STATE_HEADER_BYTES + cells * (20 + 2 * slots.headSize));
  const view = new DataView(bytes.buffer);
  [VERSION, slots.groups, slots.slots, slots.headSize].forEach((value, at) => view.setUint32(at * 4, value, true));
  view.setFloat64(16, tokens, true);
  bytes.set(Buffer.from(digest, 'hex'), 24);
  let at = STATE_HEADER_BYTES;
  for (const part of [
    slots.keyScales,
    slots.valueScales,
    slots.counts,
    slots.keyRadii,
    slots.valueRadii,
    slots.keys,
    slots.values,
  ]) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  return bytes;
}

/** Shape, tokens and digest of a state; cheap. */
export function stateHeader(
  bytes: Uint8Array,
): Result<{ digest: string; tokens: number; slots: number; groups: number; headSize: number }> {
  if (bytes.byteLength < STATE_HEADER_BYTES) return failed('too short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== VERSION) return failed('another version');
  const groups = view.getUint32(4, true);
  const slots = view.getUint32(8, true);
  const headSize = view.getUint32(12, true);
  if (bytes.byteLength !== STATE_HEADER_BYTES + groups * slots * (20 + 2 * headSize)) return failed('wrong length');
  const digest = Buffer.from(bytes.subarray(24, STATE_HEADER_BYTES)).toString('hex');
  return ok({ digest, tokens: view.getFloat64(16, true), slots, groups, headSize });
}

/** The state, its arrays copied out of `bytes`. */
export function decodeState(bytes: Uint8Array): Result<WorkspaceState> {
  const header = stateHeader(bytes);
  if (!header.ok) return header;
  const { digest, tokens, slots, groups, headSize } = header.value;
  const cells = groups * slots;
  let at = bytes.byteOffset + STATE_HEADER_BYTES;
  const section = (length: number): ArrayBuffer => {
    const part = bytes.buffer.slice(at, at + length) as ArrayBuffer;
    at += length;
    return part;
  };
  const floats = (): Float32Array => new Float32Array(section(cells * 4));
  const int8 = (): Int8Array => new Int8Array(section(cells * headSize));
  const [keyScales, valueScales, counts, keyRadii, valueRadii] = [floats(), floats(), floats(), floats(), floats()];
  const [keys, values] = [int8(), int8()];
  return ok({
    digest,
    tokens,
    slots: { groups, slots, headSize, keys, keyScales, values, valueScales, counts, keyRadii, valueRadii },
  });
}
