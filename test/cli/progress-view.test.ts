/** Progress: amounts, and the rows that live text takes. Right values from arithmetic, written out. */
import assert from 'node:assert/strict';
import { rowsOf } from '../../src/cli/live-text.js';
import { amount } from '../../src/cli/progress-view.js';

suite('cli progress', () => {
  test('amounts carry their unit', () => {
    assert.equal(amount({ task: '', done: 1_200_000, total: 3_000_000, unit: 'bytes' }), '1.2 MB of 3.0 MB');
    assert.equal(amount({ task: '', done: 1200, total: 4000, unit: 'tokens' }), '1,200 of 4,000 tokens');
    assert.equal(amount({ task: '', done: 7, unit: 'files' }), '7 files');
  });

  test('rows of a text on a terminal: wrapped lines, empty lines, wide characters', () => {
    assert.equal(rowsOf('', 80), 1);
    assert.equal(rowsOf('one\n\nthree', 80), 3);
    assert.equal(rowsOf('x'.repeat(80), 80), 1);
    assert.equal(rowsOf('x'.repeat(81), 80), 2);
    assert.equal(rowsOf('文'.repeat(41), 80), 2, '82 columns');
  });
});
