/** Text of answers, files and tools on its way into chat: places apart, everything else harmless. Right values by hand. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  answerParts,
  coverageText,
  fencedFile,
  plainMarkdown,
  recallText,
  summaryText,
} from '../../src/extension/chat-text.js';

const good = (
  path: string,
  startLine: number,
  endLine = startLine,
): { path: string; startLine: number; endLine: number; ok: true } => ({
  path,
  startLine,
  endLine,
  ok: true,
});
const coverage = { total: 1310, read: 1204, stale: 3, waiting: 12, coarse: 0, skipped: 91 };

suite('chat text', () => {
  test('an answer is cut at the places that hold; their backticks go with them', () => {
    const answer = 'It is in `lib/a.js:4-6`, not lib/b.js:1.\n\n1 of 1 files read';
    assert.deepEqual(answerParts(answer, [good('lib/a.js', 4, 6), { ...good('lib/b.js', 1), ok: false, why: 'no' }]), [
      { markdown: 'It is in ' },
      { place: { path: 'lib/a.js', startLine: 4, endLine: 6 } },
      { markdown: ', not lib/b.js:1.\n\n1 of 1 files read' },
    ]);
  });

  test('other lines of a cited file, and struck-out places, stay text', () => {
    const answer = 'See a.js:9 and ~~a.js:4~~ (the file has 2 lines).';
    assert.deepEqual(answerParts(answer, [good('a.js', 4)]), [{ markdown: answer }]);
  });

  test('an answer without places is one piece; nothing of it is lost', () => {
    assert.deepEqual(answerParts('No idea.', []), [{ markdown: 'No idea.' }]);
    assert.deepEqual(answerParts('a.js:1', [good('a.js', 1)]), [{ place: { path: 'a.js', startLine: 1, endLine: 1 } }]);
  });

  const hostile: [string, string][] = [
    ['[run](command:evil)', '\\[run\\](command\\:evil)'],
    ['![x](https://example.com/a.png)', '\\!\\[x\\](https\\://example.com/a.png)'],
    ['<img src=x>', '\\<img src=x\\>'],
    ['<https://example.com>', '\\<https\\://example.com\\>'],
    ['see www.example.com', 'see www\\.example.com'],
    ['mail a@example.com', 'mail a\\@example.com'],
    ['&lt;b&gt;', '\\&lt;b\\&gt;'],
    ['VSCODE://x vscode-insiders://y', 'VSCODE\\://x vscode-insiders\\://y'],
    // No code to a markdown reader: the ticks do not match, or are no fence.
    ['``` [b](c) `', '\\`\\`\\` \\[b\\](c) \\`'],
    ['```a`b\n\n[b](c)\n\n```', '\\`\\`\\`a\\`b\n\n\\[b\\](c)\n\n\\`\\`\\`'],
    ['a ` b\n`[b](c)`', 'a \\` b\n`[b](c)`'],
    ['```\na\n````\n[b](c)\n```', '```\na\n````\n\\[b\\](c)\n\\`\\`\\`'],
    ['~~~\n```\n~~~\n[b](c)\n```', '\\~\\~\\~\n```\n~~~\n[b](c)\n```'],
    ['a \\[b](c)', 'a \\\\\\[b\\](c)'],
  ];
  for (const [text, expected] of hostile) {
    test(`harmless: ${text}`, () => assert.equal(plainMarkdown(text), expected));
  }

  test('code stays as it is', () => {
    const text = 'Use `a[0]` and\n```js\nb[1] = "<p>";\n```\nthen [c].';
    assert.equal(plainMarkdown(text), 'Use `a[0]` and\n```js\nb[1] = "<p>";\n```\nthen \\[c\\].');
  });

  test('outside of code no bracket and no address is left as it was, whatever the text', () => {
    const piece = fc.constantFrom(
      '[',
      ']',
      '(',
      ')',
      '!',
      '<',
      '>',
      '\\',
      'http',
      'https:',
      '//',
      'command:',
      'x',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
        const out = plainMarkdown(pieces.join(''));
        // Escapes come in pairs from the left; what stands alone would be live.
        const live = out.replace(/\\[\\[\]<>!&|:.@`~]/g, '');
        assert.doesNotMatch(live, /[[\]<>!]|\b(https?|command):/);
      }),
    );
  });

  test('a fence is longer than any in the text, and names the language by the file’s ending', () => {
    assert.equal(fencedFile('a', 'lib/x.ts'), '```ts\na\n```');
    assert.equal(fencedFile('````\nb', 'README'), '`````\n````\nb\n`````');
    assert.equal(fencedFile('a', 'x.`evil`'), '```\na\n```');
  });

  test('coverage names the states that occur', () => {
    assert.equal(coverageText(coverage), '1,204 of 1,310 files read, 3 stale, 12 waiting, 91 skipped');
    assert.equal(coverageText({ total: 2, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 0 }), '2 of 2 files read');
  });

  test('recall for another model: each place and its exact text; nothing found is said', () => {
    const place = { path: 'a.ts', startLine: 3, endLine: 4, score: 1, text: 'let a;\nlet b;' };
    assert.equal(
      recallText({ places: [place], coverage: { ...coverage, stale: 0, waiting: 0 } }),
      'a.ts:3-4\n```\nlet a;\nlet b;\n```\n\n1,204 of 1,310 files read, 91 skipped',
    );
    const long = { ...place, endLine: 3, text: 'let a', cut: 4_980_000 };
    assert.equal(
      recallText({ places: [long], coverage: { ...coverage, stale: 0, waiting: 0 } }).split('\n')[0],
      'a.ts:3, cut: 4,980,000 more characters',
    );
    assert.match(recallText({ places: [], coverage }), /^Nothing was found\.\n\n.*longview_ask reads unread files/s);
  });

  test('a summary for another model: each sentence with its places', () => {
    const reply = {
      notes: [],
      basis: '',
      coverage,
      timing: { totalMs: 1, readTokens: 1, writtenTokens: 1 },
      model: 'tiny',
    };
    const summary = [
      { text: 'It retries.', places: [{ path: 'a.ts', startLine: 3, endLine: 3 }], quoted: false },
      { text: 'It ends.', places: [], quoted: false },
    ];
    assert.match(summaryText({ ...reply, summary }), /^- It retries\. \(a\.ts:3\)\n- It ends\.\n\n1,204 of/);
    assert.match(summaryText({ ...reply, summary: [] }), /^There is nothing to summarize\./);
  });
});
