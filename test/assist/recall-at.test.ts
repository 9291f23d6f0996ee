/** Distant definitions over a fake engine whose look-up finds equal words. What is certain, what is only ordered, what is not shown. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { recallAt, type RecallAtOptions, type RecallAtResult } from '../../src/assist/index.js';
import { importsOf, useContext } from '../../src/assist/use-context.js';
import { opinionOf } from '../../src/assist/recall-at.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from '../memory/fake-engine.js';
import { Folder } from '../memory/folder.js';

const files = {
  'lib/retry.py': 'def send_with_backoff(request):\n    """Retries a request."""\n    return wait(request)\n',
  'lib/close.py':
    'class Pool:\n    def close(self, pool):\n        pool.clear()\n\ndef clear(pool):\n    return pool\n',
  'lib/socket.py':
    'class Socket:\n    def close(self, socket):\n        socket.end()\n\ndef clear(socket):\n    return socket\n',
  'web/send.js': 'export function sendNow(request) {\n  return request;\n}\n',
  'web/constants.js':
    'const states = {\n  READ_DATA: 3,\n  DONE: 4,\n};\nmodule.exports = {\n  kQueue: Symbol("queue"),\n  states,\n};\n',
  'web/other-symbols.js': 'const kOnlyOther = Symbol("other");\nconst own = {\n  kWaiting: 1,\n};\n',
  'lib/parent.py': 'class Parent:\n    def __init__(self):\n        pass\n',
  'settings.yaml': 'server:\n  max_retries: 3\n',
  'app.py': 'from lib.retry import send_with_backoff\nimport lib.socket\n',
};

suite('recall at a place', () => {
  let folder: Folder;
  let engine: FakeEngine;
  let memory: WorkspaceMemory;
  setup(async () => {
    folder = await Folder.of(files);
    engine = new FakeEngine();
    memory = await folder.memory(engine);
    await memory.refresh();
  });
  teardown(() => folder.dispose());

  /** At the end of `before`, in `path`. */
  function at(path: string, before: string, options: RecallAtOptions = {}): Promise<RecallAtResult> {
    const identifier = /[\w$]+$/.exec(before)![0];
    return recallAt({ memory, path, identifier, before }, options);
  }
  const places = ({ candidates }: RecallAtResult): string[] => candidates.map(one => `${one.path}:${one.startLine}`);

  test('the only definition: certain, with signature, documentation and exact text', async () => {
    const found = await at('app.py', 'from lib.retry import send_with_backoff\n\nsend_with_backoff');
    assert.equal(found.certainty, 'one');
    assert.equal(found.how, 'only definition of this name in 9 files read');
    assert.deepEqual(found.candidates, [
      {
        path: 'lib/retry.py',
        startLine: 1,
        endLine: 3,
        score: found.candidates[0]!.score,
        name: 'send_with_backoff',
        signature: 'def send_with_backoff(request):',
        documentation: 'Retries a request.',
        languageId: 'python',
        text: files['lib/retry.py'].trimEnd(),
      },
    ]);
    assert.deepEqual(engine.lookups, [], 'the model has nothing to say about one');
  });

  test('several: ordered, never certain; the receiver’s class first', async () => {
    const found = await at('app.py', 'pool = Pool()\npool.close');
    assert.equal(found.certainty, 'ranked');
    assert.deepEqual(places(found), ['lib/close.py:2', 'lib/socket.py:2']);
    assert.equal(found.how, '2 definitions of this name in 9 files read, ordered by the model and by imports');
    assert.deepEqual(engine.lookups, ['pool = Pool()\npool.close']);
  });

  test('several: what the file imports first', async () => {
    assert.deepEqual(places(await at('app.py', 'from lib.socket import clear\nclear')), [
      'lib/socket.py:5',
      'lib/close.py:5',
    ]);
  });

  test('a definition in the same file, or a name bound in it, is the editor’s own to show', async () => {
    assert.equal((await at('lib/close.py', 'clear')).how, 'defined in this file');
    assert.equal((await at('new.py', 'def send_with_backoff(): ...\n\nsend_with_backoff')).how, 'defined in this file');
    const bound = await at('new.py', 'for send_with_backoff in senders:\n    send_with_backoff');
    assert.deepEqual([bound.certainty, bound.how, bound.candidates], ['none', 'bound in this file', []]);
  });

  test('what an import names, and what follows super, is meant though the file seems to have its own', async () => {
    const shadowed =
      'from lib.retry import send_with_backoff\nfor send_with_backoff in senders:\n    send_with_backoff';
    const found = await at('new.py', shadowed);
    assert.deepEqual([places(found), found.certainty], [['lib/retry.py:1'], 'ranked'], 'shown, not as certain');
    const method = 'from lib.socket import clear\nclass Other:\n    def clear(self):\n        return clear';
    assert.equal(places(await at('new.py', method))[0], 'lib/socket.py:5');
    const own = 'class Other(Socket):\n    def close(self):\n        ';
    assert.equal((await at('new.py', `${own}self.close`)).how, 'defined in this file');
    assert.equal(places(await at('new.py', `${own}super().close`))[0], 'lib/socket.py:2');
    assert.equal(places(await at('new.js', 'class Other {\n  close() {\n    super.close')).length, 2);
  });

  test('a name that the file gives a meaning of its own, before the use or after it: never certain', async () => {
    const own = 'only definition of this name in 9 files read, but this file has a meaning of its own for the name';
    for (const before of [
      'function Form({ id, sendNow }) {\n  return sendNow',
      'class Form {\n  constructor(\n    id: Map<string, number>,\n    sendNow: () => void,\n  ) {\n    sendNow',
      "import { sendNow } from './send.js';\nconst all = calls.map(({ sendNow }) => sendNow",
    ]) {
      const found = await at('web/form.ts', before);
      assert.deepEqual([places(found), found.certainty, found.how], [['web/send.js:1'], 'ranked', own], before);
    }
    const line = 'short = [send_with_backoff';
    await folder.write('short.py', `${line} for send_with_backoff in senders]\n`);
    assert.equal((await at('short.py', line)).how, own);
  });

  test('where the path tells no language, the editor’s name of it counts: a cell of a notebook', async () => {
    const before = 'from lib.retry import send_with_backoff\nsend_with_backoff';
    const request = { memory, path: 'notes.ipynb', identifier: 'send_with_backoff', before };
    assert.match((await recallAt(request)).how, /but in another language$/);
    assert.equal((await recallAt({ ...request, languageId: 'python' })).certainty, 'one');
    assert.match((await recallAt({ ...request, path: 'notes.js', languageId: 'python' })).how, /another language$/);
  });

  test('a name imported from the face of a folder is the definition in that folder', async () => {
    await folder.write('web/inner/deep.ts', 'export function isDeep(x: unknown): boolean {\n  return true;\n}\n');
    await memory.refresh();
    for (const [path, from, certainty] of [
      ['web/inner/use.ts', './index.js', 'one'],
      ['web/inner/use.ts', '.', 'one'],
      ['web/inner/tests/use.ts', '..', 'one'],
      ['web/inner/tests/use.ts', '../index', 'one'],
      ['web/other/use.ts', './index.js', 'ranked'],
      ['web/other/use.ts', './inner-index.js', 'ranked'],
    ] as const) {
      const found = await at(path, `import { isDeep } from '${from}';\nisDeep`);
      assert.deepEqual([places(found), found.certainty], [['web/inner/deep.ts:1'], certainty], `${path} from ${from}`);
    }
    const python = await at('lib/deep/use.py', 'from ... import send_with_backoff\nsend_with_backoff');
    assert.equal(python.certainty, 'one');
  });

  test('CommonJS: keys of objects, through patterns over several lines', async () => {
    const required = "const {\n  kQueue,\n  states,\n} = require('./constants');\n";
    const cases: [before: string, place: string, certainty: string][] = [
      [`${required}this[kQueue`, 'web/constants.js:6', 'one'],
      [`${required}states.READ_DATA`, 'web/constants.js:2', 'one'],
      ['anything.READ_DATA', 'web/constants.js:2', 'ranked'],
      ["const {\n  kOnlyOther,\n} = require('./constants');\nkOnlyOther", 'web/other-symbols.js:1', 'ranked'],
      ['const {\n  kWaiting,\n} = this;\nkWaiting', 'web/other-symbols.js:3', 'ranked'],
    ];
    for (const [before, place, certainty] of cases) {
      const found = await at('web/use.js', before);
      assert.deepEqual([places(found), found.certainty], [[place], certainty], before);
    }
    assert.match((await at('web/use.js', cases[3]![0])).how, /but this file imports the name from another place$/);
    assert.match((await at('web/use.js', cases[4]![0])).how, /but this file takes it from an object$/);
    assert.equal((await at('web/use.js', 'const kQueue = 1;\nkQueue')).certainty, 'none', 'a local is none of them');
  });

  test('a key of an object in the file is meant where it stands and after a dot of its own, not by a bare name', async () => {
    const own = 'const other = {\n  kQueue: 1,\n};\n';
    assert.equal((await at('web/use.js', 'const other = {\n  kQueue: 1,\n  kQueue')).how, 'defined in this file');
    assert.equal((await at('web/use.js', `${own}this.kQueue`)).how, 'defined in this file');
    const bare = await at('web/use.js', `${own}f(kQueue`);
    assert.deepEqual([places(bare), bare.certainty], [['web/constants.js:6'], 'ranked']);
  });

  test('Python: what follows super() is the parent’s', async () => {
    const found = await at('app.py', 'class Child(Parent):\n    def __init__(self):\n        super().__init__');
    assert.deepEqual([places(found), found.certainty], [['lib/parent.py:2'], 'ranked']);
  });

  test('one that may be another is shown, not as certain, with the reason', async () => {
    const reasons: [string, string, string][] = [
      ['app.py', 'thing.send_with_backoff', 'what stands before the dot is not known'],
      ['web/other.js', 'send_with_backoff', 'in another language'],
      ['app.py', 'config["max_retries', 'it is a key of a configuration file'],
    ];
    for (const [path, before, reason] of reasons) {
      const found = await at(path, before);
      assert.equal(found.certainty, 'ranked', before);
      assert.equal(found.how, `only definition of this name in 9 files read, but ${reason}`);
      assert.equal(found.candidates.length, 1);
    }
  });

  test('another spelling counts between languages only, and never as certain', async () => {
    const found = await at('app.py', 'send_now');
    assert.deepEqual([found.certainty, places(found)], ['ranked', ['web/send.js:1']]);
    assert.equal(found.how, 'a name that is written differently in another language, in 9 files read');
    assert.equal((await at('web/other.js', 'send_now')).certainty, 'none');
  });

  test('a name that is listed nowhere and only looks defined: shown, never as certain', async () => {
    await folder.write(
      'web/nested.js',
      'function build() {\n  const limits = { inner: { maxDepth: 3 } };\n  use(limits);\n}\n',
    );
    await memory.refresh();
    const found = await at('web/other.js', 'limits.inner.maxDepth');
    assert.deepEqual([found.certainty, places(found)], ['ranked', ['web/nested.js:2']]);
    assert.equal(found.how, 'only looks defined here, in 10 files read');
    assert.equal((await at('app.py', 'limits.inner.maxDepth')).certainty, 'none', 'another language');
    assert.deepEqual(places(await at('web/other.js', 'sendNow')), ['web/send.js:1'], 'what is listed comes alone');
  });

  test('Go: a bare name is not the method of that name in the same file, and is of the same folder', async () => {
    await folder.write('one/all.go', 'package one\n\nfunc Equal(a, b int) bool {\n\treturn a == b\n}\n');
    await folder.write('two/all.go', 'package two\n\nfunc Equal(a, b int) bool {\n\treturn a == b\n}\n');
    await memory.refresh();
    const method = 'package two\n\nfunc (a *Asserts) Equal(x, y int) bool {\n\treturn Equal';
    assert.deepEqual(places(await at('two/forward.go', method)), ['two/all.go:3', 'one/all.go:3']);
    assert.equal((await at('two/forward.go', 'package two\n\nfunc (a *Asserts) Equal')).how, 'defined in this file');
  });

  test('an unknown name: none', async () => {
    const found = await at('app.py', 'nobody_knows');
    assert.deepEqual([found.certainty, found.how], ['none', 'no definition of this name in 9 files read']);
  });

  test('a file that changed since it was read is not shown', async () => {
    await folder.write('lib/retry.py', 'x = 1\n' + files['lib/retry.py']);
    const found = await at('app.py', 'send_with_backoff');
    assert.deepEqual([found.certainty, found.candidates], ['none', []]);
    await folder.write('lib/close.py', 'y = 1\n');
    const rest = await at('app.py', 'clear');
    assert.deepEqual(
      [rest.certainty, places(rest)],
      ['ranked', ['lib/socket.py:5']],
      'the one that is left is not certain',
    );
    await memory.refresh();
    assert.deepEqual(places(await at('app.py', 'send_with_backoff')), ['lib/retry.py:2']);
  });

  test('a forgotten file is not shown', async () => {
    assert.equal((await at('app.py', 'send_with_backoff')).certainty, 'one');
    await memory.forget('lib/retry.py');
    assert.equal((await at('app.py', 'send_with_backoff')).certainty, 'none');
  });

  test('a busy model is not waited for, and its work is cancelled', async () => {
    let stopped = false;
    engine.beforeLookup = async signal => {
      await sleep(60_000, undefined, { signal }).catch(() => (stopped = true));
    };
    const found = await at('app.py', 'clear', { patienceMs: { list: 10_000, model: 1 } });
    assert.match(found.how, /ordered by imports and folders: the model is busy$/);
    assert.equal(found.candidates.length, 2);
    assert.equal(stopped, true);
  });

  test('a model that does not run is started for the next time, not waited for', async () => {
    let starts = 0;
    const other = await folder.memory(() => (starts++, Promise.resolve(engine)));
    const request = { memory: other, path: 'app.py', identifier: 'clear', before: 'clear' };
    const patienceMs = { list: 10_000, model: 10_000 };
    assert.match((await recallAt(request, { patienceMs })).how, /the model is not loaded$/);
    assert.equal(starts, 1);
    assert.match((await recallAt(request, { patienceMs })).how, /ordered by the model and by imports$/);
  });

  test('cancelling ends it', async () => {
    const stop = new AbortController();
    engine.beforeLookup = () => stop.abort();
    await assert.rejects(at('app.py', 'clear', { signal: stop.signal }), { code: 'cancelled' });
  });
});

