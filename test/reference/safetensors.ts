/**
 * Safetensors files for tests: whole files of plain tensors, read and written in one go.
 * Never used by the product (that reader streams and is in `src/convert`), so the two can disagree and a test then fails.
 *
 * OFFSET  SIZE  DESCRIPTION
 *   0       8   length N of the header, uint64 little endian
 *   8       N   JSON: name -> {dtype, shape, data_offsets [begin, end) counted from 8 + N}
 *   8 + N   *   row-major values, little endian
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** One tensor. F16 and BF16 files give float32 values. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
}

export type Tensors = ReadonlyMap<string, Tensor>;

interface HeaderEntry {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

/** IEEE half precision to number: 1 sign, 5 exponent and 10 fraction bits. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function decode(bytes: DataView, dtype: string): Tensor['data'] {
  const filled = <T extends Tensor['data']>(values: T, valueAt: (i: number) => number): T => {
    for (let i = 0; i < values.length; i++) values[i] = valueAt(i);
    return values;
  };
  switch (dtype) {
    case 'F32':
      return filled(new Float32Array(bytes.byteLength / 4), i => bytes.getFloat32(4 * i, true));
    case 'I32':
      return filled(new Int32Array(bytes.byteLength / 4), i => bytes.getInt32(4 * i, true));
    case 'F16':
      return filled(new Float32Array(bytes.byteLength / 2), i => halfToNumber(bytes.getUint16(2 * i, true)));
    case 'BF16':
      // The upper half of a float32.
      return new Float32Array(
        Uint32Array.from({ length: bytes.byteLength / 2 }, (_, i) => bytes.getUint16(2 * i, true) << 16).buffer,
      );
    default:
      throw new Error(
        `safetensors: type ${dtype} is not read by the test reader; add it to test/reference/safetensors.ts`,
      );
  }
}

/** All tensors of the file at `path`. Throws on a type it does not know. */
export function readSafetensors(path: string): Map<string, Tensor> {
  const file = readFileSync(path);
  const headerLength = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + headerLength)) as Record<string, HeaderEntry>;
  const tensors = new Map<string, Tensor>();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const [begin, end] = data_offsets;
    const bytes = new DataView(file.buffer, file.byteOffset + 8 + headerLength + begin, end - begin);
    tensors.set(name, { shape, data: decode(bytes, dtype) });
  }
  return tensors;
}

/** Writes F32 and I32 tensors in the map's order; the header is padded with spaces to a multiple of 8 bytes. */
export function writeSafetensors(path: string, tensors: Tensors): void {
  const header: Record<string, HeaderEntry> = {};
  const parts: Buffer[] = [];
  let offset = 0;
  for (const [name, { shape, data }] of tensors) {
    const part = Buffer.alloc(data.length * 4);
    if (data instanceof Float32Array) data.forEach((value, i) => part.writeFloatLE(value, 4 * i));
    else data.forEach((value, i) => part.writeInt32LE(value, 4 * i));
    header[name] = {
      dtype: data instanceof Float32Array ? 'F32' : 'I32',
      shape: [...shape],
      data_offsets: [offset, offset + part.length],
    };
    parts.push(part);
    offset += part.length;
  }
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const padded = Buffer.alloc(Math.ceil(json.length / 8) * 8, ' ');
  json.copy(padded);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  writeFileSync(path, Buffer.concat([length, padded, ...parts]));
}

/** The float tensors alone, by name, without their shapes: what the oracles take as weights. */
export function floatValues(tensors: Tensors): Map<string, Float32Array> {
  const values = new Map<string, Float32Array>();
  for (const [name, { data }] of tensors) if (data instanceof Float32Array) values.set(name, data);
  return values;
}
