/** The parts of `npm run bench -- recall` that need neither a registry nor a model: ranks, figures, BM25, questions from prose. */
import assert from 'node:assert/strict';

interface Figure {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

async function part<T>(name: string): Promise<T> {
  return (await import(new URL(`../../../bench/recall/${name}`, import.meta.url).href)) as T;
}

const { figuresOf, ratioOf } = await part<{
  figuresOf: (ranks: number[], seed?: number) => Record<'mrr' | 'at1' | 'at5', Figure>;
  ratioOf: (ranks: number[], others: number[]) => Figure;
}>('figures.mjs');
const { rankOf } = await part<{ rankOf: (scores: number[], right: number[]) => number }>('ranking.mjs');
const { wordScorer, words } = await part<{
  words: (text: string) => string[];
  wordScorer: (texts: string[]) => (question: string) => Float64Array;
}>('words.mjs');
const { questionOf, sentencesOf } = await part<{
  sentencesOf: (text: string) => string[];
  questionOf: (
    sentence: string,
    names: Map<string, number>,
    files: { path: string }[],
  ) => { text: string; right: number[]; name: string } | undefined;
}>('prose-questions.mjs');

suite('recall benchmark', () => {
  test('the rank of the right one: ties with wrong ones and what is no number count against it', () => {
    assert.equal(rankOf([3, 2, 1], [0]), 1);
    assert.equal(rankOf([3, 2, 2], [1]), 3);
    assert.equal(rankOf([0, 0, 0], [1]), 3);
    assert.equal(rankOf([NaN, 1, 2], [0]), 3);
    // Of two right ones the better counts, and the other is not in its way.
    assert.equal(rankOf([1, 5, 5, 9], [1, 2]), 2);
  });

  test('figures of ranks 1, 2, 4, never: by hand, within an interval that does not depend on the run', () => {
    const { mrr, at1, at5 } = figuresOf([1, 2, 4, Infinity]);
    assert.equal(mrr.value, (1 + 1 / 2 + 1 / 4) / 4);
    assert.equal(at1.value, 1 / 4);
    assert.equal(at5.value, 3 / 4);
    assert.ok(mrr.low >= 0 && mrr.low < mrr.value && mrr.value < mrr.high && mrr.high <= 1);
    assert.deepEqual(figuresOf([1, 2, 4, Infinity]), figuresOf([1, 2, 4, Infinity]));
    assert.deepEqual(figuresOf([2, 2, 2]).mrr, { value: 0.5, low: 0.5, high: 0.5 });
  });

  test('the interval of a mean: 95 % of a fair coin’s 400 throws lie within 1.96 · 0.025 of a half', () => {
    const { low, high } = figuresOf(Array.from({ length: 400 }, (_, at) => (at % 2 === 0 ? 1 : Infinity))).at1;
    assert.ok(
      Math.abs(0.5 - 1.96 * 0.025 - low) < 0.01 && Math.abs(0.5 + 1.96 * 0.025 - high) < 0.01,
      `${low} ${high}`,
    );
  });

  test('a ratio is taken on the same questions: twice as good on each is twice, without doubt', () => {
    assert.deepEqual(ratioOf([1, 2, 4], [2, 4, 8]), { value: 2, low: 2, high: 2 });
  });

  test('words are split at case and underscores; BM25 by hand', () => {
    assert.deepEqual(words('sendRequest_now(HTTPError)'), ['send', 'request', 'now', 'httperror']);
    const scores = wordScorer(['send it', 'close it it it'])('send');
    // Two documents of 2 and 4 words, one has the word once: ln(1 + 1.5/1.5) · 2.2 / (1 + 1.2 (0.25 + 0.75 · 2/3)).
    assert.ok(Math.abs(scores[0]! - (Math.log(2) * 2.2) / (1 + 1.2 * (0.25 + (0.75 * 2) / 3))) < 1e-12);
    assert.equal(scores[1], 0);
  });

  test('a sentence asks for the one thing that it names, without its name', () => {
    const files = [{ path: 'lib/client.js' }, { path: 'lib/pool.js' }];
    const names = new Map([
      ['buildConnector', 1],
      ['close', 0],
    ]);
    const ask = (sentence: string): ReturnType<typeof questionOf> => questionOf(sentence, names, files);
    assert.deepEqual(ask('Call `buildConnector(options)` to get what opens all sockets of one origin (#12).'), {
      name: 'buildConnector',
      right: [1],
      text: 'Call to get what opens all sockets of one origin .',
    });
    assert.deepEqual(
      ask('The queue of requests that wait is kept in lib/client.js until a socket is free.')?.right,
      [0],
    );
    assert.equal(ask('The word close is no name where it stands alone in a sentence like this.'), undefined);
    assert.equal(ask('Both `close` and `buildConnector` are named here, so it is not clear which.'), undefined);
    assert.equal(ask('See `buildConnector`.'), undefined);
  });

  test('sentences come from paragraphs and lists, not from code, headings or tables', () => {
    const text =
      '# Title\n\nOne sentence\nin two lines. Another.\n\n```js\ncode();\n```\n\n- An item.\n\n| a | b |\n\n    indented code\n';
    assert.deepEqual(sentencesOf(text), ['One sentence in two lines.', 'Another.', 'An item.']);
  });
});
