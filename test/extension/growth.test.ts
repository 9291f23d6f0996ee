/** The growth of the memory: which looks are kept, and the chart of them. Right values are worked out by hand. */
import assert from 'node:assert/strict';
import { Growth, growthChart } from '../../src/extension/growth.js';
import type { StatusReply } from '../../src/protocol/index.js';

const t = (message: string, ...filled: (string | number)[]): string =>
  message.replace(/\{(\d)\}/g, (_, at: string) => String(filled[Number(at)]));
const status = (tokens: number, stateSlots: number, recallSlots: number): StatusReply => ({
  coverage: { total: 1, read: 1, stale: 0, waiting: 0, coarse: 0, skipped: 0 },
  tokens,
  state: { slots: stateSlots, bytes: 0 },
  recall: { slots: recallSlots, bytes: 0 },
  store: { path: '/data', bytes: 0 },
});

suite('growth', () => {
  let kept: Map<string, unknown>;
  let growth: Growth;
  setup(() => {
    kept = new Map();
    growth = new Growth({
      get: key => kept.get(key),
      update: (key, value) => Promise.resolve(void kept.set(key, value)),
    });
  });

  test('each change is kept once, for each folder; after forgetting it goes on from there', () => {
    for (const tokens of [100, 100, 400, 900]) growth.note('file:///a', status(tokens, Math.sqrt(tokens), tokens / 4));
    growth.note('file:///b', status(5, 1, 1));
    assert.deepEqual(
      growth.points('file:///a').map(point => point.tokens),
      [100, 400, 900],
    );
    growth.note('file:///a', status(300, 17, 75));
    assert.deepEqual(
      growth.points('file:///a').map(point => point.tokens),
      [100, 300],
    );
    assert.equal(growth.points('file:///b').length, 1);
  });

  test('never more than 201 points, first and last among them; what is stored may be anything', () => {
    for (let look = 1; look <= 1000; look++) growth.note('a', status(look, 1, look));
    const points = growth.points('a');
    assert.ok(points.length <= 201 && points.length >= 100, String(points.length));
    assert.deepEqual([points[0]!.tokens, points.at(-1)!.tokens], [1, 1000]);
    kept.set('longview.growth', { a: [null, { tokens: -1 }, 7], b: 'x' });
    assert.deepEqual([growth.points('a'), growth.points('b')], [[], []]);
  });

  test('the chart: both lines by tokens read, each to its own height, in words too', () => {
    for (const [tokens, state, recall] of [
      [100, 0, 25],
      [200, 0, 50],
      [400, 20, 100],
    ] as const) {
      growth.note('a', status(tokens, state, recall));
    }
    assert.deepEqual(growthChart(growth.points('a'), undefined, t), {
      title: undefined,
      summary: '400 tokens are kept in 20 slots of state and 100 slots for recall.',
      axis: '400 tokens read',
      lines: [
        {
          label: 'State: 20 slots',
          points: [
            [0, 0],
            [1, 1],
          ],
        },
        {
          label: 'Recall: 100 slots',
          points: [
            [0, 0],
            [0.25, 0.25],
            [0.5, 0.5],
            [1, 1],
          ],
        },
      ],
    });
    assert.deepEqual(growthChart([], 'a', t), {
      title: 'a',
      summary: 'Nothing has been read yet.',
      axis: '',
      lines: [],
    });
  });
});
