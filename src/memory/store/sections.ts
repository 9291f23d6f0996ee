/** Arrays one after another in the bytes of a value, each at a multiple of 8. Never knows what they mean. */

export interface Sections {
  readonly offsets: readonly number[];
  /** In bytes. */
  readonly lengths: readonly number[];
  /** From where on they lie. */
  readonly start: number;
  /** Where the last one ends. */
  readonly end: number;
}

/** Where sections of these lengths in bytes lie, the first at the next multiple of 8 from `start` on. */
export function placeSections(lengths: readonly number[], start: number): Sections {
  let end = start;
  const offsets = lengths.map(length => {
    const offset = Math.ceil(end / 8) * 8;
    end = offset + length;
    return offset;
  });
  return { offsets, lengths, start, end };
}

/** Copies arrays to their sections. Throws `RangeError` if one is not as long as its section (a bug of the caller). */
export function writeSections(
  payload: Uint8Array,
  { offsets, lengths }: Sections,
  arrays: readonly ArrayBufferView[],
): void {
  arrays.forEach((array, at) => {
    if (array.byteLength !== lengths[at]) {
      throw new RangeError(`Section ${at} has ${array.byteLength} bytes where its shape asks for ${lengths[at]}.`);
    }
    payload.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), offsets[at]);
  });
}

/** Views on the sections of a payload, one after another; the payload begins at a multiple of 8. */
export class SectionReader {
  private next = 0;

  constructor(
    private readonly payload: Uint8Array,
    private readonly sections: Sections,
  ) {}

  bytes(): Uint8Array {
    return new Uint8Array(...this.section(1));
  }

  int8(): Int8Array {
    return new Int8Array(...this.section(1));
  }

  uint16(): Uint16Array {
    return new Uint16Array(...this.section(2));
  }

  uint32(): Uint32Array {
    return new Uint32Array(...this.section(4));
  }

  float32(): Float32Array {
    return new Float32Array(...this.section(4));
  }

  private section(bytesPerElement: number): [ArrayBuffer, number, number] {
    const at = this.next++;
    const { offsets, lengths } = this.sections;
    const offset = this.payload.byteOffset + offsets[at]!;
    return [this.payload.buffer as ArrayBuffer, offset, lengths[at]! / bytesPerElement];
  }
}
