/**
 * The ONNX engine against the float64 oracle on tiny random models: every schedule, 12 chunks and a half, prefill and
 * decode, several cuts. Logits to 1e-4, states to 5e-4 (the tolerances of the golden data's README).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Schedule } from '../../src/engine/index.js';
import type { Model } from '../../src/engine/model.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { assertClose, goldenPath } from '../oracle/golden.js';
import * as rules from '../reference/chunks.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import { tinyModel, tinyReading, tinyText, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';
import { LOGITS, huggingFaceCases, measureHuggingFace } from './parity.js';
import { TinyFolder } from './tiny-engine.js';
import type { Variant } from './tiny-engine.js';

const schedules: readonly [Schedule, rules.Schedule][] = [
  [{ kind: 'fixed', slots: 24 }, rules.fixed(24)],
  [{ kind: 'powerLaw', factor: 4, exponent: 0.5 }, rules.powerLaw(4, 0.5)],
  [{ kind: 'saturating', slots: 64 }, rules.saturating(64)],
  [{ kind: 'even', slots: 60, tokens: 200 }, rules.even(60, 200)],
  [{ kind: 'keepEverything' }, rules.keepEverything()],
  [{ kind: 'windowOnly' }, rules.windowOnly()],
];

/** Token counts of the first call, then of each further one: prefill at once, cuts in and at chunks, token by token. */
const cuts: readonly [string, (left: number) => number][] = [
  ['at once', left => left],
  ['7 at a time', () => 7],
  ['by chunk', () => 16],
  ['token by token', () => 1],
];

