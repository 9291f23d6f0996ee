/** The index of definitions over files that come, change and go. Right values are read off the texts by hand. */
import assert from 'node:assert/strict';
import { DefinitionIndex } from '../../src/memory/definitions/index.js';

suite('definition index', () => {
  const a = { path: 'a.py', contentHash: '1' };
  const b = { path: 'b.py', contentHash: '1' };
  const places = (index: DefinitionIndex, name: string): string[] =>
    index.named(name).map(one => `${one.path}:${one.line}`);

  test('by name, path and line; only what changed is asked for again', () => {
    const index = new DefinitionIndex();
    assert.deepEqual(index.missing([b, a]), [b, a]);
    index.put(b, 'def f(): ...\n');
    index.put(a, 'x = 1\ndef f(): ...\n');
    assert.deepEqual(places(index, 'f'), ['a.py:2', 'b.py:1']);
    assert.deepEqual(index.missing([a, b]), []);
    const changed = { path: 'a.py', contentHash: '2' };
    assert.deepEqual(index.missing([changed, b]), [changed]);
    assert.deepEqual(places(index, 'f'), ['b.py:1'], 'the old text counts no more');
    index.put(changed, 'def g(): ...\n');
    assert.deepEqual(places(index, 'g'), ['a.py:1']);
    assert.deepEqual(index.missing([b]), []);
    assert.deepEqual(places(index, 'g'), []);
    assert.equal(index.definitions, 1);
  });

  test('names that only look defined: one line a file, of files that list no definition of them', () => {
    const index = new DefinitionIndex();
    const script = { path: 'a.js', contentHash: '1' };
    index.put(
      script,
      'function make() {\n  const inner = { depth: 1 };\n  inner.depth = 2;\n  if (depth == make) make();\n}\n',
    );
    const likely = (name: string): string[] => index.likely(name).map(({ path, line }) => `${path}:${line}`);
    assert.deepEqual(
      [likely('inner'), likely('depth'), likely('make'), likely('if')],
      [['a.js:2'], ['a.js:2'], [], []],
    );
    assert.deepEqual(places(index, 'depth'), []);
    index.missing([]);
    assert.deepEqual(likely('depth'), [], 'goes with its file');
  });

  test('a file that is not the one that was read makes it incomplete, and is tried again later', () => {
    const index = new DefinitionIndex();
    index.put(a, undefined);
    assert.equal(index.complete, false);
    assert.deepEqual(index.missing([a], 60_000), []);
    assert.deepEqual(index.missing([a], 0), [a]);
    index.missing([]);
    assert.equal(index.complete, true, 'a file that is gone is not missed');
  });

  test('over its bound it says that it is not complete', () => {
    const index = new DefinitionIndex(2);
    index.put(a, 'a1 = 1\na2 = 1\n');
    index.put(b, 'b1 = 1\n');
    assert.equal(index.definitions, 2);
    assert.equal(index.complete, false);
    assert.deepEqual(index.missing([b]), [b], 'there is room again');
    assert.equal(index.complete, true);
  });

  test('variants: names of several words in another spelling', () => {
    const index = new DefinitionIndex();
    index.put(a, 'def read_text(): ...\ndef READ_TEXT(): ...\ndef reader(): ...\n');
    assert.deepEqual(index.variantsOf('readText'), ['READ_TEXT', 'read_text']);
    assert.deepEqual(index.variantsOf('Reader'), []);
  });
});
