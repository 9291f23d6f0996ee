/** Definitions of small files in several languages. Right values are read off the texts by hand. */
import assert from 'node:assert/strict';
import { definitionText, definitionsOf } from '../../src/memory/definitions/index.js';

/** `line kind container.name` of each definition. */
function list(path: string, text: string): string[] {
  return definitionsOf(path, text.split('\n')).map(
    ({ line, kind, container, name }) => `${line} ${kind} ${container === undefined ? '' : `${container}.`}${name}`,
  );
}

const cases: readonly (readonly [path: string, text: string, expected: readonly string[]])[] = [
  [
    'größe.ts',
    `export function größeVon(x: number) {
}
export class Übersicht {
  readonly maß = 3;
  имяФайла(): string {
  }
}
export const 設定 = { 名前: 1 };
`,
    [
      '1 function größeVon',
      '3 class Übersicht',
      '4 field Übersicht.maß',
      '5 method Übersicht.имяФайла',
      '8 constant 設定',
    ],
  ],
  [
    'größe.py',
    'def prüfe(größe):\n    pass\nα, β = 1, 2\nनाम = 3\n',
    ['1 function prüfe', '3 constant α', '3 constant β', '4 constant नाम'],
  ],
  [
    'größe.go',
    'type Größe struct {\n\tMaß, Länge int\n}\n',
    ['1 type Größe', '2 field Größe.Maß', '2 field Größe.Länge'],
  ],
  ['größe.yaml', 'größe:\n  länge: 3\n', ['1 key größe', '2 key größe.länge']],
  [
    'a.py',
    `"""
def not_one(): in a docstring
"""
LIMIT: int = 3
class Session(Base):
    retries = 2
    name: str

    async def send(
        self,
        request,
        timeout=None,
    ) -> Response:
        local = 1
        def inner():
            pass

if TYPE:
    def late(): ...
`,
    [
      '4 constant LIMIT',
      '5 class Session',
      '6 field Session.retries',
      '7 field Session.name',
      '9 method Session.send',
      '19 function late',
    ],
  ],
  [
    'a.ts',
    `import { x } from './x.js';
/*
function no() {}
*/
export async function load<T>(path: string): Promise<T> {
  const local = 1;
}
export const limit = 3;
const twice = (a: number): number => a * 2;
export interface Options {
  readonly depth?: number;
}
export class Reader extends Base {
  private count = 0;
  constructor() {}
  static async open(path: string): Promise<Reader> {
    if (path) {
      run(path);
    }
  }
  handler = () => 1;
}
export type Name = string;
export enum Kind {
  One = 1,
  Two,
}
const text = \`
function neither() {}
\`;
`,
    [
      '5 function load',
      '8 constant limit',
      '9 function twice',
      '10 type Options',
      '11 field Options.depth',
      '13 class Reader',
      '14 field Reader.count',
      '16 method Reader.open',
      '21 method Reader.handler',
      '23 type Name',
      '24 type Kind',
      '25 constant Kind.One',
      '26 constant Kind.Two',
      '28 constant text',
    ],
  ],
  [
    'a.cjs',
    `const util = require('./util');
exports.parse = function (text) {};
module.exports = {
  create(context) {
    return {
      visit(node) {},
    };
  },
  meta: { type: 'x' },
};
Queue.prototype.push = function (task) {};
`,
    ['2 function parse', '4 method create', '6 method create.visit', '9 field meta', '11 method Queue.push'],
  ],
  ['parents.py', 'class A:\n    def __init__(self):\n        pass\n', ['1 class A', '2 method A.__init__']],
  [
    'a.go',
    `package a

const (
	First = iota
	Second
)

type Client struct {
	Name string
}

func (c *Client) Send(r Request) error {
	x := 1
}

func New() *Client {
`,
    [
      '4 constant First',
      '5 constant Second',
      '8 type Client',
      '9 field Client.Name',
      '12 method Client.Send',
      '16 function New',
    ],
  ],
  [
    'a.rs',
    `pub struct Pool<T> {
    pub size: usize,
}
impl<T> Pool<T> {
    pub fn take(&mut self) -> T {
        let x = 1;
    }
}
pub enum Mode {
    Fast,
    Slow(u8),
}
pub const MAX: usize = 1;
macro_rules! twice { }
`,
    [
      '1 class Pool',
      '2 field Pool.size',
      '5 method Pool.take',
      '9 type Mode',
      '10 constant Mode.Fast',
      '11 constant Mode.Slow',
      '13 constant MAX',
      '14 function twice',
    ],
  ],
  [
    'A.java',
    `package a.b;
public final class Account<T> implements Comparable<T> {
    private static final int LIMIT = 3;
    @Override
    public int compareTo(T other) {
        return other.rank();
    }
    interface Visitor {
        void visit(Account a);
    }
}
`,
    [
      '2 class Account',
      '3 field Account.LIMIT',
      '5 method Account.compareTo',
      '8 class Account.Visitor',
      '9 method Visitor.visit',
    ],
  ],
  [
    'a.cs',
    `namespace A.B
{
    public class Store
    {
        public int Count { get; set; }
        public async Task<int> ReadAsync(string path)
        {
            return 1;
        }
    }
}
`,
    ['3 class Store', '5 field Store.Count', '6 method Store.ReadAsync'],
  ],
  [
    'a.c',
    `#include "a.h"
#define LIMIT 3
typedef struct {
    int size;
} Buffer;
int declared(int a);
static int
fill(Buffer *b)
{
    b->size = 1;
}
char *name_of(Buffer *b) {
    return 0;
}
`,
    ['2 constant LIMIT', '4 field size', '5 type Buffer', '12 function name_of'],
  ],
  [
    'a.cpp',
    `namespace net {
class Socket : public Base {
 public:
  int port;
  bool open() const { return true; }
};
bool Socket::close(int how) {
  return false;
}
}  // namespace net
`,
    ['2 class Socket', '4 field Socket.port', '5 method Socket.open', '7 method Socket.close'],
  ],
  [
    'a.rb',
    `module Net
  class Client
    LIMIT = 3
    attr_reader :name
    def self.open(path)
      local = 1
    end
    def closed?
    end
  end
end
`,
    [
      '1 module Net',
      '2 class Net.Client',
      '3 constant Client.LIMIT',
      '4 field Client.name',
      '5 method Client.open',
      '8 method Client.closed?',
    ],
  ],
  [
    'a.sh',
    'export PATH_TO=1\nbuild() {\n  local x=1\n}\nfunction clean {\n}\n',
    ['1 constant PATH_TO', '2 function build', '5 function clean'],
  ],
  [
    'a.yaml',
    'server:\n  max_retries: 3\n  # no: 1\nlist:\n  - name: a\n  - name: b\n',
    ['1 key server', '2 key server.max_retries', '4 key list', '5 key list.name'],
  ],
  ['a.json', '{\n  "server": {\n    "maxRetries": 3\n  }\n}\n', ['2 key server', '3 key server.maxRetries']],
  ['a.toml', '[tool.build]\nout_dir = "x"\n', ['1 key build', '2 key tool.build.out_dir']],
  [
    'a.md',
    '# Usage\n\nText.\n\n## `parse(text)`\n\n```\n# max_retries\n```\n\nmax_retries\n-----------\n',
    ['5 heading parse', '11 heading max_retries'],
  ],
];

