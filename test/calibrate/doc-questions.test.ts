/** Doc comment → function, in four languages; the right values are read off the small sources by hand. */
import assert from 'node:assert/strict';
import { docQuestions } from '../../src/calibrate/index.js';

/** Name, lines in the text without comments, and the question of each function. */
function found(path: string, source: string): (readonly [string, number, number, string | undefined])[] {
  const { functions, questions } = docQuestions(path, source)!;
  return functions.map(({ name, startLine, endLine }, at) => [
    name,
    startLine,
    endLine,
    questions.find(question => question.function === at)?.sentence,
  ]);
}

suite('questions from doc comments', () => {
  test('Python: docstrings go, also those of modules and classes; a body that is only a docstring stays', () => {
    const source = [
      '"""Module text that must not be seen."""',
      'class Box:',
      '    """A box."""',
      '    def put(',
      '        self, item,',
      '    ):',
      '        """Stores one item in the box for later. More text.',
      '',
      '        :param item: what',
      '        """',
      '        self.items.append(item)',
      '        return self',
      '',
      '    def later(self):',
      '        """Is written by somebody else one day."""',
      '',
      'def short(): return 1',
    ].join('\n');
    const { text } = docQuestions('box.py', source)!;
    assert.ok(!text.includes('must not be seen') && !text.includes('A box') && !text.includes('Stores'));
    assert.ok(text.includes('Is written by somebody else'));
    assert.deepEqual(found('box.py', source), [
      ['put', 2, 6, 'Stores one item in the box for later.'],
      ['later', 8, 9, undefined],
      ['short', 11, 11, undefined],
    ]);
  });

  test('TypeScript: JSDoc over functions, methods and arrow functions; decorators may stand between', () => {
    const source = [
      '/** Gives the sum of all the numbers in the list. */',
      'export function total(list: number[]): number {',
      '  let sum = 0;',
      '  for (const n of list) sum += n;',
      '  return sum;',
      '}',
      'class A {',
      '  /**',
      '   * Tells every listener that something has changed.',
      '   * @param what the thing',
      '   */',
      '  @bound()',
      '  protected async notify(what: string): Promise<void> {',
      '    if (this.closed) return;',
      '    await this.tell(what);',
      '  }',
      '}',
      '/** Uses total in its own words here. */',
      'const total = (x) => {',
      '  return x;',
      '};',
    ].join('\r\n');
    assert.deepEqual(found('a.ts', source), [
      ['total', 1, 5, 'Gives the sum of all the numbers in the list.'],
      ['notify', 8, 11, 'Tells every listener that something has changed.'],
      ['total', 13, 15, undefined],
    ]);
  });

  test('Go: the name is taken from the front of the sentence', () => {
    const source = [
      'package a',
      '',
      '// Dial opens a connection to the given address.',
      '// It may block.',
      'func (d *Dialer) Dial(addr string) (*Conn, error) {',
      '\tif addr == "" {',
      '\t\treturn nil, errEmpty',
      '\t}',
      '\treturn d.open(addr)',
      '}',
    ].join('\n');
    assert.deepEqual(found('a.go', source), [['Dial', 3, 8, 'Opens a connection to the given address.']]);
  });

  test('Rust: attributes may stand between; a signature over several lines belongs to its function', () => {
    const source = [
      '/// Returns the first byte that was not yet read.',
      '///',
      '/// # Panics',
      '#[inline]',
      'pub fn peek<T>(',
      '    &self,',
      ') -> Option<T> {',
      '    self.rest.first()',
      '}',
      '',
      'fn other() {}',
    ].join('\n');
    assert.deepEqual(found('a.rs', source), [
      ['peek', 2, 6, 'Returns the first byte that was not yet read.'],
      ['other', 8, 8, undefined],
    ]);
  });

  test('other files give nothing, and an unfinished docstring or comment is no end', () => {
    assert.equal(docQuestions('notes.md', '# Notes'), undefined);
    assert.deepEqual(found('b.py', 'def open(self):\n    """never closed\n    x = 1\n'), [['open', 1, 3, undefined]]);
    assert.deepEqual(found('b.ts', '/** never closed\nfunction a() {\n  return 1;\n}\n').length, 1);
  });
});
