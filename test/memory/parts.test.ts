/** Where long texts are cut. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { partsOfText, type PartLimits } from '../../src/memory/parts.js';
import { DEFAULT_SETTINGS } from '../../src/memory/settings.js';
import { randomNumbers } from './store-samples.js';

const usual = DEFAULT_SETTINGS.parts;
const small: PartLimits = { least: 600, most: 2000 };

/** Prose in paragraphs of a few lines, the same for the same seed. */
function prose(lines: number, seed = 1): string[] {
  const random = randomNumbers(seed);
  return Array.from({ length: lines }, () =>
    random() < 0.15 ? '' : Array.from({ length: 8 }, () => Math.floor(random() * 46656).toString(36)).join(' '),
  );
}

function textsOf(text: string, limits = small): string[] {
  return partsOfText(text, limits).map(({ start, end }) => text.slice(start, end));
}

/** True if no character is cut in two: half a pair becomes another character in UTF-8. */
function isWellFormed(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text;
}

const anyText = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.constantFrom('', '\n', '\r\n', ' \n', '🙂'.repeat(900), 'x'.repeat(2500), 'line\n'.repeat(300)),
  ),
  { maxLength: 60 },
);

suite('parts of a text', () => {
  test('joined they are the text; none is empty, too long, or begins inside a character', () => {
    fc.assert(
      fc.property(anyText, pieces => {
        const text = pieces.join('');
        const parts = partsOfText(text, small);
        assert.equal(parts.map(({ start, end }) => text.slice(start, end)).join(''), text);
        let end = 0;
        for (const part of parts) {
          assert.equal(part.start, end);
          end = part.end;
          assert.ok(part.end > part.start);
          const own = text.slice(part.start, part.end);
          assert.ok(Buffer.byteLength(own) <= small.most);
          assert.ok(isWellFormed(own));
          assert.equal(part.firstLine, text.slice(0, part.start).split('\n').length);
        }
        if (Buffer.byteLength(text) <= small.most) assert.ok(parts.length <= 1);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  test('all but the last have the least size, and lines are whole where they are not too long', () => {
    const text = prose(3000).join('\n');
    const parts = partsOfText(text, small);
    assert.ok(parts.length >= text.length / small.most);
    for (const { start, end } of parts.slice(0, -1)) {
      assert.ok(end - start >= small.least && end - start <= small.most);
      assert.equal(text[end - 1], '\n');
    }
  });

  test('lines of one kind, and lines that are all the same, are cut as well', () => {
    const log = Array.from({ length: 20_000 }, (_, at) => `2026-01-01 12:00:00 request ${at} done`).join('\n');
    for (const text of [log, 'same line\n'.repeat(80_000), `${'x'.repeat(999)}\n`.repeat(800)]) {
      const sizes = partsOfText(text, usual).map(({ start, end }) => end - start);
      for (const size of sizes.slice(0, -1)) assert.ok(size >= usual.least && size <= usual.most);
    }
  });

  test('one line of 5 MB is cut inside, at whole characters', () => {
    const parts = textsOf('añ🙂'.repeat(1_000_000), usual);
    // 7,000,000 bytes, up to 80,000 in each.
    assert.equal(parts.length, 88);
    for (const part of parts) assert.ok(isWellFormed(part) && Buffer.byteLength(part) <= 80_000);
    assert.deepEqual(
      partsOfText('x'.repeat(5_000_000), usual).map(({ firstLine }) => firstLine),
      Array.from({ length: 63 }, () => 1),
    );
  });

  test('an edit leaves the parts before it, and soon after it, as they were', () => {
    const lines = prose(6000);
    const before = textsOf(lines.join('\n'));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5999 }), fc.constantFrom(0, 1, 3), fc.integer(), (at, gone, word) => {
        const edited = [...lines.slice(0, at), `edited ${word}`, '', 'and more', ...lines.slice(at + gone)];
        const after = textsOf(edited.join('\n'));
        const kept = new Set(before);
        const changed = after.filter(part => !kept.has(part)).length;
        assert.ok(changed <= 6, `${changed} of ${after.length} parts are new`);
        const untouched = before.findIndex(
          (_, i) =>
            before
              .slice(0, i + 1)
              .join('')
              .split('\n').length > at,
        );
        assert.deepEqual(after.slice(0, Math.max(0, untouched - 1)), before.slice(0, Math.max(0, untouched - 1)));
      }),
      { seed: 5, numRuns: 60 },
    );
  });

  test('what is appended leaves all but the last part as they were', () => {
    const lines = prose(6000);
    const whole = textsOf(lines.join('\n'));
    for (const length of [1000, 2500, 4001, 5999]) {
      const begun = textsOf(`${lines.slice(0, length).join('\n')}\n`);
      assert.deepEqual(begun.slice(0, -1), whole.slice(0, begun.length - 1));
    }
  });
});
