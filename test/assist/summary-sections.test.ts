/** What a section is called: the name that it defines; a call defines nothing. */
import assert from 'node:assert/strict';
import { sectionsOf } from '../../src/assist/summary-sections.js';

suite('sections of a summary', () => {
  const namesOf = (path: string, text: string): (string | undefined)[] =>
    sectionsOf(path, text.split('\n')).map(section => section.name);

  test('functions, classes and variables have names', () => {
    assert.deepEqual(namesOf('a.js', 'function main(args) {\n  run(args);\n  return 1;\n}'), ['main']);
    assert.deepEqual(namesOf('a.py', 'def wait(seconds):\n    time.sleep(seconds)\n    return seconds'), ['wait']);
    assert.deepEqual(namesOf('a.ts', 'export const limit = (x: number) => {\n  return x;\n};'), ['limit']);
  });

  test('calls have none, alone or handed a function', () => {
    assert.deepEqual(namesOf('a.js', 'main(process.argv);'), [undefined]);
    assert.deepEqual(namesOf('a.js', 'readAll(reader, 4, function (err) {\n  if (err) throw err;\n  done();\n});'), [
      undefined,
    ]);
    assert.deepEqual(namesOf('a.ts', 'suite.each(list, item => {\n  check(item);\n  check(item);\n});'), [undefined]);
  });
});
