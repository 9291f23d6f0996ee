/** Text with stops: whatever the pieces, what is given is the text before the first stop, and nothing of it is retracted. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { StoppableText } from '../../src/engine/writer.js';

/** The text before the stop that is complete first (of two that end together, the longer); all of it where none comes. */
function before(text: string, stops: readonly string[]): { text: string; stopped: boolean } {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter(stop => text.slice(0, end).endsWith(stop)).map(stop => stop.length);
    if (ending.length > 0) return { text: text.slice(0, end - Math.max(...ending)), stopped: true };
  }
  return { text, stopped: false };
}

/** Adds the pieces until a stop; checks at each step what was given so far. */
function run(pieces: readonly string[], stops: readonly string[]): { text: string; stopped: boolean } {
  const given: string[] = [];
  const stoppable = new StoppableText(stops, text => given.push(text));
  const stopped = pieces.some(piece => {
    const found = stoppable.add(piece);
    assert.equal(given.join(''), stoppable.given);
    return found;
  });
  if (!stopped) stoppable.flush();
  assert.equal(given.join(''), stoppable.given);
  assert(!given.includes(''), 'no empty text is given');
  return { text: stoppable.given, stopped };
}

suite('text that stops', () => {
  test('by hand', () => {
    assert.deepEqual(run(['Hello', ' wor', 'ld'], []), { text: 'Hello world', stopped: false });
    assert.deepEqual(run(['one\nQue', 'stion: two'], ['\nQuestion:']), { text: 'one', stopped: true });
    assert.deepEqual(run(['one\nQue', 'll'], ['\nQuestion:']), { text: 'one\nQuell', stopped: false });
    assert.deepEqual(run(['stop'], ['stop']), { text: '', stopped: true });
    assert.deepEqual(run(['sto'], ['stop']), { text: 'sto', stopped: false });
    // The stop begins inside what looked like another beginning of it.
    assert.deepEqual(run(['aa', 'ab'], ['aab']), { text: 'a', stopped: true });
    // The one that is complete first ends the text, however the pieces fall.
    for (const pieces of [['abc'], ['ab', 'c'], ['a', 'bc'], ['a', 'b', 'c']]) {
      assert.deepEqual(run(pieces, ['abc', 'b']), { text: 'a', stopped: true }, String(pieces));
    }
  });

  test('text that can begin no stop is given at once', () => {
    const given: string[] = [];
    const stoppable = new StoppableText(['xyz'], text => given.push(text));
    stoppable.add('ab');
    stoppable.add('cx');
    stoppable.add('y');
    stoppable.add('y');
    assert.deepEqual(given, ['ab', 'c', 'xyy']);
  });

  // Two letters make stops that overlap and contain each other.
  for (const alphabet of ['ab', 'abc\n😀'])
    test(`any text of ${JSON.stringify(alphabet)}, cut anywhere, any stops`, () => {
      const letters = (maxLength: number, minLength = 0) =>
        fc.array(fc.constantFrom(...Array.from(alphabet)), { minLength, maxLength }).map(all => all.join(''));
      const property = fc.property(
        letters(24),
        fc.array(letters(4, 1), { maxLength: 4 }),
        fc.array(fc.integer({ min: 0, max: 24 }), { maxLength: 8 }),
        (text, stops, places) => {
          const cuts = [0, ...places.map(at => Math.min(at, text.length)).sort((a, b) => a - b), text.length];
          const pieces = cuts.slice(1).map((end, i) => text.slice(cuts[i], end));
          assert.deepEqual(run(pieces, stops), before(text, stops));
        },
      );
      fc.assert(property, { seed: 3, numRuns: 3000 });
    });

  test('never a part of a stop: what was given stays the beginning of the answer at every step', () => {
    const property = fc.property(fc.array(fc.constantFrom('<', '|', 'end', '|>', 'x'), { maxLength: 20 }), pieces => {
      const stoppable = new StoppableText(['<|end|>'], () => undefined);
      const expected = before(pieces.join(''), ['<|end|>']).text;
      for (const piece of pieces) {
        const stopped = stoppable.add(piece);
        assert(expected.startsWith(stoppable.given));
        if (stopped) break;
      }
    });
    fc.assert(property, { seed: 4, numRuns: 1000 });
  });
});
