/** The benchmark's measure: mean negative log likelihood against the float64 oracle, by schedule and window. */
import assert from 'node:assert/strict';
import type { Engine, LossOptions } from '../../src/engine/index.js';
import { assertClose } from '../oracle/golden.js';
import * as rules from '../reference/chunks.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import type { RetrofitOptions } from '../reference/retrofit.js';
import { distinctTokens, tinyModel, tinyReading, tinyVariants } from '../reference/tiny-model.js';
import { openShared } from './tiny-shared.js';

const tiny = tinyModel(tinyVariants.llama.model);

/** Mean over tokens `from`.. of -log softmax, each under the logits after the token before it. */
function expectedLoss(ids: readonly number[], from: number, options: Partial<RetrofitOptions>): number {
  const schedule = rules.keepEverything();
  const rows = new RetrofitOracle({ ...tiny, ...tinyReading, schedule, ...options }).feed(ids);
  const losses = ids.slice(from).map((id, i) => {
    const logits = rows[from + i - 1]!;
    const top = Math.max(...logits);
    return top + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0)) - logits[id]!;
  });
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

suite('loss of a text', function () {
  this.timeout(60_000);
  let engine: Engine;
  suiteSetup(async () => {
    engine = await openShared();
  });

  // 120 different characters, so that no two slots tie.
  const ids = [...distinctTokens(120, 124, 21)].map(id => id + 2);
  const text = String.fromCharCode(...ids);

  for (const [name, schedule, options] of [
    ['full attention', { kind: 'full' }, { windowChunks: 100 }],
    ['nothing merged', { kind: 'keepEverything' }, {}],
    ['window and sinks only', { kind: 'windowOnly' }, { schedule: rules.windowOnly() }],
    ['grown evenly', { kind: 'even', slots: 40, tokens: 120 }, { schedule: rules.even(40, 120) }],
  ] satisfies [string, LossOptions['schedule'], Partial<RetrofitOptions>][])
    test(`${name}: the oracle’s, from a token in mid-chunk`, async () => {
      const { loss, tokens } = await engine.loss(text, { schedule, from: 37, limit: 1000 });
      assert.equal(tokens, ids.length - 37);
      assertClose('loss', [loss], [expectedLoss(ids, 37, options)], 1e-4);
    });

  test('of a continuation after each of several texts: the oracle’s sum over its tokens', async () => {
    const [before, after] = [text.slice(0, 20), text.slice(20, 27)];
    const losses = await engine.lossAfter([before, text.slice(9, 20)], after);
    const expected = [ids.slice(0, 27), ids.slice(9, 27)].map(own => 7 * expectedLoss(own, own.length - 7, {}));
    assertClose('losses', [...losses], expected, 1e-3);
  });

  test('of a continuation after nothing: all of its tokens but the first', async () => {
    const [loss] = await engine.lossAfter([''], text.slice(0, 8));
    assertClose('loss', [loss!], [7 * expectedLoss(ids.slice(0, 8), 1, {})], 1e-3);
  });

  test('window and read distance can be chosen; the limit cuts the text', async () => {
    const schedule = { kind: 'keepEverything' } as const;
    const { loss, tokens } = await engine.loss(text, {
      schedule,
      from: 20,
      limit: 90,
      windowChunks: 1,
      readDistance: 7,
    });
    assert.equal(tokens, 70);
    assertClose('loss', [loss], [expectedLoss(ids.slice(0, 90), 20, { windowChunks: 1, readDistance: 7 })], 1e-4);
  });

  test('the first token has nothing before it and does not count', async () => {
    const { loss, tokens } = await engine.loss(text, { schedule: { kind: 'full' }, from: 0, limit: 40 });
    assert.equal(tokens, 39);
    assertClose('loss', [loss], [expectedLoss(ids.slice(0, 40), 1, { windowChunks: 100 })], 1e-4);
  });

  test('a text without such tokens is refused; a cancelled measure ends', async () => {
    const options = { schedule: { kind: 'full' }, from: 50, limit: 50 } as const;
    await assert.rejects(engine.loss(text, options), { code: 'usage' });
    await assert.rejects(engine.loss('', options), { code: 'usage' });
    const signal = AbortSignal.abort();
    await assert.rejects(engine.loss(text, { ...options, from: 5, signal }), { code: 'cancelled' });
  });
});
