/** Which texts a calibration takes, what it holds out, and what it says where there is too little. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gatherDocs, inGroups, questionsOf, split } from '../../src/calibrate/gather.js';
import type { SourceDoc } from '../../src/calibrate/gather.js';
import { commentedSource, writeFiles } from './commented-source.js';

suite('gathering texts for a calibration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longview-gather-'));
  suiteTeardown(() => rmSync(folder, { recursive: true }));
  const characters = (text: string): number => text.length;
  const gather = (name: string, tokens = 1e6) => gatherDocs([join(folder, name)], tokens, characters);
  const write = (files: Record<string, string>): void => writeFiles(folder, files);

  test('commented source alone, within the tokens; a file asks 40 times at most', async () => {
    write({
      'code/a.ts': commentedSource(60),
      'code/sub/b.ts': commentedSource(20),
      'code/c.ts': commentedSource(6).replace(/\/\*\*.*\*\/\n/g, ''),
      'code/d.ts': commentedSource(2),
      'code/types.d.ts': commentedSource(30),
      'code/notes.md': commentedSource(30),
      'code/.gitignore': 'ignored.ts\n',
      'code/ignored.ts': commentedSource(30),
    });
    const docs = await gather('code');
    // d.ts is under 500 characters, c.ts asks nothing.
    assert.deepEqual(docs.map(({ path }) => path).sort(), ['a.ts', 'sub/b.ts']);
    assert.equal(questionsOf(docs), 60);
    assert(docs.every(({ text, tokens }) => !text.includes('Sorts') && tokens === text.length));
    assert.deepEqual(await gather('code'), docs, 'the same each time');
  });

  test('too few questions, one file, no folder: one line that says what is needed', async () => {
    write({ 'few/a.ts': commentedSource(10), 'few/b.ts': commentedSource(9), 'one/a.ts': commentedSource(60) });
    const needs = /at least 40 in 2 files/;
    await assert.rejects(gather('few'), {
      code: 'usage',
      message: /^Found 19 functions .* in 2 files; .*more folders/,
    });
    await assert.rejects(gather('one'), { code: 'usage', message: needs });
    await assert.rejects(gather('code', 2500), { code: 'usage', message: /--tokens/ });
    await assert.rejects(gather('nowhere'), { code: 'not-found', message: /nowhere/ });
  });

  const doc = (path: string, questions: number, tokens = 100): SourceDoc => ({
    ...{ path, text: '', tokens, functions: [] },
    questions: Array.from({ length: questions }, () => ({ function: 0, sentence: 'x' })),
  });

  test('whole files are held out, about a fifth of the questions; never all, never none', () => {
    const docs = Array.from({ length: 40 }, (_, i) => doc(`f${i}.ts`, 1 + (i % 7)));
    const { training, heldOut } = split(docs);
    assert.deepEqual([...training, ...heldOut].sort(byPath), [...docs].sort(byPath));
    const part = questionsOf(heldOut) / questionsOf(docs);
    assert(part > 0.15 && part < 0.25, String(part));
    const two = split([doc('a.ts', 35), doc('b.ts', 30)]);
    assert.deepEqual([two.training.length, two.heldOut[0]!.path], [1, 'b.ts']);
  });

  test('groups hold at most so many tokens; a longer text is alone', () => {
    const groups = inGroups([doc('a', 1, 60), doc('b', 1, 40), doc('c', 1, 30), doc('d', 1, 200), doc('e', 1, 1)], 100);
    assert.deepEqual(
      groups.map(group => group.map(({ path }) => path)),
      [['a', 'b'], ['c'], ['d'], ['e']],
    );
  });
});

function byPath(a: SourceDoc, b: SourceDoc): number {
  return a.path < b.path ? -1 : 1;
}
