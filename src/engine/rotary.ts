/** Rotations of positions, computed in double precision so that position 1,000,000 is as exact as position 1. Pure. */

/** cos and sin of some positions, float32 [rows,d/2]. */
export interface Rotation {
  readonly rows: number;
  /** 0..rows-1. */
  readonly indices: readonly number[];
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/** Rotation of `rows` positions from `first`; `step` 0 repeats one position. */
export function rotationOf(frequencies: readonly number[], first: number, rows: number, step: 0 | 1 = 1): Rotation {
  const half = frequencies.length;
  const cos = new Float32Array(rows * half);
  const sin = new Float32Array(rows * half);
  for (let row = 0; row < rows; row++) {
    const position = first + row * step;
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i]!;
      cos[row * half + i] = Math.cos(angle);
      sin[row * half + i] = Math.sin(angle);
    }
  }
  return { rows, indices: Array.from({ length: rows }, (_, row) => row), cos, sin };
}

/** Rotates rows of adjacent pairs in place; x [rows,d] against one rotation row. */
export function rotateRows(x: Float32Array, rotation: Rotation): void {
  const half = rotation.cos.length / rotation.rows;
  for (let start = 0; start < x.length; start += 2 * half) {
    for (let i = 0; i < half; i++) {
      const [even, odd] = [x[start + 2 * i]!, x[start + 2 * i + 1]!];
      x[start + 2 * i] = even * rotation.cos[i]! - odd * rotation.sin[i]!;
      x[start + 2 * i + 1] = even * rotation.sin[i]! + odd * rotation.cos[i]!;
    }
  }
}
