/**
 * Header of a GGUF file (version 2 or 3, little-endian): metadata and tensor table.
 *
 * | part | bytes |
 * | --- | --- |
 * | magic `GGUF`, version | 4, 4 |
 * | tensor count, metadata count | 8, 8 |
 * | each metadatum | string key, type 4, value |
 * | each tensor | string name, dimensions 4, each 8 (innermost first), type 4, offset 8 |
 * | padding up to the alignment (`general.alignment`, else 32), then tensor data; offsets count from here | |
 *
 * A string is its length (8) and UTF-8; an array its element type (4), its count (8), its elements.
 * Every count and offset is held against the file's size before anything is allocated. Never reads tensor data.
 */
import { quoted } from '../../base/index.js';
import type { ByteSource } from './byte-source.js';
import { ggmlType } from './ggml-types.js';
import type { GgmlType } from './ggml-types.js';

export type GgufValue = number | boolean | string | readonly number[] | readonly string[] | readonly boolean[];

export interface GgufTensor {
  /** Innermost first, as stored. */
  readonly dimensions: readonly number[];
  readonly type: GgmlType;
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly bytes: number;
}

export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

const FIRST_READ = 1 << 20;
const MAX_HEADER = 256 << 20;
const MAX_STRING = 16 << 20;
const MAX_NAME = 1024;
const MAX_ELEMENTS = 1 << 22;
const MAX_ENTRIES = 1 << 16;

/** Thrown by the parser where the buffer, not the file, ends. */
class NeedMore extends Error {}

/** Throws `bad-format` or `unsupported` (version, byte order, tensor type). */
export async function readGgufHeader(source: ByteSource): Promise<GgufHeader> {
  let length = Math.min(source.size, FIRST_READ);
  for (;;) {
    const bytes = await source.read(0, length);
    try {
      return new Parser(bytes, source).header();
    } catch (error) {
      if (!(error instanceof NeedMore)) throw error;
    }
    const most = Math.min(source.size, MAX_HEADER);
    if (length >= most) throw source.bad(`its header is larger than ${MAX_HEADER >> 20} MiB`);
    length = Math.min(most, length * 4);
  }
}

/** Bytes of a scalar by metadata type id; strings (8) and arrays (9) are not scalars. */
const SCALAR_BYTES: readonly (number | undefined)[] = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];
const STRING = 8;
const ARRAY = 9;

class Parser {
  private at = 0;
  private readonly view: DataView;
  private readonly utf8 = new TextDecoder();

