/** The markup of answers: the subset that is shown, and what a hostile text cannot do. Right values are written out by hand. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { markupOf } from '../../src/extension/answer-markup.js';
import { visibleText } from '../../src/extension/visible-text.js';
import type { Inline } from '../../src/protocol/index.js';

const checked = [{ path: 'lib/a.js', startLine: 3, endLine: 9 }];
const text = (words: string) => ({ kind: 'text' as const, text: words });
const placeAt = (startLine: number, endLine: number, words: string) => ({
  kind: 'place' as const,
  text: words,
  place: { path: 'lib/a.js', startLine, endLine },
});

suite('answer markup', () => {
  test('paragraphs, headings, lists, code and emphasis', () => {
    assert.deepEqual(
      markupOf('# Why #\nIt **is `x`** so,\n*really*.\n\n- one\n  more\n- two\n\n1. a\n2) b\n---', checked),
      [
        { kind: 'heading', inlines: [text('Why')] },
        {
          kind: 'paragraph',
          inlines: [
            text('It '),
            { kind: 'strong', inlines: [text('is '), { kind: 'code', text: 'x' }] },
            text(' so,\n'),
            { kind: 'emphasis', inlines: [text('really')] },
            text('.'),
          ],
        },
        { kind: 'list', ordered: false, items: [[text('one\nmore')], [text('two')]] },
        { kind: 'list', ordered: true, items: [[text('a')], [text('b')]] },
      ],
    );
  });

  test('a code fence holds its text as it is, also while its end is not written yet', () => {
    assert.deepEqual(markupOf('Use:\n```js\na = "**b**";\n\n# c\n```\nDone', checked), [
      { kind: 'paragraph', inlines: [text('Use:')] },
      { kind: 'code', text: 'a = "**b**";\n\n# c' },
      { kind: 'paragraph', inlines: [text('Done')] },
    ]);
    assert.deepEqual(markupOf('````\n```\nx', checked), [{ kind: 'code', text: '```\nx' }]);
  });

  test('links are made of checked places alone; a failed citation is struck out and keeps its reason', () => {
    const [block] = markupOf(
      'In `lib/a.js:4`, lib/a.js:3-9, lib/a.js:99, `other.js:1` and ~~lib/a.js:99~~ (the file has 9 lines).',
      checked,
    );
    assert.deepEqual(block, {
      kind: 'paragraph',
      inlines: [
        text('In '),
        placeAt(4, 4, 'lib/a.js:4'),
        text(', '),
        placeAt(3, 9, 'lib/a.js:3-9'),
        text(', lib/a.js:99, '),
        { kind: 'code', text: 'other.js:1' },
        text(' and '),
        { kind: 'struck', text: 'lib/a.js:99' },
        text(' (the file has 9 lines).'),
      ],
    });
  });

  test('markdown links, HTML and images stay text', () => {
    const hostile = '[click](http://example.com) <script>alert(1)</script> ![x](y) <a href="javascript:1">b</a>';
    assert.deepEqual(markupOf(hostile, checked), [{ kind: 'paragraph', inlines: [text(hostile)] }]);
  });

  test('whatever is written, every link lies in a checked place and no letter gets lost', () => {
    const piece = fc.oneof(
      fc.constantFrom('`', '**', '*', '~~', '\n', ' ', '- ', '# ', '```', 'lib/a.js:4', 'lib/a.js:12', '[x](y)', '<b>'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), pieces => {
        const written = pieces.join('');
        let shown = '';
        const visit = (inline: Inline): void => {
          if ('inlines' in inline) {
            inline.inlines.forEach(visit);
            return;
          }
          if (inline.kind === 'place') {
            const { path, startLine, endLine } = inline.place;
            assert.ok(path === 'lib/a.js' && startLine >= 3 && endLine <= 9 && startLine <= endLine);
          }
          shown += inline.text;
        };
        for (const block of markupOf(written, checked)) {
          if (block.kind === 'code') shown += block.text;
          else if (block.kind === 'list') block.items.flat().forEach(visit);
          else block.inlines.forEach(visit);
        }
        const letters = (all: string): string => all.replace(/[^\p{L}]/gu, '');
        // The word after a fence names the language and is not shown.
        if (!/^ {0,3}(```|~~~)/m.test(written)) assert.equal(letters(shown), letters(written));
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  test('a line of a million characters is shown in part, quickly enough to be parsed while it is written', () => {
    for (const line of ['x'.repeat(1e6), '*a '.repeat(3e5), '`'.repeat(1e6), '~~'.repeat(5e5), '[1] '.repeat(2.5e5)]) {
      const blocks = markupOf(line, checked);
      assert.ok(JSON.stringify(blocks).length < 500_000);
    }
  });

  test('control characters and marks of direction become visible', () => {
    assert.equal(
      visibleText('a\r\nb\u001b[31mred\u0007\u202egnp\u2066\u007f\t'),
      'a\nb␛[31mred␇[U+202E]gnp[U+2066]␡\t',
    );
  });
});