suite('definitions', () => {
  for (const [path, text, expected] of cases) {
    test(`of ${path}`, () => assert.deepEqual(list(path, text), expected));
  }

  test('a word that begins statements elsewhere is a name where the language declares it', () => {
    const text = 'export function not(a) {}\nexport const using = () => 1;\nif (a) {\n}\n';
    assert.deepEqual(list('a.ts', text), ['1 function not', '2 function using']);
  });

  test('a backtick in a pattern does not hide what comes after it', () => {
    assert.deepEqual(list('a.js', 'const mark = /`/;\nfunction after() {}\n'), ['1 constant mark', '2 function after']);
  });

  test('what is shown: lines, the head to its closing bracket, the comment', () => {
    const show = (path: string, text: string, name: string): unknown => {
      const lines = text.split('\n');
      const found = definitionsOf(path, lines).find(one => one.name === name)!;
      const { startLine, endLine, signature, documentation } = definitionText(path, lines, found);
      return { startLine, endLine, signature, documentation };
    };
    const python =
      'class A:\n    def send(\n        self,\n        request,\n    ):\n        """Sends it.\n\n        Twice.\n        """\n        return 1\n\nB = 1\n';
    assert.deepEqual(show('a.py', python, 'send'), {
      startLine: 2,
      endLine: 10,
      signature: 'def send(\n    self,\n    request,\n):',
      documentation: 'Sends it.\n\nTwice.',
    });
    const script = '/**\n * Opens it.\n * @param a what\n */\n@decorated\nexport function open(a) {\n  return a;\n}\n';
    assert.deepEqual(show('a.ts', script, 'open'), {
      startLine: 6,
      endLine: 8,
      signature: 'export function open(a)',
      documentation: 'Opens it.\n@param a what',
    });
    assert.deepEqual(show('a.go', '// Send sends.\nfunc Send() {\n\tx()\n}\n', 'Send'), {
      startLine: 2,
      endLine: 4,
      signature: 'func Send()',
      documentation: 'Send sends.',
    });
    assert.deepEqual(show('a.md', '# Options\n\n## `depth`\n\nHow deep.\n\nMore.\n\n## Other\n', 'depth'), {
      startLine: 3,
      endLine: 8,
      signature: '## `depth`',
      documentation: 'How deep.',
    });
  });

  test('a long definition is shown with its first 60 lines', () => {
    const lines = ['def long():', ...Array.from({ length: 100 }, () => '    x()'), 'y = 1'];
    const shown = definitionText('a.py', lines, definitionsOf('a.py', lines)[0]!);
    assert.equal(shown.endLine, 60);
    assert.equal(shown.text, lines.slice(0, 60).join('\n'));
  });

  test('words that other languages keep for themselves are names', () => {
    assert.deepEqual(list('a.go', 'func (s Stats) end(at int) {\n}'), ['1 method Stats.end']);
    assert.deepEqual(list('A.java', 'class A {\n  int end;\n  void print(String s) {\n  }\n}'), [
      '1 class A',
      '2 field A.end',
      '3 method A.print',
    ]);
    assert.deepEqual(list('a.rs', 'struct A {\n    from: u8,\n}'), ['1 class A', '2 field A.from']);
    assert.deepEqual(list('a.py', 'class A:\n    default = 1\n'), ['1 class A', '2 field A.default']);
  });

  test('every name of a list is listed', () => {
    assert.deepEqual(list('a.go', 'type A struct {\n\topen, most *Desc\n}\nvar first, second = 1, 2'), [
      '1 type A',
      '2 field A.open',
      '2 field A.most',
      '4 constant first',
      '4 constant second',
    ]);
    assert.deepEqual(list('a.py', 'first, second = pair()\nfirst[0], x.y = 1, 2\n'), [
      '1 constant first',
      '1 constant second',
    ]);
  });
});
