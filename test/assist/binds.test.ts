/** Where a text gives a name a meaning of its own. The right value of each case is what the language itself says of `userName`. */
import assert from 'node:assert/strict';
import { bindsAnywhere } from '../../src/assist/binds.js';
import type { Family } from '../../src/memory/index.js';

const bound: readonly [Family, ...string[]][] = [
  [
    'script',
    'function Card({ label, userName }) {\n  return userName;\n}',
    'const Card = ({ userName }: Props) => userName;',
    'class A {\n  constructor(\n    private readonly store: Store<string, number>,\n    userName: string,\n  ) {\n',
    'function each(call: (x: number) => void, userName?: string): void {\n',
    'const { a = 1, userName } = options;',
    'const { id: userName } = options;',
    'const [userName, setUserName] = useState();',
    'names.map(userName => userName.length)',
    'for (const [, userName] of entries) {\n',
    'try {\n} catch (userName) {\n',
    'function outer() {\n  function userName() {}\n',
    'let a, userName;',
  ],
  [
    'python',
    'def greet(\n    request: Request,\n    userName: str = read(),\n):\n',
    'short = [userName.upper() for userName in names]',
    'first, userName = split(line)',
    'with open(path) as userName:\n',
    'key = lambda a, userName: a',
    'userName: str = "x"',
    'def outer():\n    def userName():\n',
  ],
  [
    'go',
    'func greet(w io.Writer, userName string) error {\n',
    'func (s *Server) greet(userName, other string) {\n',
    '\t_, userName := parts(line)\n',
    '\tif userName, ok := names[id]; ok {\n',
    '\tfor i, userName := range names {\n',
    '\tvar other, userName string\n',
  ],
  [
    'rust',
    'fn greet(id: u32, userName: &str) {\n',
    '    if let Some(userName) = names.get(0) {\n',
    '    let (id, userName) = split(line);\n',
    '    names.iter().map(|userName| userName.len())',
    '        Some(userName) => userName,\n',
  ],
  [
    'curly',
    'void greet(final String userName, int times) {\n',
    '    List<String> userName = names();\n',
    '    for (String userName : names) {\n',
    'names.Select(userName => userName.Length)',
    'fun greet(id: Int, userName: String) {\n',
  ],
  ['c', 'static int greet(const char *userName, int times) {\n', '  char userName[20];\n', '  std::string userName;\n'],
];

const free: readonly [Family, ...string[]][] = [
  [
    'script',
    'greet(userName);',
    'if (isKnown(userName)) {\n',
    'while (userName) {\n',
    'const all: Record<string, userName> = {};',
    'function greet(id: number, kind: userName): userName {\n',
    'function greet(all: Map<string, userName>, { id }: { id: userName }) {\n',
    'function greet(id = userName) {\n',
    'return cache[userName] = 3;',
    'other.userName = 3;',
    'const { id } = userName;',
    'items.forEach(item => greet(item, userName));',
    'setUp(() => {\n  greet(userName)\n})',
    'for (const name of userName) {\n',
    'class Admin extends userName {\n',
    'const userNames = 1; const theuserName = 2;',
  ],
  ['python', 'greet(userName)', 'greet(id, userName=3)', 'for name in userName:\n', 'if greet(userName):\n'],
  [
    'go',
    'func greet(w io.Writer) (userName, error) {\n',
    'func greet(a, b userName) {\n',
    'if err := greet(userName); err != nil {\n',
    'for _, x := range all(userName) {\n',
    'var config userName\n',
  ],
  ['rust', 'match greet(userName) {\n', 'fn greet(kind: userName) {\n', 'let x = a | userName;'],
  ['curly', 'return userName;', 'userName options = new userName();', 'void greet(userName options) {\n'],
  ['c', 'int x = y * userName;', 'if (flags & userName) {\n', 'return userName;', 'userName *options = 0;'],
  ['prose', 'let userName = 3;'],
];

suite('a name that a text binds', () => {
  test('declared, assigned, looped over, a parameter, taken apart', () => {
    for (const [family, ...texts] of bound)
      for (const text of texts) assert.equal(bindsAnywhere('userName', text, family), true, `${family}: ${text}`);
  });

  test('not by being used, called with, imported from, or a type', () => {
    for (const [family, ...texts] of free)
      for (const text of texts) assert.equal(bindsAnywhere('userName', text, family), false, `${family}: ${text}`);
  });

  test('a name with signs of patterns', () => {
    assert.equal(bindsAnywhere('$el', 'const { $el } = this;', 'script'), true);
    assert.equal(bindsAnywhere('$el', 'const { el } = this; f($el)', 'script'), false);
  });
});
