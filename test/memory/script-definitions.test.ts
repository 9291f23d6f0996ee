/** Definitions of CommonJS modules, classes they export, and constructors. Right values are read off the texts by hand. */
import assert from 'node:assert/strict';
import { definitionsOf } from '../../src/memory/definitions/index.js';

/** Path, text, `line kind container.name` of each definition. */
const cases: readonly (readonly [path: string, text: string, expected: readonly string[]])[] = [
  [
    'symbols.js',
    `const { own } = require('./own');
const states = /** @type {const} */ ({
  READ_DATA: 3,
  'quoted': kName,
  own,
  same: same,
  loaded: require('./loaded'),
  get [computed]() {},
  nested: {
    deep: 1,
  },
});
exports.limits = {
  most: 2,
};
module.exports = {
  kQueue: Symbol('queue'),
  ERR_ONE: createError(
    'code: one',
    f({ hidden: 1 }),
  ),
};
`,
    [
      '2 constant states',
      '3 field states.READ_DATA',
      '4 field states.quoted',
      '9 field states.nested',
      '10 field nested.deep',
      '13 constant limits',
      '14 field limits.most',
      '17 field kQueue',
      '18 field ERR_ONE',
    ],
  ],
  [
    'exported.cjs',
    `module.exports = class Wrapper extends Base {
  static wrap(handler) {}
  match(other) {}
};
module.exports.Plain = class {
  run() {}
};
module.exports = class {
  stop() {}
};
function deferred() {
  const local = { hidden: 1 };
  if (local) {
    return { inner: 1 };
  }
  return { promise, resolve: res, same: same };
}
function request(init) {
  return {
    method: init.method,
    url,
  };
}
`,
    [
      '1 class Wrapper',
      '2 method Wrapper.wrap',
      '3 method Wrapper.match',
      '5 class Plain',
      '6 method Plain.run',
      '9 method stop',
      '11 function deferred',
      '16 field deferred.resolve',
      '18 function request',
      '20 field request.method',
    ],
  ],
  [
    'parameters.ts',
    `const typed: Options = {
  plain: 1,
  run() {
  },
};
class Message {
  constructor(private readonly text: string, plain: number, public size = 1) {
    super();
  }
}
class Other {
  constructor(
    public frames?: number,
    plain = 2,
  ) {
    frames();
  }
}
`,
    [
      '1 constant typed',
      '3 method typed.run',
      '6 class Message',
      '7 field Message.text',
      '7 field Message.size',
      '11 class Other',
      '13 field Other.frames',
    ],
  ],
];

suite('definitions of scripts', () => {
  for (const [path, text, expected] of cases) {
    test(`of ${path}`, () => {
      const found = definitionsOf(path, text.split('\n')).map(({ line, kind, container, name }) =>
        [line, kind, container === undefined ? name : `${container}.${name}`].join(' '),
      );
      assert.deepEqual(found, expected);
    });
  }
});
