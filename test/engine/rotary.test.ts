/** Rotations at small and at very large positions, against powers of complex numbers, which never form the large angle. */
import assert from 'node:assert/strict';
import { rotateRows, rotationOf } from '../../src/engine/rotary.js';
import { assertClose } from '../oracle/golden.js';
import { llamaFrequencies } from '../reference/rotary.js';
import { seededRandom } from '../reference/tiny-model.js';
import { dot } from '../reference/vectors.js';

const frequencies = [...llamaFrequencies(64, 100_000)];

/** exp(i·frequency)^position by squaring: off by some position x 1e-16. */
function power(frequency: number, position: number): [cos: number, sin: number] {
  const times = ([a, b]: readonly number[], [c, d]: readonly number[]): [number, number] => [
    a! * c! - b! * d!,
    a! * d! + b! * c!,
  ];
  let [result, base]: [number, number][] = [
    [1, 0],
    [Math.cos(frequency), Math.sin(frequency)],
  ] as [[number, number], [number, number]];
  for (let rest = position; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = times(result, base);
    base = times(base, base);
  }
  return result;
}

suite('rotary positions', () => {
  test('by hand', () => {
    const { cos, sin, rows, indices } = rotationOf([Math.PI / 2, Math.PI], 1, 2);
    assert.deepEqual([rows, indices], [2, [0, 1]]);
    assertClose('cos', cos, [0, -1, -1, 1], 1e-7);
    assertClose('sin', sin, [1, 0, 0, 0], 1e-6);
  });

  test('as exact at 1,000,000 as at 1: half a unit in the last place of float32', () => {
    for (const position of [0, 1, 511, 65_537, 1_000_000]) {
      const { cos, sin } = rotationOf(frequencies, position, 3);
      for (let row = 0; row < 3; row++) {
        const expected = frequencies.map(frequency => power(frequency, position + row));
        const own = (values: Float32Array) => values.subarray(row * 32, (row + 1) * 32);
        const off = 2 ** -25 + 1e-9;
        assertClose(
          `cos ${position}`,
          own(cos),
          expected.map(([value]) => value),
          off,
        );
        assertClose(
          `sin ${position}`,
          own(sin),
          expected.map(([, value]) => value),
          off,
        );
      }
    }
  });

  test('step 0 repeats the first position', () => {
    const repeated = rotationOf(frequencies, 1024, 3, 0);
    const { cos, sin } = rotationOf(frequencies, 1024, 1);
    assert.deepEqual([...repeated.cos], [...cos, ...cos, ...cos]);
    assert.deepEqual([...repeated.sin], [...sin, ...sin, ...sin]);
    assert.equal(rotationOf(frequencies, 5, 0).cos.length, 0);
  });

  test('rows turn by one rotation, pair by pair, in place', () => {
    // A quarter turn takes (x, y) to (-y, x); half a turn negates.
    const rows = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    rotateRows(rows, rotationOf([Math.PI / 2, Math.PI], 1, 1));
    assertClose('rows', rows, [-2, 1, -3, -4, -6, 5, -7, -8], 1e-5);
  });

  test('inner products depend on distance alone, far from 0 too', () => {
    const random = seededRandom(1);
    const vector = () => Float32Array.from({ length: 64 }, () => random() * 2 - 1);
    const at = (x: Float32Array, position: number): Float32Array => {
      const rotated = x.slice();
      rotateRows(rotated, rotationOf(frequencies, position, 1));
      return rotated;
    };
    const [q, k] = [vector(), vector()];
    for (const distance of [0, 1, 100, 1024]) {
      const near = dot(at(q, distance), at(k, 0));
      const far = dot(at(q, 1_000_000 + distance), at(k, 1_000_000));
      assertClose(`distance ${distance}`, [far], [near], 1e-5);
    }
  });
});
