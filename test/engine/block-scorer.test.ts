/**
 * Scoring all slots block by block: each head's weighted mean of a float64 softmax over all slots, whatever their number, the
 * rows' and the logits' size. Which rows go together.
 */
import assert from 'node:assert/strict';
import { BlockScorer, rowGroups } from '../../src/engine/block-scorer.js';
import { EvenBlocks } from '../../src/engine/slot-blocks.js';
import type { SlotTable } from '../../src/engine/slot-blocks.js';
import type { QueryRows } from '../../src/engine/slot-softmax.js';

const HEAD = 8;
const KEY_HEADS = 2;

/** The same numbers on every run, from 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

function table(slots: number, next: () => number): SlotTable {
  const cells = KEY_HEADS * slots;
  return {
    slots,
    keys: Int8Array.from({ length: cells * HEAD }, () => Math.round(254 * next() - 127)),
    scales: Float32Array.from({ length: cells }, () => 0.01 + 0.02 * next()),
    logCounts: Float32Array.from({ length: cells }, () => Math.log(1 + Math.floor(7 * next()))),
  };
}

/** Rows whose logits go up to about 20 times `size`. */
function queryRows(rowsOf: readonly number[], size: number, next: () => number): QueryRows {
  const starts = rowsOf.reduce((all, rows) => [...all, all.at(-1)! + rows], [0]);
  const rows = Float32Array.from({ length: starts.at(-1)! * HEAD }, () => size * (2 * next() - 1));
  const weights = rowsOf.flatMap(count => {
    const own = Array.from({ length: count }, next);
    const all = own.reduce((a, b) => a + b, 0);
    return own.map(weight => weight / all);
  });
  return { rows, weights: Float32Array.from(weights), starts };
}

/** In float64: per head and slot Σ weight · count · exp(q·k) / Z, and log Z of each row. */
function expected(tables: readonly SlotTable[], { rows, weights, starts }: QueryRows, keyHead: number) {
  const keys = tables.flatMap(({ slots, keys: all, scales, logCounts }) =>
    Array.from({ length: slots }, (_, slot) => {
      const cell = keyHead * slots + slot;
      const key = Array.from(all.subarray(cell * HEAD, (cell + 1) * HEAD), value => value * scales[cell]!);
      return { key, logCount: logCounts[cell]! };
    }),
  );
  const mass = starts.slice(1).map(() => new Float64Array(keys.length));
  const logSums = Array.from(weights, (weight, row) => {
    const logits = keys.map(({ key, logCount }) => key.reduce((a, k, i) => a + k * rows[row * HEAD + i]!, logCount));
    const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const total = logits.reduce((a, logit) => a + Math.exp(logit - most), 0);
    const head = starts.findIndex((start, at) => start <= row && row < starts[at + 1]!);
    logits.forEach((logit, slot) => (mass[head]![slot]! += (weight * Math.exp(logit - most)) / total));
    return most + Math.log(total);
  });
  return { mass, logSums };
}

suite('scoring all slots in blocks', function () {
  this.timeout(60_000);
  let scorer: BlockScorer;
  suiteSetup(async () => {
    scorer = await BlockScorer.open(2);
  });
  suiteTeardown(() => scorer.release());

  const cases: readonly [name: string, slots: readonly number[], rowsOf: readonly number[], size: number][] = [
    ['one slot', [1], [3, 3], 1],
    ['one block', [100, 0, 27], [3, 3], 1],
    ['two blocks, one slot filled up', [4096, 1], [3, 3, 3], 1],
    ['three blocks, texts across them', [3000, 2, 5501], [5, 5], 1],
    ['heads with different rows, one without', [4500], [2, 5, 0, 5], 1],
    ['more rows than go together', [5000], [70, 3], 1],
    ['logits too large and too small for an exponential', [300, 4200], [4, 4], 12],
  ];
  for (const [name, slots, rowsOf, size] of cases) {
    test(`${name}: the float64 softmax’s mean`, async () => {
      const next = generator(slots.length + rowsOf.length);
      const tables = slots.map(count => table(count, next));
      const queries = queryRows(rowsOf, size, next);
      const blocks = new EvenBlocks(tables, HEAD, 4096);
      for (let keyHead = 0; keyHead < KEY_HEADS; keyHead++) {
        const { mass, logSums } = await scorer.mass(queries, blocks, keyHead);
        const right = expected(tables, queries, keyHead);
        right.logSums.forEach((logSum, row) => assertNear(logSums[row]!, logSum, 1e-6 * size, `row ${row}`));
        for (const [head, own] of right.mass.entries()) {
          assert.equal(mass[head]!.length, own.length);
          // float32 of a logit of 20·size: an error of 1e-6 of that in the exponent.
          own.forEach((value, slot) =>
            assertNear(mass[head]![slot]!, value, 1e-5 * size, `head ${head}, slot ${slot}`),
          );
        }
      }
    });
  }

  test('no slots: no mass, and sums of nothing', async () => {
    const queries = queryRows([2, 1], 1, generator(1));
    const { mass, logSums } = await scorer.mass(queries, new EvenBlocks([table(0, generator(2))], HEAD), 0);
    assert.deepEqual([...logSums], [-Infinity, -Infinity, -Infinity]);
    assert.deepEqual(
      mass.map(own => own.length),
      [0, 0],
    );
  });

  test('a cancelled question ends before the next rows', async () => {
    const blocks = new EvenBlocks([table(9, generator(1))], HEAD);
    const queries = queryRows([2], 1, generator(1));
    await assert.rejects(scorer.mass(queries, blocks, 0, { signal: AbortSignal.abort() }), { code: 'cancelled' });
  });

  test('heads with as many rows go together as far as they fit; a head with too many goes in parts', () => {
    const of = (starts: readonly number[]) =>
      rowGroups(starts, 10).map(({ head, heads, from, to }) => [head, heads, from, to]);
    assert.deepEqual(of([0]), []);
    assert.deepEqual(of([0, 5, 10, 15]), [
      [0, 2, 0, 10],
      [2, 1, 10, 15],
    ]);
    assert.deepEqual(of([0, 3, 3, 7]), [
      [0, 1, 0, 3],
      [2, 1, 3, 7],
    ]);
    assert.deepEqual(of([0, 21, 24]), [
      [0, 1, 0, 7],
      [0, 1, 7, 14],
      [0, 1, 14, 21],
      [1, 1, 21, 24],
    ]);
  });
});

/** Relative to the value where a float32 holds it; below that there is nothing. */
function assertNear(actual: number, value: number, tolerance: number, what: string): void {
  const error = Math.abs(actual - value);
  assert.ok(error <= tolerance * Math.abs(value) + 1e-30, `${what}: ${actual}, not ${value}`);
}
