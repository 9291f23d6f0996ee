/** Names of code that a model made up: which words count as such, and how they are struck out. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { checkNames } from '../../src/assist/names.js';

const text = 'export class RetryPolicy {\n  max_tries = 3;\n  async runOnce(fn) {}\n}\n';

suite('names in an answer', () => {
  test('known names, plain words and proper names are left alone', () => {
    for (const answer of [
      '`RetryPolicy` has `max_tries`, and `policy.runOnce(fn)` runs it.',
      'An `Error`, `null`, `parse` and `x` may be of the language.',
      'JavaScript and TypeScript, GitHub and eBay, iPhone and LaTeX.',
      'See `npm run build` and `--no-verify`, https://example.com/some_page and a/b_c.d, b_c.d or x-y_z.',
      '```js\nmade_up(madeUp);\n```',
    ]) {
      assert.deepEqual(checkNames(answer, [], [text]), { text: answer, unknown: [] });
    }
  });

  test('others are struck out, the first time with the reason', () => {
    const { text: checked, unknown } = checkNames(
      '`retryCount` or `max_retries` or retry_all, `retryCount`.',
      [],
      [text],
    );
    const why = '(not in the files recalled)';
    assert.equal(checked, `~~retryCount~~ ${why} or ~~max_retries~~ ${why} or ~~retry_all~~ ${why}, ~~retryCount~~.`);
    assert.deepEqual(unknown, ['retryCount', 'max_retries', 'retry_all']);
  });

  test('places that were checked, and what is struck out already, are not names', () => {
    const answer = 'In `made_up/file_name.py:3`, not ~~other_file.py:9~~ (no such file).';
    assert.deepEqual(checkNames(answer, ['`made_up/file_name.py:3`'], [text]), { text: answer, unknown: [] });
  });

  test('any text: only marks are added, and checking twice changes nothing', () => {
    const piece = fc.constantFrom(
      '`',
      '~~',
      '```\n',
      '\n',
      ' ',
      'made_up',
      'madeUp',
      'RetryPolicy',
      '(x)',
      '.',
      'ok',
      ':3',
    );
    const property = fc.property(fc.array(piece, { maxLength: 16 }), pieces => {
      const answer = pieces.join('');
      const checked = checkNames(answer, [], [text]);
      const bare = (value: string): string => value.replaceAll(' (not in the files recalled)', '').replace(/[`~]/g, '');
      assert.equal(bare(checked.text), bare(answer));
      assert.equal(checkNames(checked.text, [], [text]).text, checked.text);
    });
    fc.assert(property, { seed: 20261130, numRuns: 3000 });
  });
});