  constructor(
    private readonly bytes: Uint8Array,
    private readonly source: ByteSource,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  header(): GgufHeader {
    if (this.source.size < 24) throw this.source.bad(`has only ${this.source.size} bytes, too few for a GGUF header`);
    if (this.utf8.decode(this.bytes.subarray(0, 4)) !== 'GGUF') throw this.source.bad('does not start with "GGUF"');
    this.at = 4;
    const version = this.u32('version');
    if (version !== 2 && version !== 3) {
      throw this.source.bad(
        version > 0xffff ? 'is a big-endian GGUF, which is not supported' : `GGUF version ${version} is not supported`,
      );
    }
    const tensorCount = this.count('tensor count', 32, MAX_ENTRIES);
    const metadataCount = this.count('metadata count', 13, MAX_ENTRIES);
    const metadata = new Map<string, GgufValue>();
    for (let i = 0; i < metadataCount; i++) {
      const key = this.string(`key of metadatum ${i}`, MAX_NAME);
      if (metadata.has(key)) throw this.source.bad(`metadatum ${quoted(key)} occurs twice`);
      metadata.set(key, this.value(key, this.u32(quoted(key))));
    }
    const alignment = metadata.get('general.alignment') ?? 32;
    if (typeof alignment !== 'number' || alignment < 8 || alignment > 65536 || (alignment & (alignment - 1)) !== 0) {
      throw this.source.bad('general.alignment is not a power of two from 8 to 65536');
    }
    const table: [string, GgufTensor][] = [];
    for (let i = 0; i < tensorCount; i++) table.push(this.tensor(i));
    const start = Math.ceil(this.at / alignment) * alignment;
    return { metadata, tensors: this.placed(table, start, alignment) };
  }

  /** Turns offsets into file offsets; each tensor must lie inside the file and beside the others. */
  private placed(table: [string, GgufTensor][], start: number, alignment: number): Map<string, GgufTensor> {
    const tensors = new Map<string, GgufTensor>();
    for (const [name, { offset, ...rest }] of table) {
      if (tensors.has(name)) throw this.source.bad(`tensor ${quoted(name)} occurs twice`);
      if (offset % alignment !== 0) throw this.source.bad(`tensor ${quoted(name)} is not aligned to ${alignment}`);
      const end = start + offset + rest.bytes;
      if (end > this.source.size) {
        throw this.source.bad(
          `tensor ${quoted(name)} ends at byte ${end}, the file at ${this.source.size}: it was cut off or is damaged`,
        );
      }
      tensors.set(name, { ...rest, offset: start + offset });
    }
    let end = start;
    for (const [name, tensor] of [...tensors].sort((a, b) => a[1].offset - b[1].offset)) {
      if (tensor.offset < end) throw this.source.bad(`tensor ${quoted(name)} overlaps another`);
      end = tensor.offset + tensor.bytes;
    }
    return tensors;
  }

  private tensor(index: number): [string, GgufTensor] {
    const name = this.string(`name of tensor ${index}`, MAX_NAME);
    const count = this.u32(quoted(name));
    if (count < 1 || count > 4) throw this.source.bad(`tensor ${quoted(name)} has ${count} dimensions`);
    const dimensions: number[] = [];
    let elements = 1;
    for (let i = 0; i < count; i++) {
      const size = this.u64(quoted(name));
      elements *= size;
      if (size < 1 || !Number.isSafeInteger(elements)) {
        throw this.source.bad(`tensor ${quoted(name)} has an impossible shape`);
      }
      dimensions.push(size);
    }
    const id = this.u32(quoted(name));
    const type = ggmlType(id);
    if (!type) throw this.source.bad(`tensor ${quoted(name)} has type ${id}, which GGUF does not define or no longer`);
    if (dimensions[0]! % type.blockElements !== 0) {
      throw this.source.bad(`tensor ${quoted(name)}: rows of ${dimensions[0]!} are not whole ${type.name} blocks`);
    }
    const offset = this.u64(quoted(name));
    const bytes = (elements / type.blockElements) * type.blockBytes;
    if (bytes > this.source.size) throw this.source.bad(`tensor ${quoted(name)} is larger than the file`);
    return [name, { dimensions, type, offset, bytes }];
  }

  private value(key: string, type: number): GgufValue {
    if (type === STRING) return this.string(quoted(key), MAX_STRING);
    if (type !== ARRAY) return this.scalar(key, type);
    const elementType = this.u32(quoted(key));
    if (elementType === ARRAY) throw this.source.bad(`metadatum ${quoted(key)} is an array of arrays`);
    const elementBytes = elementType === STRING ? 8 : SCALAR_BYTES[elementType];
    if (elementBytes === undefined) throw this.unknownType(key, elementType);
    const count = this.count(`length of ${quoted(key)}`, elementBytes, MAX_ELEMENTS);
    const values: (string | number | boolean)[] = [];
    for (let i = 0; i < count; i++) {
      values.push(elementType === STRING ? this.string(quoted(key), MAX_STRING) : this.scalar(key, elementType));
    }
    return values as string[] | number[] | boolean[];
  }

  private scalar(key: string, type: number): number | boolean {
    const length = SCALAR_BYTES[type];
    if (length === undefined) throw this.unknownType(key, type);
    const at = this.take(length, quoted(key));
    switch (type) {
      case 0:
        return this.view.getUint8(at);
      case 1:
        return this.view.getInt8(at);
      case 2:
        return this.view.getUint16(at, true);
      case 3:
        return this.view.getInt16(at, true);
      case 4:
        return this.view.getUint32(at, true);
      case 5:
        return this.view.getInt32(at, true);
      case 6:
        return this.view.getFloat32(at, true);
      case 7:
        return this.view.getUint8(at) !== 0;
      case 10:
        return Number(this.view.getBigUint64(at, true));
      case 11:
        return Number(this.view.getBigInt64(at, true));
      default:
        return this.view.getFloat64(at, true);
    }
  }

  private unknownType(key: string, type: number): Error {
    return this.source.bad(`metadatum ${quoted(key)} has unknown type ${type}`);
  }

  private string(what: string, limit: number): string {
    const length = this.u64(what);
    if (length > limit) throw this.source.bad(`${what}: a text of ${length} bytes at byte ${this.at} is too long`);
    const at = this.take(length, what);
    return this.utf8.decode(this.bytes.subarray(at, at + length));
  }

  /** A count of things of at least `least` bytes each: more than the rest of the file could hold is a lie. */
  private count(what: string, least: number, limit: number): number {
    const count = this.u64(what);
    if (count > limit || count * least > this.source.size - this.at) {
      throw this.source.bad(`${what} ${count} at byte ${this.at - 8} is more than the file can hold`);
    }
    return count;
  }

  private u32(what: string): number {
    return this.view.getUint32(this.take(4, what), true);
  }

  private u64(what: string): number {
    return Number(this.view.getBigUint64(this.take(8, what), true));
  }

  /** Where `length` bytes begin; moves past them. */
  private take(length: number, what: string): number {
    const at = this.at;
    if (at + length > this.source.size) throw this.source.bad(`ends in its header (${what}, byte ${at})`);
    if (at + length > this.bytes.length) throw new NeedMore();
    this.at = at + length;
    return at;
  }
}
