/** How figures are worded. The right values are written out by hand from the rules in text.ts. */
import assert from 'node:assert/strict';
import { count, duration, plural, size } from '../../src/cli/text.js';

suite('cli text', () => {
  test('sizes are decimal and have two figures at least', () => {
    const golden: [number, string][] = [
      [0, '0 bytes'],
      [999, '999 bytes'],
      [1000, '1.0 KB'],
      [9949, '9.9 KB'],
      [113_500_000, '114 MB'],
      [999_600, '1.0 MB'],
      [3_400_000_000, '3.4 GB'],
    ];
    for (const [bytes, text] of golden) assert.equal(size(bytes), text);
  });

  test('durations change unit where the next one reads better', () => {
    const golden: [number, string][] = [
      [0, '0 ms'],
      [450.4, '450 ms'],
      [999, '999 ms'],
      [3400, '3.4 s'],
      [9960, '10 s'],
      [59_400, '59 s'],
      [125_000, '2 min 5 s'],
      [3_780_000, '1 h 3 min'],
    ];
    for (const [milliseconds, text] of golden) assert.equal(duration(milliseconds), text);
  });

  test('counts and plurals', () => {
    assert.equal(count(1234567), '1,234,567');
    assert.equal(plural(1, 'slot'), '1 slot');
    assert.equal(plural(0, 'slot'), '0 slots');
  });
});
