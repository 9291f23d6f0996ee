/**
 * The workspace state as bytes (in pieces: blobs of the store, which adds the checksums), and the digest of what it was made
 * from. Never touches the disk.
 *
 * Payload, little-endian; every section begins at a multiple of 4:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       4     version: 3
 *   4       4     G   layers x key heads
 *   8       4     S   slots
 *   12      4     d   head size
 *   16      8     tokens of the files in it, float64
 *   24      8     tokens that came or went since it was composed, float64
 *   32      4     budget of its tokens, slots
 *   36      4     budget it was composed for
 *   40      32    digest
 *   72      32    identity
 *   104     G*S*4 key scales, float32
 *           G*S*4 value scales
 *           G*S*4 counts
 *           G*S*4 key radii
 *           G*S*4 value radii
 *           G*S*4 key radius sums
 *           G*S*4 value radius sums
 *           2*G*S*d keys, int16
 *           2*G*S*d values, int16
 *           G*S   1 where the slot's maker is in it
 */
import { createHash } from 'node:crypto';
import { failed, ok, type Result } from '../base/index.js';
import type { StateSlots } from '../engine/index.js';

/** What is known of a state without looking at its slots. */
export interface StateAbout {
  /** Hex digest of what is in it. */
  readonly digest: string;
  /** Hex digest of how it came about: two states of one identity are equal bit for bit. A composed one's is its digest. */
  readonly identity: string;
  /** Tokens of the files in it. */
  readonly tokens: number;
  /** Tokens that came or went by patches since it was composed. */
  readonly patchedTokens: number;
  /** Slots that its tokens may have, and that it was composed for. */
  readonly budget: number;
  readonly composedBudget: number;
}

export interface WorkspaceState extends StateAbout {
  readonly slots: StateSlots;
}

export interface StateHeader extends StateAbout {
  readonly slots: number;
  readonly groups: number;
  readonly headSize: number;
}

/** Bytes before the first section. */
export const STATE_HEADER_BYTES = 104;
const VERSION = 3;
const DIGEST_AT = 40;
const IDENTITY_AT = 72;

/** Digest of the memories (their order is given by what they are of), the model and the budget that make a state. */
export function stateDigest(keys: readonly string[], model: string, budget: number): string {
  return hashOf([VERSION, model, budget, [...keys].sort()]);
}

/** Identity of a state that was patched. */
export function patchedIdentity(before: string, removed: readonly string[], added: readonly string[]): string {
  return hashOf([before, removed, added]);
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** The bytes of a state, one piece of at most so many after another. */
export function* statePieces(state: WorkspaceState, mostBytes: number): Generator<Uint8Array> {
  const { slots } = state;
  const parts = [
    headerOf(state),
    ...[slots.keyScales, slots.valueScales, slots.counts, slots.keyRadii, slots.valueRadii],
    ...[slots.keyRadiusSums, slots.valueRadiusSums, slots.keys, slots.values, slots.created],
  ];
  let left = stateBytes(slots);
  let piece = new Uint8Array(Math.min(mostBytes, left));
  let filled = 0;
  for (const { buffer, byteOffset, byteLength } of parts) {
    for (let at = 0; at < byteLength;) {
      const length = Math.min(byteLength - at, piece.byteLength - filled);
      piece.set(new Uint8Array(buffer, byteOffset + at, length), filled);
      at += length;
      filled += length;
      if (filled < piece.byteLength) continue;
      yield piece;
      left -= filled;
      piece = new Uint8Array(Math.min(mostBytes, left));
      filled = 0;
    }
  }
}

/** The first `STATE_HEADER_BYTES`. */
export function headerOf(state: WorkspaceState): Uint8Array {
  const { slots } = state;
  const bytes = new Uint8Array(STATE_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  [VERSION, slots.groups, slots.slots, slots.headSize].forEach((value, at) => view.setUint32(at * 4, value, true));
  view.setFloat64(16, state.tokens, true);
  view.setFloat64(24, state.patchedTokens, true);
  view.setUint32(32, state.budget, true);
  view.setUint32(36, state.composedBudget, true);
  bytes.set(Buffer.from(state.digest, 'hex'), DIGEST_AT);
  bytes.set(Buffer.from(state.identity, 'hex'), IDENTITY_AT);
  return bytes;
}

/** All but the slots, from the first `STATE_HEADER_BYTES`. */
export function stateHeader(bytes: Uint8Array): Result<StateHeader> {
  if (bytes.byteLength < STATE_HEADER_BYTES) return failed('too short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== VERSION) return failed('another version');
  const groups = view.getUint32(4, true);
  const slots = view.getUint32(8, true);
  const headSize = view.getUint32(12, true);
  const hex = (at: number): string => Buffer.from(bytes.subarray(at, at + 32)).toString('hex');
  return ok({
    ...{ slots, groups, headSize },
    ...{ tokens: view.getFloat64(16, true), patchedTokens: view.getFloat64(24, true) },
    ...{ budget: view.getUint32(32, true), composedBudget: view.getUint32(36, true) },
    ...{ digest: hex(DIGEST_AT), identity: hex(IDENTITY_AT) },
  });
}

/** Bytes of a state of that shape. */
export function stateBytes({ groups, slots, headSize }: Pick<StateHeader, 'groups' | 'slots' | 'headSize'>): number {
  return STATE_HEADER_BYTES + groups * slots * (29 + 4 * headSize);
}

/** The state, its arrays views on `bytes`, which begin at a multiple of 4. */
export function decodeState(bytes: Uint8Array): Result<WorkspaceState> {
  const header = stateHeader(bytes);
  if (!header.ok) return header;
  if (bytes.byteLength !== stateBytes(header.value)) return failed('wrong length');
  const { slots, groups, headSize, ...about } = header.value;
  const cells = groups * slots;
  let at = bytes.byteOffset + STATE_HEADER_BYTES;
  const section = (length: number): number => (at += length) - length;
  const floats = (): Float32Array => new Float32Array(bytes.buffer, section(cells * 4), cells);
  const int16 = (): Int16Array => new Int16Array(bytes.buffer, section(cells * headSize * 2), cells * headSize);
  const [keyScales, valueScales, counts, keyRadii, valueRadii] = [floats(), floats(), floats(), floats(), floats()];
  const [keyRadiusSums, valueRadiusSums] = [floats(), floats()];
  const [keys, values] = [int16(), int16()];
  const created = new Uint8Array(bytes.buffer, section(cells), cells);
  return ok({
    ...about,
    slots: {
      ...{ groups, slots, headSize, keys, keyScales, values, valueScales, counts, keyRadii, valueRadii },
      ...{ keyRadiusSums, valueRadiusSums, created },
    },
  });
}
