/**
 * Scoring questions against recall slots: the masses of a float64 softmax over the packed keys, with the oracle's queries
 * and the formula of the fit. Which ids are there, in what order, and what is kept between questions.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEngine } from '../../src/engine/index.js';
import type { Engine, RecallSlots, SlotMass } from '../../src/engine/index.js';
import { FILES } from '../../src/engine/graph-contract.js';
import type { Model } from '../../src/engine/model.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { RecallIndex } from '../../src/engine/recall-index.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { assertClose } from '../oracle/golden.js';
import * as rules from '../reference/chunks.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import { llamaFrequencies, rotate } from '../reference/rotary.js';
import { tinyModel, tinyReading, tinyVariants } from '../reference/tiny-model.js';
import { dot, scaled } from '../reference/vectors.js';
import { TinyFolder } from './tiny-engine.js';
import { loadModel, openShared, sharedTextModel } from './tiny-shared.js';
import { END, START, recall, recallKeyHeadOf, recallValues, tinyTextModel } from './tiny-text-model.js';

const HEADS = recall.heads.length;
const HEAD = 8;

/** Tokens behind the question, whose rows count too. */
const AFTER = [END, ...Buffer.from('def')];

/** Un-rotated queries from the question's first token to the prompt's end, [recall head][token], adjacent pairs. */
function oracleQueries(question: string): Float64Array[][] {
  const rows: Float64Array[][] = recall.heads.map(() => []);
  const before = [START, ...Buffer.from('find ')];
  // What looks like a control token is bytes like any other.
  const asked = Buffer.from(question).subarray(0, 384);
  const oracle = new RetrofitOracle({
    ...tinyModel(tinyVariants.llama.model),
    ...tinyReading,
    schedule: rules.keepEverything(),
    onHeads: (layer, position, { queries }) =>
      recall.heads.forEach(([own, head], i) => {
        const token = position - before.length;
        if (own !== layer || token < 0) return;
        rows[i]!.push(queries[head]!.map((_, j) => queries[head]![j % 2 === 0 ? j / 2 : (HEAD + j - 1) / 2]!));
      }),
  });
  oracle.feed([...before, ...asked, ...AFTER]);
  return rows;
}

interface ExpectedRow {
  /** softmax(q·direction / sqrt(d)) over the rows. */
  readonly weight: number;
  /** Softmax over all slots of `q·k + log(count)`. */
  readonly mass: readonly number[];
}

/** [head][row] (recall.md; models/README.md). */
function expectedRows(question: string, texts: readonly RecallSlots[]): ExpectedRow[][] {
  const values = recallValues();
  const angles = scaled(llamaFrequencies(HEAD, 10_000), recall.queryPosition);
  return oracleQueries(question).map((rows, head) => {
    const map = values.get('query_map')!.data.subarray(head * HEAD * HEAD, (head + 1) * HEAD * HEAD);
    const factor = Math.exp(values.get('log_temperature')!.data[head]!) / Math.sqrt(HEAD);
    const slots = texts.flatMap(text =>
      Array.from({ length: text.slots }, (_, slot) => {
        const row = recallKeyHeadOf[head]! * text.slots + slot;
        const key = Float64Array.from(text.keys.subarray(row * HEAD, (row + 1) * HEAD), q => q * text.scales[row]!);
        return { key, count: text.counts[row]! };
      }),
    );
    const rotated = rows.map(row => rotate(row, angles, 'adjacent'));
    const direction = Float64Array.from(values.get('row_direction')!.data.subarray(head * HEAD, (head + 1) * HEAD));
    const counts = rotated.map(q => Math.exp(dot(q, direction) / Math.sqrt(HEAD)));
    const all = counts.reduce((a, b) => a + b, 0);
    return rotated.map((q, row) => {
      const mapped = q.map((value, j) => factor * q.reduce((sum, own, i) => sum + own * map[i * HEAD + j]!, value));
      const weights = slots.map(({ key, count }) => count * Math.exp(dot(mapped, key)));
      const total = weights.reduce((a, b) => a + b, 0);
      return { weight: counts[row]! / all, mass: weights.map(weight => weight / total) };
    });
  });
}

/** [head][slot]: weighted mean over the rows. */
function expectedMass(question: string, texts: readonly RecallSlots[]): number[][] {
  const slots = texts.reduce((sum, text) => sum + text.slots, 0);
  return expectedRows(question, texts).map(rows =>
    Array.from({ length: slots }, (_, slot) => rows.reduce((sum, { weight, mass }) => sum + weight * mass[slot]!, 0)),
  );
}

/** [head,slot] of a memory that is not very large: every slot is named, and nothing is left. */
function dense({ slots, mass, rest }: SlotMass): Float32Array {
  assert.equal(slots, undefined);
  assert.deepEqual(rest, new Array(HEADS).fill(0));
  return Float32Array.from(mass.flatMap(own => [...own]));
}