/** Logits of every token, [n·V]. */
async function logitsOf(session: KvmSession, ids: readonly number[], cut: (left: number) => number): Promise<number[]> {
  const logits: number[] = [];
  for (let done = 0; done < ids.length;) {
    const part = ids.slice(done, done + cut(ids.length - done));
    await prefill(
      session,
      part,
      (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
      pass => void logits.push(...pass.logits),
    );
    done += part.length;
  }
  return logits;
}

const folder = new TinyFolder();
suiteTeardown(() => folder.dispose());

for (const variant of Object.keys(tinyVariants) as Variant[])
  suite(`engine against oracle: ${variant}`, function () {
    this.timeout(120_000);
    const tiny = tinyModel(tinyVariants[variant].model);
    const text = tinyText(variant);
    let model: Model;
    suiteSetup(async () => {
      model = await folder.model(variant);
    });

    for (const [schedule, rule] of schedules) {
      const oracle = new RetrofitOracle({ ...tiny, ...tinyReading, schedule: rule });
      let expected: number[] | undefined;
      // The other families share all but the projections: one cut each is enough for them.
      for (const [name, cut] of variant === 'llama' ? cuts : cuts.slice(1, 2))
        test(`${schedule.kind}, ${name}: logits of 200 tokens, and the state`, async () => {
          expected ??= oracle.feed(text).flatMap(row => [...row]);
          const session = await KvmSession.start(model, { schedule });
          assertClose('logits', await logitsOf(session, [...text], cut), expected, 1e-4);
          assertSlots(session, oracle);
        });
    }
  });

suite('engine against oracle: values fitted for a growing state', function () {
  this.timeout(120_000);
  // 3 layers, 6 query heads, 2 key heads; any values will do that differ and with which no fold is a close call.
  const growing = {
    shareOfLayer: [2, 0, 0.5],
    biasOfHead: [0, 1, 2].map(layer => [0, 1, 2, 3, 4, 5].map(head => 0.3 * (head - layer) - 0.4)),
    temperatureOfKeyHead: [
      [1.2, 0.8],
      [1.1, 0.9],
      [0.7, 1.3],
    ],
    valueScaleOfKeyHead: [
      [0.9, 1.4],
      [2, 2],
      [1.2, 0.6],
    ],
    readDistanceOfKeyHead: [
      [40, 90],
      [64, 64],
      [128, 10],
    ],
  };
  const tiny = tinyModel(tinyVariants.llama.model);
  const text = tinyText('llama');
  const even = rules.even(28, 200);
  const perQueryHead = (ofKeyHeads: readonly number[][]) => ofKeyHeads.map(row => row.flatMap(x => [x, x, x]));
  const oracle = new RetrofitOracle({
    ...tiny,
    ...tinyReading,
    schedule: even,
    scheduleOf: layer => {
      const share = growing.shareOfLayer[layer]!;
      if (share === 0) return rules.windowOnly();
      return { ...even, slots: tokens => Math.floor(share * even.slots(tokens)) };
    },
    stateBias: growing.biasOfHead,
    stateTemperature: perQueryHead(growing.temperatureOfKeyHead),
    stateValueScale: growing.valueScaleOfKeyHead,
    stateReadDistance: growing.readDistanceOfKeyHead,
  });
  let expected: number[];
  let model: Model;
  suiteSetup(async () => {
    model = await folder.model('llama', 'f32', { kvm: { ...tinyReading, growing } });
    expected = oracle.feed(text).flatMap(row => [...row]);
    const { append, merge } = oracle.closestCalls();
    assert.ok(Math.min(append, merge) > 1e-4, `closest calls ${append} and ${merge}`);
  });

  for (const [name, cut] of cuts)
    test(`${name}: logits of 200 tokens, and how many slots`, async () => {
      const session = await KvmSession.start(model, { schedule: { kind: 'even', slots: 28, tokens: 200 } });
      assertClose('logits', await logitsOf(session, [...text], cut), expected, 1e-4);
      assert.equal(
        session.slotsHeld,
        oracle.heads.flat().reduce((sum, { slots }) => sum + slots.length, 0),
      );
    });

  test('where nothing is merged they count for nothing', async () => {
    const kept = new RetrofitOracle({ ...tiny, ...tinyReading, schedule: rules.keepEverything() });
    const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
    const logits = kept.feed(text).flatMap(row => [...row]);
    assertClose('logits', await logitsOf(session, [...text], left => left), logits, 1e-4);
  });
});

/** The checkpoints rotate dimension i with i + d/2; the engine keeps such pairs side by side. */
function adjacentPairs(key: ArrayLike<number>): number[] {
  return Array.from({ length: key.length }, (_, i) => key[i % 2 === 0 ? i / 2 : (key.length + i - 1) / 2]!);
}

/** Sums, counts and radii of every slot, in order. */
function assertSlots(session: KvmSession, oracle: RetrofitOracle): void {
  const slots = oracle.heads.flat().map(head => head.slots);
  const { keySum, valueSum, count, keyRadius, valueRadius } = session.slots;
  assert.equal(session.slots.slots, slots[0]!.length, 'slots');
  const all = slots.flat();
  assert.deepEqual(
    [...count],
    all.map(slot => slot.count),
    'counts',
  );
  assertClose(
    'key sums',
    keySum,
    all.flatMap(slot => adjacentPairs(slot.key)),
    5e-4,
  );
  assertClose(
    'value sums',
    valueSum,
    all.flatMap(slot => [...slot.value]),
    5e-4,
  );
  assertClose(
    'key radii',
    keyRadius,
    all.map(slot => slot.keyRadius),
    5e-4,
  );
  assertClose(
    'value radii',
    valueRadius,
    all.map(slot => slot.valueRadius),
    5e-4,
  );
}

suite('engine against oracle: key heads', function () {
  this.timeout(60_000);

  // A chunk attends one key head after another, so one for all query heads and one for each are the ends.
  for (const keyHeads of [1, 6])
    test(`${keyHeads} for 6 query heads: logits of 100 tokens, by chunk and token by token`, async () => {
      const tiny = tinyModel({ keyHeads });
      const source = join(folder.path, `${keyHeads}-checkpoint`);
      writeTinyModel(tiny, source);
      const model = await folder.convert(source, `key-heads-${keyHeads}`, 'f32', { kvm: tinyReading });
      const ids = [...tinyText('llama')].slice(0, 100);
      const oracle = new RetrofitOracle({ ...tiny, ...tinyReading, schedule: rules.keepEverything() });
      const expected = oracle.feed(ids).flatMap(row => [...row]);
      for (const cut of [() => 16, () => 1]) {
        const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
        assertClose('logits', await logitsOf(session, ids, cut), expected, 1e-4);
      }
    });
});

suite('engine: golden logits of Hugging Face models', function () {
  this.timeout(60_000);

  for (const name of huggingFaceCases)
    test(`${name}: 96 prompt tokens to 1e-4, 16 greedy tokens`, async () => {
      const model = await folder.convert(goldenPath(name), name.replace('/', '-'), 'f32');
      const { logits, greedy } = await measureHuggingFace(name, model);
      assert(logits <= LOGITS, `logits: off by ${logits}`);
      assert(greedy, 'greedy tokens');
    });
});
