/** Names in a line of text: what would break it is written out, all else stays. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { escaped } from '../../src/base/index.js';

suite('escaped names', () => {
  test('line ends, tabs, escapes, C1 controls, separators, marks of direction', () => {
    assert.equal(escaped('a\nb\r\tc'), 'a\\nb\\r\\tc');
    assert.equal(escaped('\u001b[31m\u009b1m\u0000'), '\\u001b[31m\\u009b1m\\u0000');
    assert.equal(escaped('x\u2028y\u202ez\u2066'), 'x\\u2028y\\u202ez\\u2066');
    assert.equal(escaped('naïve 名.ts'), 'naïve 名.ts');
  });

  test('whatever it is given stands on one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => escaped(text).split(/[\r\n\u2028\u2029]/).length === 1),
    );
  });
});
