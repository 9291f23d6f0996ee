/** Writes GGUF files for tests, from the published layout (version 3). Shares no code with the reader. */

export type Meta =
  | { readonly type: 'u32' | 'i32' | 'f32' | 'u64'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'texts'; readonly value: readonly string[] }
  | { readonly type: 'i32s'; readonly value: readonly number[] };

export interface WrittenTensor {
  readonly name: string;
  /** Outermost first. */
  readonly shape: readonly number[];
  /** GGUF's number of the type. */
  readonly type: number;
  readonly data: Uint8Array;
}

const META_TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, u64: 10, texts: 9, i32s: 9 } as const;

export class Bytes {
  private readonly parts: Uint8Array[] = [];
  /** Where integers were written. */
  readonly integers: { readonly at: number; readonly bytes: number }[] = [];
  length = 0;

  raw(bytes: Uint8Array): this {
    this.parts.push(bytes);
    this.length += bytes.length;
    return this;
  }

  number(bytes: 1 | 2 | 4 | 8, value: number | bigint): this {
    const part = Buffer.alloc(8);
    part.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
    this.integers.push({ at: this.length, bytes });
    return this.raw(part.subarray(0, bytes));
  }

  float(value: number): this {
    const part = Buffer.alloc(4);
    part.writeFloatLE(value);
    return this.raw(part);
  }

  text(value: string): this {
    const bytes = Buffer.from(value);
    return this.number(8, bytes.length).raw(bytes);
  }

  done(): Buffer {
    return Buffer.concat(this.parts);
  }
}

export function ggufFile(metadata: ReadonlyMap<string, Meta>, tensors: readonly WrittenTensor[]): Buffer {
  return writeGguf(metadata, tensors).done();
}

export function writeGguf(metadata: ReadonlyMap<string, Meta>, tensors: readonly WrittenTensor[]): Bytes {
  const out = new Bytes().raw(Buffer.from('GGUF')).number(4, 3).number(8, tensors.length).number(8, metadata.size);
  for (const [key, meta] of metadata) writeMeta(out.text(key), meta);
  let offset = 0;
  for (const { name, shape, type, data } of tensors) {
    out.text(name).number(4, shape.length);
    for (const size of [...shape].reverse()) out.number(8, size);
    out.number(4, type).number(8, offset);
    offset += padded(data.length);
  }
  out.raw(new Uint8Array(padded(out.length) - out.length));
  for (const { data } of tensors) out.raw(data).raw(new Uint8Array(padded(data.length) - data.length));
  return out;
}

function padded(length: number): number {
  return Math.ceil(length / 32) * 32;
}

function writeMeta(out: Bytes, meta: Meta): void {
  out.number(4, META_TYPE[meta.type]);
  switch (meta.type) {
    case 'u32':
    case 'i32':
      out.number(4, meta.value);
      break;
    case 'u64':
      out.number(8, meta.value);
      break;
    case 'f32':
      out.float(meta.value);
      break;
    case 'bool':
      out.number(1, meta.value ? 1 : 0);
      break;
    case 'text':
      out.text(meta.value);
      break;
    case 'texts':
      out.number(4, META_TYPE.text).number(8, meta.value.length);
      for (const text of meta.value) out.text(text);
      break;
    case 'i32s':
      out.number(4, META_TYPE.i32).number(8, meta.value.length);
      for (const value of meta.value) out.number(4, value);
      break;
  }
}

/** Bits of a number that float16 holds exactly, as a normal number or zero. */
export function halfBits(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const fraction = (Math.abs(value) / 2 ** exponent - 1) * 1024;
  if (!Number.isInteger(fraction) || exponent < -14 || exponent > 15) throw new Error(`${value} is no exact half`);
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}
