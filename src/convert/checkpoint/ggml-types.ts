/**
 * Block layouts of GGUF tensor types and how a block becomes float32. Layouts (all little-endian; d, m are float16):
 *
 * | type | elements | bytes | layout | element |
 * | --- | --- | --- | --- | --- |
 * | Q8_0 | 32 | 34 | d, 32 x int8 q | d q |
 * | Q4_0 | 32 | 18 | d, 16 bytes: low nibbles are elements 0..15, high ones 16..31 | d (q - 8) |
 * | Q4_1 | 32 | 20 | d, m, 16 bytes of nibbles as above | d q + m |
 * | Q5_0 | 32 | 22 | d, 32 fifth bits, 16 bytes of nibbles as above | d (q - 16) |
 * | Q5_1 | 32 | 24 | d, m, 32 fifth bits, 16 bytes of nibbles as above | d q + m |
 * | Q4_K | 256 | 144 | d, m, 12 bytes of 6-bit scales and mins, 128 bytes of nibbles | d s q - m t |
 * | Q5_K | 256 | 176 | as Q4_K with 32 bytes of fifth bits before the nibbles | d s q - m t |
 * | Q6_K | 256 | 210 | 128 low nibbles, 64 bytes of upper bit pairs, 16 x int8 scales, d | d s (q - 32) |
 *
 * Pure: bytes in, floats out; never reads a file.
 */
import { halfToFloat } from './half.js';
import type { TensorType } from './checkpoint.js';

export interface GgmlType {
  readonly name: string;
  readonly blockElements: number;
  readonly blockBytes: number;
  /** Undefined where the type is known but not read. */
  readonly readable?: TensorType;
}

function readable(name: TensorType, blockElements: number, blockBytes: number): GgmlType {
  return { name, blockElements, blockBytes, readable: name };
}

const TYPES = new Map<number, GgmlType>([
  [0, readable('F32', 1, 4)],
  [1, readable('F16', 1, 2)],
  [2, readable('Q4_0', 32, 18)],
  [3, readable('Q4_1', 32, 20)],
  [6, readable('Q5_0', 32, 22)],
  [7, readable('Q5_1', 32, 24)],
  [8, readable('Q8_0', 32, 34)],
  [10, { name: 'Q2_K', blockElements: 256, blockBytes: 84 }],
  [11, { name: 'Q3_K', blockElements: 256, blockBytes: 110 }],
  [12, readable('Q4_K', 256, 144)],
  [13, readable('Q5_K', 256, 176)],
  [14, readable('Q6_K', 256, 210)],
  [16, { name: 'IQ2_XXS', blockElements: 256, blockBytes: 66 }],
  [17, { name: 'IQ2_XS', blockElements: 256, blockBytes: 74 }],
  [18, { name: 'IQ3_XXS', blockElements: 256, blockBytes: 98 }],
  [20, { name: 'IQ4_NL', blockElements: 32, blockBytes: 18 }],
  [21, { name: 'IQ3_S', blockElements: 256, blockBytes: 110 }],
  [22, { name: 'IQ2_S', blockElements: 256, blockBytes: 82 }],
  [23, { name: 'IQ4_XS', blockElements: 256, blockBytes: 136 }],
  [24, { name: 'I8', blockElements: 1, blockBytes: 1 }],
  [25, { name: 'I16', blockElements: 1, blockBytes: 2 }],
  [26, { name: 'I32', blockElements: 1, blockBytes: 4 }],
  [27, { name: 'I64', blockElements: 1, blockBytes: 8 }],
  [28, { name: 'F64', blockElements: 1, blockBytes: 8 }],
  [30, readable('BF16', 1, 2)],
]);

/** Undefined for ids that GGUF does not define. */
export function ggmlType(id: number): GgmlType | undefined {
  return TYPES.get(id);
}

/** Elements and bytes of one block. */
export function blockOf(type: TensorType): { readonly elements: number; readonly bytes: number } {
  for (const known of TYPES.values()) {
    if (known.readable === type) return { elements: known.blockElements, bytes: known.blockBytes };
  }
  throw new Error(`no block layout for ${type}`);
}

