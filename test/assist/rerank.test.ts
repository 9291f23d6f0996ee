/** Places that scored alike, ordered by how likely the question is behind them: a nat counts a tenth (rerank.ts). */
import assert from 'node:assert/strict';
import { ask } from '../../src/assist/index.js';
import { reranked } from '../../src/assist/rerank.js';
import { LongviewError } from '../../src/base/index.js';
import type { RecalledSpan } from '../../src/memory/index.js';
import { FakeEngine } from '../memory/fake-engine.js';
import { Folder } from '../memory/folder.js';

const question = 'Where is the cache emptied?';

function spanOf(path: string, score: number, text = `lines of ${path}`): RecalledSpan {
  return { path, startLine: 1, endLine: text.split('\n').length, score, text };
}

/** An engine for which the question costs so many nats behind the lines of each path. */
function engineOf(nats: Readonly<Record<string, number>>): FakeEngine & { readonly asked: string[] } {
  const asked: string[] = [];
  const engine = Object.assign(new FakeEngine(), { asked });
  engine.natsAfter = (text, continuation) => {
    assert.equal(continuation, question);
    asked.push(text);
    return nats[/^File (\S+):/.exec(text)![1]!]!;
  };
  return engine;
}

suite('reranking', () => {
  test('places near the best are ordered by score and nats, the others stay behind them', async () => {
    const spans = [spanOf('a', 3), spanOf('b', 2.9), spanOf('c', 2.8), spanOf('d', 2.2)];
    // 3 - 2 = 1, 2.9 - 0.5 = 2.4, 2.8 - 3 = -0.2; d is 0.8 below the best.
    const engine = engineOf({ a: 20, b: 5, c: 30, d: 0 });
    const order = await reranked({ engine, question, spans });
    assert.deepEqual(order, [spans[1], spans[0], spans[2], spans[3]]);
    assert.equal(engine.asked.length, 3);
    assert.equal(engine.asked[0], 'File a:\nlines of a\n\nQuestion about these lines: ');
  });

  test('of a long place its first line and those that the question finds most', async () => {
    const text = Array.from({ length: 30 }, (_, i) => `line ${i + 11}`).join('\n');
    const long = { ...spanOf('a', 1, text), startLine: 11, endLine: 40, focus: { startLine: 20, endLine: 21 } };
    const engine = engineOf({ a: 1, b: 1 });
    await reranked({ engine, question, spans: [long, spanOf('b', 1)] });
    assert.equal(engine.asked[0], 'File a:\nline 11\nline 20\nline 21\n\nQuestion about these lines: ');
  });

  test('a nat more does not outweigh what recall says clearly', async () => {
    const spans = [spanOf('a', 3), spanOf('b', 2.5)];
    assert.deepEqual(await reranked({ engine: engineOf({ a: 11, b: 10 }), question, spans }), spans);
  });

  test('one place, none, and a best one far ahead are as they were, and cost nothing', async () => {
    const engine = engineOf({});
    for (const spans of [[], [spanOf('a', 1)], [spanOf('a', 3), spanOf('b', 2.2)]])
      assert.equal(await reranked({ engine, question, spans }), spans);
    assert.deepEqual(engine.asked, []);
  });

  test('six places at most, and of each what fits: not a file of a megabyte', async () => {
    const long = `${'word '.repeat(50)}\n`.repeat(4000);
    const spans = Array.from({ length: 9 }, (_, i) => spanOf(`f${i}`, 1, long));
    const engine = engineOf(Object.fromEntries(spans.map(({ path }) => [path, 1])));
    await reranked({ engine, question, spans });
    assert.equal(engine.asked.length, 6);
    for (const text of engine.asked) assert.ok(text.length < 1500, `${text.length} characters`);
  });

  test('a small model’s answer uses the new order; where the engine is lost meanwhile, recall’s', async () => {
    const waits = 'def wait_for_backoff(request):\n    return request\n';
    const folder = await Folder.of({ 'a.py': waits, 'b.py': waits, 'c.py': 'def close(pool):\n    pool.clear()\n' });
    try {
      const engine = new FakeEngine();
      const { heads } = engine.model;
      Object.assign(engine.model, { heads: 8 });
      const memory = await folder.memory(engine);
      const asked = async (): Promise<string[]> => {
        const { recalled } = await ask({ memory, engine, question: 'Where does a request wait for its backoff?' });
        return recalled.map(({ path }) => path);
      };
      const paths = await asked();
      const [first, second] = paths as [string, string];
      assert.deepEqual([first, second].sort(), ['a.py', 'b.py'], 'equal lines score alike');
      engine.natsAfter = text => (text.includes(second) ? 1 : 9);
      assert.deepEqual(await asked(), [second, first, ...paths.slice(2)]);
      Object.assign(engine.model, { heads });
      assert.deepEqual(await asked(), paths, 'a larger model is not asked');
      Object.assign(engine.model, { heads: 8 });
      engine.natsAfter = () => {
        throw new LongviewError('engine-crashed', 'The engine stopped.');
      };
      assert.deepEqual(await asked(), paths);
    } finally {
      await folder.dispose();
    }
  });
});
