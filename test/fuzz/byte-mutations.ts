/** Changes of bytes that know little or nothing of what the bytes mean. Every change says what it did. */
import type { Random } from './random.js';

export interface Mutated {
  readonly bytes: Buffer;
  readonly did: string;
}

/** An integer of a header. */
export interface Field {
  readonly at: number;
  readonly bytes: number;
}

/** What sizes, counts and offsets are set to. */
export const HOSTILE_INTEGERS: readonly bigint[] = [
  0n,
  1n,
  7n,
  255n,
  65_536n,
  (1n << 31n) - 1n,
  1n << 31n,
  (1n << 32n) - 1n,
  1n << 32n,
  (1n << 53n) + 1n,
  1n << 62n,
  1n << 63n,
  (1n << 64n) - 1n,
];

export function setField(bytes: Buffer, { at, bytes: length }: Field, value: bigint): Mutated {
  const copy = Buffer.from(bytes);
  const wide = Buffer.alloc(8);
  wide.writeBigUInt64LE(BigInt.asUintN(64, value));
  wide.copy(copy, at, 0, length);
  return { bytes: copy, did: `bytes ${at} to ${at + length} = ${value}` };
}

/** `fields` are likelier to be hit than other bytes; changes fall into the first `reach` bytes. */
export function mutateBytes(original: Buffer, random: Random, fields: readonly Field[], reach: number): Mutated {
  let bytes = Buffer.from(original);
  const did: string[] = [];
  const rounds = random.pick([1, 1, 1, 2, 3, 8]);
  for (let i = 0; i < rounds; i++) {
    const change = changeOnce(bytes, random, fields, Math.min(reach, bytes.length));
    bytes = Buffer.from(change.bytes);
    did.push(change.did);
  }
  return { bytes, did: did.join('; ') };
}

function changeOnce(bytes: Buffer, random: Random, fields: readonly Field[], reach: number): Mutated {
  const at = random.below(Math.max(1, reach));
  const length = Math.min(1 + random.below(random.pick([4, 40, 400])), bytes.length - at);
  const copy = Buffer.from(bytes);
  switch (random.below(8)) {
    case 0:
    case 1: {
      const bit = random.below(8);
      if (at < copy.length) copy[at]! ^= 1 << bit;
      return { bytes: copy, did: `bit ${bit} of byte ${at}` };
    }
    case 2:
      for (let i = at; i < at + length; i++) copy[i] = random.below(256);
      return { bytes: copy, did: `${length} random bytes at ${at}` };
    case 3:
      return { bytes: Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]), did: `-${length} at ${at}` };
    case 4: {
      const from = random.below(Math.max(1, reach));
      const piece = bytes.subarray(from, from + length);
      return {
        bytes: Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]),
        did: `+${piece.length} bytes of ${from} at ${at}`,
      };
    }
    case 5:
      return { bytes: bytes.subarray(0, at), did: `cut at ${at}` };
    default: {
      const usable = fields.filter(field => field.at + field.bytes <= bytes.length);
      if (usable.length === 0) return { bytes: copy, did: 'nothing' };
      return setField(bytes, random.pick(usable), random.pick(HOSTILE_INTEGERS));
    }
  }
}
