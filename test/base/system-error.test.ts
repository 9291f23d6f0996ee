/** Errors of the system as advice; those that say what to do already, and bugs, stay as they are. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { LongviewError, advised, codeOf, messageOf } from '../../src/base/index.js';

suite('system errors', () => {
  const caught = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return error;
    }
  };

  test('the path and what to do, without the raw text; the code stays', () => {
    const missing = advised(caught(() => readFileSync('/nowhere/a.txt')));
    assert.equal(messageOf(missing), '/nowhere/a.txt is not there (any more): check the name and try again.');
    assert.equal(codeOf(missing), 'not-found');
    const folder = advised(
      Object.assign(new Error('EISDIR: illegal operation on a directory, read'), { code: 'EISDIR' }),
    );
    assert.equal(messageOf(folder), 'A file is a folder where a file is needed.');
  });

  test('a path that is too long is cut, so that the advice is still read', () => {
    const long = caught(() => statSync(`/${'a'.repeat(300)}`));
    assert.match(messageOf(advised(long)), /^\/a{159}… is too long a name for this disk\.$/);
  });

  test('what is no error of the system stays as it is', () => {
    for (const error of [new LongviewError('usage', 'Name one.'), new TypeError('x is undefined'), 'text', undefined]) {
      assert.equal(advised(error), error);
    }
  });
});