suite('what stands around a use', () => {
  test('imports of several languages', () => {
    const one = (text: string): unknown[] =>
      importsOf(text).map(({ module, names }) => [module.join('/'), [...names].at(-1)]);
    assert.deepEqual(one('from .models import (\n    Request,\n    Response,\n)\n'), [['models', 'Response']]);
    assert.deepEqual(one("import { a, b as c } from '../lib/a.js';\n")[0], ['lib/a', 'js']);
    assert.deepEqual(one("const { parse } = require('./parse');\n"), [['parse', 'require']]);
    assert.deepEqual(one("const {\n  parse,\n} = require('./parse');\nconst {\n  a,\n} = options;\n"), [
      ['parse', 'require'],
    ]);
    assert.deepEqual(one('import (\n\t"net/http"\n\tlog "a/b/logging"\n)\n'), [
      ['net/http', 'http'],
      ['a/b/logging', 'logging'],
    ]);
    assert.deepEqual(one('use crate::pool::Pool;\n'), [['crate/pool/pool', 'Pool']]);
    assert.deepEqual(one('#include "net/socket.h"\n'), [['net/socket', 'h']]);
  });

  test('receiver, construction, classes around, bindings', () => {
    const context = (before: string): unknown => {
      const name = /\w+$/.exec(before)![0];
      const { isMember, receiver, isConstruction, isBound, classes } = useContext(name, before, before);
      return { isMember, receiver, isConstruction, isBound, classes };
    };
    const nothing = { isMember: false, receiver: undefined, isConstruction: false, isBound: false, classes: [] };
    assert.deepEqual(context('send'), nothing);
    assert.deepEqual(context('a.b?.send'), { ...nothing, isMember: true, receiver: 'b' });
    assert.deepEqual(context('get()\n  .send'), { ...nothing, isMember: true });
    assert.deepEqual(context('x = new Pool'), { ...nothing, isConstruction: true });
    assert.deepEqual(context('class A(Base):\n    def f(self):\n        self.send'), {
      ...nothing,
      isMember: true,
      receiver: 'self',
      classes: ['A', 'Base'],
    });
    for (const bound of [
      'const send = 1; send',
      'def f(a, send=None):\n    send',
      'items.map((send, i) => send',
      'x.map(send => send',
      'send = 3\nsend',
      'except Error as send:\n    send',
    ]) {
      assert.deepEqual(context(bound), { ...nothing, isBound: true }, bound);
    }
    for (const free of [
      "import { send } from './a.js';\nsend",
      "const send = require('./a');\nsend",
      'f(send',
      'other == send',
    ]) {
      assert.deepEqual(context(free), nothing, free);
    }
  });

  test('the model’s opinion: mean over heads above each head’s mean, within bounds', () => {
    assert.deepEqual(
      opinionOf([
        [-1, -3],
        [-10, -10],
      ]),
      [0.5, -0.5],
    );
    assert.deepEqual(opinionOf([[0, -100]]), [4, -4]);
    assert.deepEqual(opinionOf([[-Infinity, -1, -3]]), [0, 1, -1]);
  });
});
