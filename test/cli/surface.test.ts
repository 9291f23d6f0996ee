/** What goes to a terminal: names and texts of files never steer it. */
import assert from 'node:assert/strict';
import { printable } from '../../src/cli/surface.js';

suite('surface', () => {
  test('control characters are replaced, lines and tabs stay', () => {
    assert.equal(printable('a\u001b[31mred\u0007\u009b\r\n\tb'), 'a\ufffd[31mred\ufffd\ufffd\ufffd\n\tb');
    assert.equal(printable('naïve 🙂 名'), 'naïve 🙂 名');
  });
});
