/** The text of an answer document and the places in it. Right values are written out by hand. */
import assert from 'node:assert/strict';
import { findPlaces, placeText, renderAnswer } from '../../src/extension/answer-text.js';
import type { AskReply } from '../../src/protocol/index.js';

const recalled = [
  { path: 'lib/a.js', startLine: 3, endLine: 9, score: 2 },
  { path: 'docs/b.md', startLine: 1, endLine: 1, score: 1 },
];
const reply: AskReply = {
  answer: 'It is in `lib/a.js:4`.\n\n2 of 2 files read, 0 stale, 0 skipped',
  recalled,
  citations: [{ path: 'lib/a.js', startLine: 4, endLine: 4, ok: true }],
  unknownNames: [],
  coverage: { total: 2, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 0 },
  timing: { readMs: 900, firstTokenMs: 1340, totalMs: 2000, readTokens: 120, writtenTokens: 8 },
  model: 'tiny',
  provider: 'cpu',
};

suite('answer document', () => {
  test('before the words: the question and what was recalled', () => {
    const text = renderAnswer({ question: ' Where\nis it? ', recalled, text: '' });
    assert.equal(text, '# Where is it?\n\nRecalled:\n\n- lib/a.js:3-9\n- docs/b.md:1\n');
  });

  test('while it is written: the words so far', () => {
    const text = renderAnswer({ question: 'Where?', recalled: [], text: 'It is ' });
    assert.equal(text, '# Where?\n\n---\n\nIt is\n');
  });

  test('at the end: the checked words in place of the written ones, and the figures', () => {
    const text = renderAnswer({ question: 'Where?', recalled: [], text: 'It is in a.js:4', reply });
    assert.equal(
      text,
      '# Where?\n\n---\n\nIt is in `lib/a.js:4`.\n\n2 of 2 files read, 0 stale, 0 skipped\n\n---\n\n' +
        '120 tokens read · first word after 1.3 s · tiny on cpu\n',
    );
  });

  test('stopped: what was written stays, and why it ended', () => {
    const text = renderAnswer({ question: 'Where?', recalled: [], text: 'It is', problem: 'Stopped.' });
    assert.equal(text, '# Where?\n\n---\n\nIt is\n\n*Stopped.*\n');
  });

  test('links: only places of known files, whole paths, not struck out ones', () => {
    const text =
      'lib/a.js:3-9 and `a.js:12`, other.js:1, xlib/a.js:7, ~~lib/a.js:999~~ (no such lines), lib/a.js (no line), lib/aXjs:5';
    const found = findPlaces(text, ['a.js', 'lib/a.js', 'lib/a.js']);
    assert.deepEqual(
      found.map(({ place, start, end }) => [placeText(place), text.slice(start, end)]),
      [
        ['lib/a.js:3-9', 'lib/a.js:3-9'],
        ['a.js:12', 'a.js:12'],
      ],
    );
    assert.deepEqual(findPlaces(text, []), []);
  });
});
