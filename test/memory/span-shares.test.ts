/** Blocks as shares of recall slots: two parts of one file, figures by hand. */
import assert from 'node:assert/strict';
import { tokensBefore } from '../../src/memory/line-mass.js';
import { spanShares } from '../../src/memory/span-shares.js';

/** One key head; each slot's (line, weight) pairs. */
function part(firstLine: number, slots: readonly (readonly (readonly [number, number])[])[]) {
  const slotStart = new Uint32Array(slots.length + 1);
  slots.forEach((pairs, at) => (slotStart[at + 1] = slotStart[at]! + pairs.length));
  const provenance = {
    slotStart,
    lines: Uint32Array.from(slots.flat(), ([line]) => line),
    weights: Uint16Array.from(slots.flat(), ([, weight]) => weight),
  };
  return { firstLine, slots: slots.length, provenance, tokens: tokensBefore(provenance, slots.length) };
}

suite('shares of spans', () => {
  test('a slot is shared among the blocks that its lines are in, also where those overlap or go on in the next part', async () => {
    const parts = [
      part(1, [
        [
          [1, 3],
          [2, 1],
        ],
        [[3, 2]],
        [],
      ]),
      part(4, [
        [
          [1, 1],
          [9, 3],
        ],
      ]),
    ];
    const blocks = [
      { block: { startLine: 1, endLine: 1 }, parts: [0], tokens: 3 },
      { block: { startLine: 1, endLine: 4 }, parts: [0, 1], tokens: 7 },
      { block: { startLine: 20, endLine: 22 }, parts: [0, 1], tokens: 0 },
    ];
    const { tokens, keyHeads } = await spanShares(blocks, parts, Uint32Array.of(10, 13, 14), 1);
    assert.deepEqual([...tokens], [3, 7, 0]);
    assert.equal(keyHeads.length, 1);
    // Line 1 of the second part is line 4 of the file, its line 9 line 12.
    assert.deepEqual([...keyHeads[0]!.start], [0, 1, 4, 4]);
    assert.deepEqual([...keyHeads[0]!.slots], [10, 10, 11, 13]);
    assert.deepEqual([...keyHeads[0]!.shares], [0.75, 1, 1, 0.25]);
  });

  test('a run of several lines is shared evenly among them', async () => {
    // A part that begins in line 11; its slot has 8 tokens on its lines 1 to 4 and 2 on line 6.
    const one = part(11, [
      [
        [1, 8],
        [6, 2],
      ],
    ]);
    const parts = [{ ...one, provenance: { ...one.provenance, spans: Uint16Array.of(4, 1) } }];
    const blocks = [
      { block: { startLine: 13, endLine: 16 }, parts: [0], tokens: 6 },
      { block: { startLine: 11, endLine: 11 }, parts: [0], tokens: 2 },
      { block: { startLine: 15, endLine: 15 }, parts: [0], tokens: 0 },
    ];
    const { keyHeads } = await spanShares(blocks, parts, Uint32Array.of(0, 1), 1);
    // Of 10 tokens: 4 on lines 13 and 14 with 2 on line 16; 2 on line 11; none on line 15.
    assert.deepEqual([...keyHeads[0]!.start], [0, 1, 2, 2]);
    assert.deepEqual([...keyHeads[0]!.shares], [...Float32Array.of(0.6, 0.2)]);
  });

  test('no blocks, no shares', async () => {
    const { tokens, keyHeads } = await spanShares([], [], Uint32Array.of(0), 2);
    assert.equal(tokens.length, 0);
    assert.deepEqual(
      keyHeads.map(({ start }) => [...start]),
      [[0], [0]],
    );
  });
});