/** Decodes whole blocks in `bytes` to `out`, from element `at` on. */
export function decodeBlocks(type: TensorType, bytes: Uint8Array, out: Float32Array, at: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case 'F32':
      for (let i = 0, p = 0; p < bytes.length; i++, p += 4) out[at + i] = view.getFloat32(p, true);
      return;
    case 'F16':
      for (let i = 0, p = 0; p < bytes.length; i++, p += 2) out[at + i] = halfToFloat(view.getUint16(p, true));
      return;
    case 'BF16': {
      const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
      for (let i = 0, p = 0; p < bytes.length; i++, p += 2) bits[at + i] = view.getUint16(p, true) << 16;
      return;
    }
    case 'Q8_0':
    case 'Q4_0':
    case 'Q4_1':
    case 'Q5_0':
    case 'Q5_1':
      decodeSmall(type, view, out, at);
      return;
    case 'Q4_K':
    case 'Q5_K':
      decodeK45(type, bytes, view, out, at);
      return;
    case 'Q6_K':
      decodeK6(bytes, view, out, at);
      return;
  }
}

function half(view: DataView, at: number): number {
  return halfToFloat(view.getUint16(at, true));
}

function decodeSmall(
  type: 'Q8_0' | 'Q4_0' | 'Q4_1' | 'Q5_0' | 'Q5_1',
  view: DataView,
  out: Float32Array,
  at: number,
): void {
  const { bytes } = blockOf(type);
  const five = type === 'Q5_0' || type === 'Q5_1';
  const offset = type === 'Q4_0' ? 8 : type === 'Q5_0' ? 16 : 0;
  const hasMin = type === 'Q4_1' || type === 'Q5_1';
  for (let block = 0; block < view.byteLength; block += bytes, at += 32) {
    const d = half(view, block);
    if (type === 'Q8_0') {
      for (let i = 0; i < 32; i++) out[at + i] = d * view.getInt8(block + 2 + i);
      continue;
    }
    const m = hasMin ? half(view, block + 2) : 0;
    const fifth = five ? view.getUint32(block + (hasMin ? 4 : 2), true) : 0;
    const nibbles = block + bytes - 16;
    for (let i = 0; i < 16; i++) {
      const byte = view.getUint8(nibbles + i);
      const low = (byte & 15) | (((fifth >>> i) & 1) << 4);
      const high = (byte >> 4) | (((fifth >>> (i + 16)) & 1) << 4);
      out[at + i] = d * (low - offset) + m;
      out[at + i + 16] = d * (high - offset) + m;
    }
  }
}

/** Eight sub-blocks of 32; sub-block j has a 6-bit scale and a 6-bit minimum, packed in 12 bytes at `p`. */
function scaleAndMin(bytes: Uint8Array, p: number, j: number): [number, number] {
  if (j < 4) return [bytes[p + j]! & 63, bytes[p + j + 4]! & 63];
  const low = bytes[p + j + 4]!;
  return [(low & 15) | ((bytes[p + j - 4]! >> 6) << 4), (low >> 4) | ((bytes[p + j]! >> 6) << 4)];
}

/** Nibbles: 32 bytes hold sub-block 2k (low) and 2k + 1 (high). Fifth bits (Q5_K): bit j of byte i is element i of sub-block j. */
function decodeK45(type: 'Q4_K' | 'Q5_K', bytes: Uint8Array, view: DataView, out: Float32Array, at: number): void {
  const size = type === 'Q4_K' ? 144 : 176;
  for (let block = 0; block < bytes.length; block += size, at += 256) {
    const d = half(view, block);
    const m = half(view, block + 2);
    const fifth = block + 16;
    const nibbles = block + size - 128;
    for (let j = 0; j < 8; j++) {
      const [s, t] = scaleAndMin(bytes, block + 4, j);
      const scale = d * s;
      const min = m * t;
      for (let i = 0; i < 32; i++) {
        const byte = bytes[nibbles + (j >> 1) * 32 + i]!;
        let q = (j & 1) === 0 ? byte & 15 : byte >> 4;
        if (type === 'Q5_K') q |= ((bytes[fifth + i]! >> j) & 1) << 4;
        out[at + j * 32 + i] = scale * q - min;
      }
    }
  }
}

/** Two halves of 128; in each, group g of 32 takes low bits from byte 32 (g mod 2) + i, upper bits from pair g of byte i. */
function decodeK6(bytes: Uint8Array, view: DataView, out: Float32Array, at: number): void {
  for (let block = 0; block < bytes.length; block += 210, at += 256) {
    const d = half(view, block + 208);
    for (let e = 0; e < 256; e++) {
      const part = e >> 7;
      const group = (e >> 5) & 3;
      const i = e & 31;
      const low = bytes[block + part * 64 + (group & 1) * 32 + i]!;
      const upper = (bytes[block + 128 + part * 32 + i]! >> (group * 2)) & 3;
      const q = ((group < 2 ? low & 15 : low >> 4) | (upper << 4)) - 32;
      out[at + e] = d * view.getInt8(block + 192 + (e >> 4)) * q;
    }
  }
}
