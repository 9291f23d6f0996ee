/** The floors of the recall score in a memory of other size than theirs. */
import assert from 'node:assert/strict';
import { atMemorySize } from '../../src/engine/recall-floor.js';

suite('floors of the recall score', () => {
  const parameters = { weight: [1, 2], nullWeight: [0, 1], lengthExponent: [0.5, 1], logFloor: [-8, -4] };
  const floorsAt = (slots: number): number[] => atMemorySize(parameters, slots).logFloor.map(Math.exp);
  const near = (values: readonly number[], expected: readonly number[]): void =>
    values.forEach((value, at) =>
      assert.ok(Math.abs(value / expected[at]! - 1) < 1e-9, `${value}, not ${expected[at]}`),
    );

  test('are what they say in one of 3,000 slots, and go with the mass that a softmax leaves a slot', () => {
    near(floorsAt(3000), [Math.exp(-8), Math.exp(-4)]);
    near(floorsAt(300_000), [Math.exp(-8) / 100, Math.exp(-4) / 100]);
    near(floorsAt(30), [Math.exp(-8) * 100, Math.exp(-4) * 100]);
    assert.deepEqual({ ...atMemorySize(parameters, 7), logFloor: [] }, { ...parameters, logFloor: [] });
    assert.ok(floorsAt(0).every(Number.isFinite), 'an empty memory');
  });
});
