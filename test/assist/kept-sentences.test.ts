/** What of a small model's words is kept beside the lines, and which lines are quoted. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeptSentences } from '../../src/assist/kept-sentences.js';
import { quoteOf } from '../../src/assist/quote.js';

const shown =
  'File src/retry.py:1-4:\n```\ndef send_with_backoff(request):\n    """Retries a request after a pause."""\n    wait(2)\n```\n\n' +
  'Question: How is a request sent again?';
const begin = 'In `src/retry.py:1-4`, the';

function kept(text: string, isWhole = true): { words: string; told: string } {
  let told = '';
  const sentences = new KeptSentences(shown, begin, piece => (told += piece));
  for (const piece of text.match(/[\s\S]{1,5}/g) ?? []) sentences.push(piece);
  return { words: sentences.end(isWhole), told };
}

suite('sentences of a small model', () => {
  const good = `${begin} function \`send_with_backoff\` retries a request after a pause.`;

  test('stay where their words come from the lines or the question; names and numbers of their own do not', () => {
    const own = 'It uses a `RetryManager` for that.';
    const number = 'It waits 5 seconds after a pause.';
    const foreign = 'This lets the developer configure many enterprise policies.';
    for (const text of [`${good} ${own} ${number} ${foreign}`, `${own}\n${good}\n${foreign}`]) {
      assert.deepEqual(kept(text), { words: good, told: good });
    }
    assert.equal(kept(`${own} ${foreign}`).words, '');
  });

  test('are told once, as soon as they are whole; one that was cut off is not', () => {
    assert.equal(
      kept(`${good} ${good} A request is sent again after a pause.`).told,
      `${good} A request is sent again after a pause.`,
    );
    assert.equal(kept(`${good} The request is sent again after`, false).words, good);
    assert.equal(
      kept(`${good} The request is sent again after a pause`, true).words,
      `${good} The request is sent again after a pause`,
    );
  });

  test('blocks of code are no sentences', () => {
    assert.equal(kept(`${good}\n\`\`\`python\nwait(2) request pause.\n\`\`\`\n`).words, good);
  });

  test('what is told is what is kept, however the text comes', () => {
    const words = fc.constantFrom(
      'request',
      'pause',
      'wait',
      'retries',
      'madeUp',
      '7',
      '.',
      '. ',
      '\n',
      '`',
      '。',
      ' ',
    );
    const property = fc.property(fc.array(words, { maxLength: 30 }), parts => {
      const { words: all, told } = kept(parts.join(' '));
      assert.equal(told, all);
    });
    fc.assert(property, { seed: 20261130, numRuns: 500 });
  });
});

suite('a quote', () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 11}`);
  lines[13] = 'def backoff(request):';
  const span = { path: 'a.py', startLine: 11, text: lines.join('\n') };

  test('is the eight lines with most words of the question, as they stand in the file, with their place', () => {
    const { place, text } = quoteOf(span, 'Where is the backoff of a request?');
    // The first eight lines that hold line 24.
    assert.deepEqual(place, { path: 'a.py', startLine: 17, endLine: 24 });
    assert.equal(text, `\`a.py:17-24\`\n\n\`\`\`\n${lines.slice(6, 14).join('\n')}\n\`\`\``);
  });

  test('is the whole of a short place, and its beginning where no line has a word of the question', () => {
    assert.deepEqual(quoteOf({ ...span, text: 'one\ntwo' }, 'backoff').place, {
      path: 'a.py',
      startLine: 11,
      endLine: 12,
    });
    assert.deepEqual(quoteOf(span, 'zebra').place, { path: 'a.py', startLine: 11, endLine: 18 });
  });

  test('shows of a long line what says most about the question, wherever that stands, in whole words', () => {
    const about = 'the retry limit is seventeen';
    const others = (count: number): string => 'gamma delta '.repeat(count);
    for (const [before, after] of [
      [300, 300],
      [0, 600],
      [600, 0],
    ] as const) {
      const { text } = quoteOf(
        { ...span, text: `${others(before)}${about} ${others(after)}`.trim() },
        'the retry limit?',
      );
      const shown = text.split('\n')[3]!;
      assert.ok(shown.includes(about), shown);
      assert.match(shown, /^(… )?((gamma|delta|the|retry|limit|is|seventeen) ?)+( …)?$/);
      assert.deepEqual([shown.startsWith('… '), shown.endsWith(' …')], [before > 0, after > 0]);
      assert.ok(shown.length <= 240 + 4, `${shown.length}`);
    }
    const chinese = `${'天地玄黄'.repeat(200)}重试次数是七${'宇宙洪荒'.repeat(200)}`;
    assert.match(quoteOf({ ...span, text: chinese }, '重试次数').text, /… .*重试次数是七.* …/);
  });

  test('holds fences of the lines and cuts very long lines', () => {
    const { text } = quoteOf({ ...span, text: `\`\`\`\n${'x'.repeat(1000)}` }, 'what');
    assert.equal(text, `\`a.py:11-12\`\n\n\`\`\`\`\n\`\`\`\n${'x'.repeat(240)} …\n\`\`\`\``);
  });
});
