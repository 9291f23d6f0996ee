/** The judge of `npm run bench -- answers`, and its set: what the figures of docs/measurements rest on. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Place {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}
interface Judged {
  readonly cited: number;
  readonly citedRight: number;
  readonly struckOut: number;
  readonly hasWord: boolean | undefined;
  readonly saysSo: boolean;
  readonly madeUp: readonly string[];
}
interface Judge {
  rankOf(places: readonly Place[], right: readonly Place[]): number | undefined;
  judgedAnswer(question: unknown, result: unknown, texts: ReadonlyMap<string, string>): Judged;
}
interface Figure {
  readonly name: string;
  readonly value?: number;
  readonly low?: number;
  readonly high?: number;
}
interface Report {
  figuresOf(judged: readonly unknown[], withAnswers: boolean): readonly Figure[];
}
interface Repository {
  readonly name: string;
  readonly part: string;
  readonly language: string;
  readonly questions: readonly { readonly question: string; readonly places: readonly Place[] }[];
}
interface Set {
  readSet(): readonly Repository[];
  hasWord(text: string, word: string): boolean;
}

async function load(name: string): Promise<unknown> {
  return import(pathToFileURL(resolve('bench/answers', name)).toString());
}

const place = (path: string, startLine: number, endLine: number): Place => ({ path, startLine, endLine });
const coverage = 'Coverage: 2 of 2 files.';
const timing = { totalMs: 2000, firstTokenMs: 500 };
const texts = new Map([
  ['src/a.py', 'import settings.toml\n'],
  ['src/b.py', '\n'],
]);

suite('bench answers', () => {
  let judge: Judge;
  let report: Report;
  let set: Set;
  suiteSetup(async () => {
    judge = (await load('judge.mjs')) as Judge;
    report = (await load('report.mjs')) as Report;
    set = (await load('set.mjs')) as Set;
  });

  const judged = (text: string, citations: readonly object[] = []): Judged => {
    const question = { places: [place('src/a.py', 10, 20)], words: ['16'] };
    return judge.judgedAnswer(question, { answer: `${text}\n\n${coverage}`, citations, timing }, texts);
  };

  test('the set: 150 questions with a place and 15 without one at least, 6 repositories, two parts, no question twice', () => {
    const repositories = set.readSet();
    const questions = repositories.flatMap(one => one.questions);
    assert.ok(repositories.length >= 6);
    assert.ok(questions.filter(({ places }) => places.length > 0).length >= 150);
    assert.ok(questions.filter(({ places }) => places.length === 0).length >= 15);
    assert.deepEqual([...new Set(repositories.map(({ part }) => part))], ['tuning', 'report']);
    assert.ok(new Set(repositories.map(({ language }) => language)).size >= 3);
    assert.equal(new Set(questions.map(({ question }) => question)).size, questions.length);
  });

  test('a word counts as a whole, a long one as the beginning of another too, signs count anywhere', () => {
    assert.ok(set.hasWord('At most 16.', '16'));
    assert.ok(!set.hasWord('At most 164 or a16', '16'));
    assert.ok(set.hasWord('${NAME:-none}', ':-'));
    assert.ok(set.hasWord('a RangeError', 'rangeerror'));
    assert.ok(set.hasWord('It is resized.', 'resize'));
    assert.ok(!set.hasWord('It is presized.', 'resize'));
    assert.ok(!set.hasWord('nonexistent', 'none'));
  });

  test('the rank of a place is that of the first that shares a line with a right one', () => {
    const right = [place('src/a.py', 10, 20)];
    assert.equal(judge.rankOf([place('src/b.py', 10, 20), place('src/a.py', 20, 30)], right), 2);
    assert.equal(judge.rankOf([place('src/a.py', 1, 9), place('src/a.py', 21, 30)], right), undefined);
  });

  test('only citations that hold count, and the lines in them are no words', () => {
    const one = judged('In `src/a.py:16-18`, see ~~src/c.py:1~~ (no such file).', [
      { ...place('src/a.py', 16, 18), ok: true },
      { ...place('src/c.py', 1, 1), ok: false, why: 'no such file' },
    ]);
    assert.deepEqual(
      { cited: one.cited, right: one.citedRight, struckOut: one.struckOut, word: one.hasWord, madeUp: one.madeUp },
      { cited: 1, right: 1, struckOut: 1, word: false, madeUp: [] },
    );
    assert.equal(judged('It is 16.').hasWord, true);
  });

  test('a file is made up if it is neither in the repository nor in its texts', () => {
    assert.deepEqual(judged('See lib/c.py, a.py, `./settings.toml`, Node.js and https://x.org/d.js.').madeUp, [
      'lib/c.py',
    ]);
    assert.deepEqual(judged('In it.', [{ ...place('src/c.py', 1, 1), ok: true }]).madeUp, ['src/c.py']);
  });

  test('an answer says so if nothing is cited, or in words', () => {
    const cited = [{ ...place('src/a.py', 1, 2), ok: true }];
    assert.equal(judged('In it.').saysSo, true);
    assert.equal(judged('The value is 3.', cited).saysSo, false);
    assert.equal(judged('The file does not mention encryption.', cited).saysSo, true);
    assert.equal(judged(`The value.\n\nNo word of the question stands in the places recalled.`, cited).saysSo, true);
  });

  test('figures: shares over the questions that say something, within their intervals', () => {
    const of = (rank: number | undefined): unknown => ({
      there: true,
      rank,
      shownRank: rank,
      shown: 3,
      shownLines: 30,
    });
    const figures = report.figuresOf(
      [of(1), of(2), of(4), of(undefined), { there: false, shown: 1, shownLines: 2 }],
      false,
    );
    const figure = (name: string): Figure => figures.find(one => one.name === name)!;
    assert.equal(figure('recall@1').value, 1 / 4);
    assert.equal(figure('recall@3').value, 2 / 4);
    assert.equal(figure('recall, all').value, 3 / 4);
    assert.equal(figure('MRR').value, (1 + 1 / 2 + 1 / 4) / 4);
    assert.equal(figure('passages in the prompt').value, 13 / 5);
    for (const { value, low, high } of figures) assert.ok(low! <= value! && value! <= high!);
    assert.deepEqual({ low: figure('recall@1').low, high: figure('recall@1').high }, { low: 0, high: 0.75 });
  });
});
