/** IEEE 754 binary16 ⇄ float32: every half is a float32, exactly; the other way rounds to the nearest, ties to even. */

let table: Float32Array | undefined;

/** The value of the 16 bits. */
export function halfToFloat(bits: number): number {
  table ??= build();
  return table[bits]!;
}

function build(): Float32Array {
  const values = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) values[bits] = fraction === 0 ? sign * Infinity : NaN;
    else if (exponent === 0) values[bits] = sign * fraction * 2 ** -24;
    else values[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return values;
}

/** The nearest halves; undefined where a value is beyond them (65,520 or more, or not a number). */
export function floatsToHalves(values: Float32Array): Uint16Array | undefined {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const sign = (bits[i]! >>> 16) & 0x8000;
    const size = bits[i]! & 0x7fff_ffff;
    if (size >= SMALLEST_BEYOND) return undefined;
    if (size < SMALLEST_NORMAL) {
      // Beside a half, float32 has steps of 2^-24, which are those of subnormal halves: the addition rounds.
      sum[0] = Math.abs(values[i]!) + 0.5;
      halves[i] = sign | (sumBits[0]! - ONE_HALF);
    } else {
      halves[i] = sign | ((size - REBIAS + 0xfff + ((size >>> 13) & 1)) >>> 13);
    }
  }
  return halves;
}

const sum = new Float32Array(1);
const sumBits = new Uint32Array(sum.buffer);
/** Bits of 0.5, of 2^-14, of 65,520 (halfway between the largest half and 2^16). */
const ONE_HALF = 0x3f00_0000;
const SMALLEST_NORMAL = 0x3880_0000;
const SMALLEST_BEYOND = 0x477f_f000;
/** From float32's exponent (bias 127) to half's (15). */
const REBIAS = (127 - 15) << 23;