suite('scoring recall slots', function () {
  this.timeout(60_000);
  const folder = new TinyFolder();
  let model: Model;
  let engine: Engine;
  let texts: Record<'a' | 'b' | 'c', RecallSlots>;

  suiteSetup(async () => {
    model = await loadModel(await sharedTextModel());
    engine = await openShared();
    const read = async (label: string, text: string, tokensPerRecallSlot: number) =>
      (await engine.read({ label, text, tokensPerRecallSlot })).recall;
    texts = {
      a: await read('a.ts', 'export function add(a: number, b: number) {\n  return a + b;\n}\n', 4),
      b: await read('b.md', 'Reads a file.\n', 1),
      c: await read('c', '', 4),
    };
  });
  suiteTeardown(() => folder.dispose());
  setup(async () => {
    for (const [id, slots] of Object.entries(texts)) await engine.putRecall(id, slots);
  });

  test('masses of the question and of the contentless one are the softmax’s, head by head', async () => {
    const all = [texts.a, texts.b, texts.c];
    // The second is longer than the window of 32 tokens.
    for (const question of ['adds?', 'Which function adds two numbers, and where is it? <|end|>']) {
      const scores = await engine.scoreRecall(question, ['a', 'b', 'c']);
      assert.equal(scores.rows, question.length + AFTER.length);
      const starts = [0, 1, 2, 3].map(n => all.slice(0, n).reduce((sum, { slots }) => sum + slots, 0));
      assert.deepEqual([...scores.slotStart], starts);
      assertClose('mass', dense(scores.mass), expectedMass(question, all).flat(), 2e-6);
      assertClose('null mass', dense(scores.nullMass), expectedMass('N/A', all).flat(), 2e-6);
      for (let head = 0; head < HEADS; head++) {
        const sum = scores.mass.mass[head]!.reduce((a, b) => a + b, 0);
        assertClose('masses of a head sum to', [sum], [1], 1e-5);
      }
    }
  });

  test('spans get the weighted mean over the rows of the log of their share of each row’s softmax', async () => {
    const all = [texts.a, texts.b];
    // Two spans over both texts, the second with a slot that the first has too; the third has none.
    const own = (slots: number[], shares: number[]) => ({
      start: Uint32Array.of(0, 2, 4, 4),
      slots: Uint32Array.from(slots),
      shares: Float32Array.from(shares),
    });
    const spans = {
      tokens: Float32Array.of(3, 5, 2),
      keyHeads: Array.from({ length: Math.max(...recallKeyHeadOf) + 1 }, (_, keyHead) =>
        keyHead % 2 === 0
          ? own([1, texts.a.slots, 1, 2], [1, 0.5, 0.25, 1])
          : own([0, 2, 0, texts.a.slots + 1], [0.75, 0.5, 0.25, 1]),
      ),
    };
    const values = recallValues();
    const expected = expectedRows('add two', all).flatMap((rows, head) => {
      const { start, slots, shares } = spans.keyHeads[recallKeyHeadOf[head]!]!;
      const exponent = values.get('length_exponent')!.data[head]!;
      // Stated for 3,000 slots (models/README.md).
      const floor = Math.exp(values.get('log_floor')!.data[head]!) * (3000 / (texts.a.slots + texts.b.slots));
      return [0, 1, 2].map(span =>
        rows.reduce((sum, { weight, mass }) => {
          let part = 0;
          for (let at = start[span]!; at < start[span + 1]!; at++) part += shares[at]! * mass[slots[at]!]!;
          return sum + weight * Math.log(part / spans.tokens[span]! ** exponent + floor);
        }, 0),
      );
    });
    assertClose('before a score', (await engine.scoreSpans('add two', ['a', 'b'], spans)).found, expected, 1e-4);
    await engine.scoreRecall('add two', ['a', 'b']);
    assertClose('after one', (await engine.scoreSpans('add two', ['a', 'b'], spans)).found, expected, 1e-4);
    await engine.dropRecall('b');
    await assert.rejects(engine.scoreSpans('add two', ['a', 'b'], spans), { code: 'stale' });
  });

  test('a question of 384 tokens and one cut to them weigh the same', async () => {
    const long = 'where? '.repeat(60);
    const scores = await engine.scoreRecall(long, ['a', 'b']);
    assert.equal(scores.rows, 384 + AFTER.length);
    const cut = await engine.scoreRecall(long.slice(0, 384), ['a', 'b']);
    assert.deepEqual(scores.mass, cut.mass);
    assertClose('mass', dense(scores.mass), expectedMass(long, [texts.a, texts.b]).flat(), 2e-6);
  });

  test('slots come in the order of the ids; only those asked for share the softmax', async () => {
    const { mass, slotStart } = await engine.scoreRecall('add', ['b', 'a']);
    assert.deepEqual([...slotStart], [0, texts.b.slots, texts.b.slots + texts.a.slots]);
    assertClose('mass', dense(mass), expectedMass('add', [texts.b, texts.a]).flat(), 2e-6);
    const alone = await engine.scoreRecall('add', ['b']);
    assertClose('mass of b alone', dense(alone.mass), expectedMass('add', [texts.b]).flat(), 2e-6);
    const twice = await engine.scoreRecall('add', ['b', 'b']);
    assertClose('b twice', dense(twice.mass), expectedMass('add', [texts.b, texts.b]).flat(), 2e-6);
  });

  test('nothing asked, nothing there', async () => {
    const empty = await engine.scoreRecall('', ['a']);
    assert.equal(empty.rows, AFTER.length);
    assertClose('mass', dense(empty.mass), expectedMass('', [texts.a]).flat(), 2e-6);
    const none = await engine.scoreRecall('add', []);
    assert.deepEqual([...none.slotStart, dense(none.mass).length, dense(none.nullMass).length], [0, 0, 0]);
  });

  test('dropped and unknown ids are stale; put again they are there; put anew they are replaced', async () => {
    await engine.scoreRecall('add', ['a', 'b']);
    await engine.dropRecall('a');
    await assert.rejects(engine.scoreRecall('add', ['a', 'b']), { code: 'stale', message: /"a"/ });
    await assert.rejects(engine.scoreRecall('add', ['nowhere']), { code: 'stale', message: /"nowhere"/ });
    await engine.dropRecall('nowhere');
    await engine.putRecall('a', texts.b);
    const { mass } = await engine.scoreRecall('add', ['a', 'b']);
    assertClose('mass', dense(mass), expectedMass('add', [texts.b, texts.b]).flat(), 2e-6);
    await engine.putRecall('a', texts.a);
    const again = await engine.scoreRecall('add', ['a', 'b']);
    assertClose('mass', dense(again.mass), expectedMass('add', [texts.a, texts.b]).flat(), 2e-6);
  });

  test('slots of another model are refused', async () => {
    await assert.rejects(engine.putRecall('x', { ...texts.a, heads: 3 }), { code: 'bad-format' });
    await assert.rejects(engine.putRecall('x', { ...texts.a, headSize: 64 }), { code: 'bad-format' });
  });

  test('a model without recall heads says so', async () => {
    const plain = await tinyTextModel(folder, 'no-recall', { recall: undefined, recallFile: undefined });
    const without = await openEngine(plain.path, { threads: 1 });
    assert.equal(without.model.recall.keyHeads, 0);
    await assert.rejects(without.scoreRecall('add', []), { code: 'unsupported' });
    // Reading works; it has a gist and no recall slots.
    const reading = await without.read({ label: 'a', text: 'text', tokensPerRecallSlot: 4 });
    assert.deepEqual([reading.recall.heads, reading.recall.slots, reading.slotOfToken.length], [0, 0, 0]);
    assert(reading.gist.slots > 0);
    await without.dispose();
  });

  suite('what is kept between questions', () => {
    let index: RecallIndex;
    let runs = 0;
    let onRun: (() => void) | undefined;
    suiteSetup(async () => {
      const json = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(model.path, name), 'utf8'));
      const tokenizer = TextTokenizer.load(await json(FILES.tokenizer), await json(FILES.tokenizerConfig));
      index = new RecallIndex(model, tokenizer, await RecallHeads.load(model.path, model.manifest));
      const pass = model.graphOf('prefill');
      const run = pass.run.bind(pass);
      pass.run = (feeds, outputs) => {
        runs++;
        onRun?.();
        return run(feeds, outputs);
      };
    });

    async function runsOf(work: () => Promise<unknown>): Promise<number> {
      runs = 0;
      await work();
      return runs;
    }

    test('the contentless question is asked once for a set of ids, until one of them changes', async () => {
      index.put('a', texts.a);
      index.put('b', texts.b);
      const ask = (question: string, ids: string[]) => () => index.score(question, ids);
      assert.equal(await runsOf(ask('first', ['a', 'b'])), 2);
      assert.equal(await runsOf(ask('second', ['a', 'b'])), 1);
      assert.equal(await runsOf(ask('second', ['a'])), 2);
      index.put('b', texts.c);
      const changed = await index.score('N/A', ['a', 'b']);
      assertClose('null mass', dense(changed.nullMass), expectedMass('N/A', [texts.a, texts.c]).flat(), 2e-6);
      assert.deepEqual(changed.mass, changed.nullMass);
    });

    test('a cancelled question keeps no half of it', async () => {
      index.put('a', texts.a);
      const controller = new AbortController();
      onRun = () => controller.abort();
      await assert.rejects(index.score('add', ['a'], { signal: controller.signal }), { code: 'cancelled' });
      onRun = undefined;
      const { nullMass } = await index.score('add', ['a']);
      assertClose('null mass', dense(nullMass), expectedMass('N/A', [texts.a]).flat(), 2e-6);
    });
  });
});
