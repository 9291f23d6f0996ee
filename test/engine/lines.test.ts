/** Which line a token lies on, for tokens of any length. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { linesOfTokens } from '../../src/engine/lines.js';

/** Lines of the tokens, which laid end to end are the text. */
function lines(tokens: readonly string[]): number[] {
  let end = 0;
  const ends = Uint32Array.from(tokens, token => (end += token.length));
  return [...linesOfTokens(tokens.join(''), ends)];
}

suite('lines of tokens', () => {
  test('by hand', () => {
    assert.deepEqual(lines([]), []);
    assert.deepEqual(lines(['one']), [1]);
    assert.deepEqual(lines(['a', '\n', 'b']), [1, 2, 2]);
    // White space at its front does not move a token.
    assert.deepEqual(lines(['a', '\n  b', '\n\n', 'c']), [1, 2, 4, 4]);
    // A token over several lines lies where its first character is.
    assert.deepEqual(lines(['a\nb\nc', ' d']), [1, 3]);
    assert.deepEqual(lines(['a', '\r\n', 'b', '\r', '\n', 'c']), [1, 2, 2, 2, 3, 3]);
    // White space that ends the text lies on the line of its last character.
    assert.deepEqual(lines(['x', '\n\n']), [1, 2]);
    assert.deepEqual(lines(['x', '\n', '   ']), [1, 2, 2]);
    assert.deepEqual(lines(['\n', '\n', '\n']), [2, 3, 3]);
  });

  test('tokens that end inside a character lie where it begins', () => {
    // Four byte tokens of one character: the first three end at its start (tokenizer.ts, `ends`).
    assert.deepEqual([...linesOfTokens('a\n😀\nb', Uint32Array.of(1, 2, 2, 2, 2, 4, 5, 6))], [1, 2, 2, 2, 2, 2, 3, 3]);
  });

  test('any tokens: one more than the breaks before its first character that is not white space, or what follows', () => {
    const token = fc.array(fc.constantFrom('a', 'é', ' ', '\t', '\n', '\r\n'), { minLength: 1, maxLength: 5 });
    const property = fc.property(
      fc.array(
        token.map(parts => parts.join('')),
        { maxLength: 12 },
      ),
      tokens => {
        const text = tokens.join('');
        let start = 0;
        const expected = tokens.map(own => {
          const blank = /^\s*/.exec(own)![0].length;
          const place = Math.min(start + blank, text.length - 1);
          start += own.length;
          return text.slice(0, place).split('\n').length;
        });
        assert.deepEqual(lines(tokens), expected);
      },
    );
    fc.assert(property, { seed: 1, numRuns: 1000 });
  });
});
