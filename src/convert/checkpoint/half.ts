/** IEEE 754 binary16 to float32, exactly. Never rounds: every half is a float32. */

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
