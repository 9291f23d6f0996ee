/** Masses of slots on the lines of texts and in blocks of them, and the choice of texts by them: figures by hand. */
import assert from 'node:assert/strict';
import type { RecallParameters } from '../../src/engine/index.js';
import { LineMass, sumOf, tokensBefore } from '../../src/memory/line-mass.js';
import { PartMasses } from '../../src/memory/part-masses.js';
import { attentionScore } from '../../src/memory/rank.js';
import { chooseTexts } from '../../src/memory/recall.js';
import type { IndexedPart } from '../../src/memory/recall-index.js';
import { TextMass } from '../../src/memory/text-mass.js';
import { allNamed } from './fake-recall.js';

suite('masses on lines', () => {
  // One key head, two slots: slot 0 has two tokens of line 1 and one of line 2, slot 1 one token of line 3.
  const provenance = {
    slotStart: Uint32Array.of(0, 2, 3),
    lines: Uint32Array.of(1, 2, 3),
    weights: Uint16Array.of(2, 1, 1),
  };

  test("a slot's mass is shared among its lines by their tokens", () => {
    const tokens = tokensBefore(provenance, 2);
    assert.deepEqual([...tokens], [0, 2, 3, 4]);
    // Another text's slot comes first in the masses; two query heads share the key head.
    const mass = LineMass.of(
      provenance,
      2,
      tokens,
      {
        mass: allNamed(Float32Array.of(9, 0.75, 0.25, 9, 0.5, 0), [0, 0]),
        nullMass: allNamed(new Float32Array(6), [0, 0]),
      },
      1,
      [0, 0],
    );
    const text = new TextMass([{ firstLine: 1, tokens, mass }]);
    assert.deepEqual([...text.nullOn({ startLine: 1, endLine: 3 }, 2)], [0, 0]);
    assert.equal(text.on({ startLine: 1, endLine: 1 }, 2)[0], 0.5);
    assert.equal(text.on({ startLine: 2, endLine: 3 }, 2)[0], 0.5);
    assert.ok(Math.abs(text.on({ startLine: 1, endLine: 9 }, 2)[1]! - 0.5) < 1e-7);
    assert.equal(sumOf(tokens, { startLine: 7, endLine: 9 }), 0);
  });

  test('slots that are not named have the rest, so much for each token', () => {
    // A large memory: of the second text's two slots (places 5 and 6) only its first is named, with 0.5; a token of any
    // other has 0.125 of the question's mass and 0.25 of the contentless one's, where no slot of this text is named.
    const tokens = tokensBefore(provenance, 2);
    const masses = {
      mass: { slots: [Uint32Array.of(2, 5, 9)], mass: [Float32Array.of(7, 0.5, 7)], rest: [0.125] },
      nullMass: { slots: [Uint32Array.of(4, 7)], mass: [Float32Array.of(7, 7)], rest: [0.25] },
    };
    const mass = LineMass.of(provenance, 2, tokens, masses, 5, [0]);
    const text = new TextMass([{ firstLine: 1, tokens, mass }]);
    const on = (line: number) => text.on({ startLine: line, endLine: line }, 1)[0]!;
    [(0.5 * 2) / 3, 0.5 / 3, 0.125].forEach((own, at) => assert.ok(Math.abs(on(at + 1) - own) < 1e-9, `${at}`));
    assert.ok(Math.abs(text.nullOn({ startLine: 1, endLine: 3 }, 1)[0]! - 4 * 0.25) < 1e-9);
  });

  test('the score is the formula of the fit', () => {
    const tokens = tokensBefore(provenance, 2);
    const mass = LineMass.of(
      provenance,
      2,
      tokens,
      { mass: allNamed(Float32Array.of(0.75, 0.25), [0]), nullMass: allNamed(Float32Array.of(0.25, 0.5), [0]) },
      0,
      [0],
    );
    const text = new TextMass([{ firstLine: 1, tokens, mass }]);
    const parameters = { weight: [2], nullWeight: [0.5], lengthExponent: [0.5], logFloor: [-3] };
    // Line 1: two tokens, mass 0.5, null mass 1/6.
    const expected =
      2 * Math.log(0.5 / Math.sqrt(2) + Math.exp(-3)) - 0.5 * Math.log(1 / 6 / Math.sqrt(2) + Math.exp(-3));
    assert.ok(Math.abs(attentionScore(text, { startLine: 1, endLine: 1 }, parameters) - expected) < 1e-6);
    assert.equal(attentionScore(text, { startLine: 8, endLine: 9 }, parameters), -Infinity);
  });

  test('of too many texts those with the best window are cut, and those the question names', async () => {
    const of = (share: number): TextMass => {
      const masses = {
        mass: allNamed(Float32Array.of(share, 0), [0]),
        nullMass: allNamed(Float32Array.of(0.1, 0.1), [0]),
      };
      const tokens = tokensBefore(provenance, 2);
      return new TextMass([{ firstLine: 1, tokens, mass: LineMass.of(provenance, 2, tokens, masses, 0, [0]) }]);
    };
    const shares = [0.01, 0.5, 0.02, 0.03];
    const texts = ['a.py', 'b.py', 'proxy.py', 'c.py'].map((path, at) => ({
      text: { path, contentHash: '', firstLine: 1, lastLine: Infinity, parts: [at] },
      mass: () => of(shares[at]!),
      lastLine: 3,
    }));
    const parameters = { weight: [1], nullWeight: [1], lengthExponent: [0], logFloor: [-9] };
    assert.deepEqual(await chooseTexts('the proxy', texts, parameters, 2), [1, 2]);
    assert.deepEqual(await chooseTexts('the proxy', texts, parameters, 4), [0, 1, 2, 3]);
  });

  test('masses of a block that goes on in the next part are those of both', () => {
    const tokens = tokensBefore(provenance, 2);
    const masses = {
      mass: allNamed(Float32Array.of(0.6, 0.1, 0.3, 0), [0]),
      nullMass: allNamed(new Float32Array(4), [0]),
    };
    const part = (at: number) => LineMass.of(provenance, 2, tokens, masses, 2 * at, [0]);
    // The second part begins inside line 3 of the file, where the first one ends.
    const text = new TextMass([
      { firstLine: 1, tokens, mass: part(0) },
      { firstLine: 3, tokens, mass: part(1) },
    ]);
    // Line 2: a third of 0.6. Line 3: 0.1 of the first part, two thirds of 0.3 of the second.
    assert.ok(Math.abs(text.on({ startLine: 2, endLine: 3 }, 1)[0]! - 0.5) < 1e-7);
    assert.ok(Math.abs(text.on({ startLine: 4, endLine: 5 }, 1)[0]! - 0.1) < 1e-7);
    assert.equal(text.tokensOn({ startLine: 3, endLine: 3 }), 3);
    assert.equal(text.tokensOn({ startLine: 6, endLine: 9 }), 0);
  });

  test('heads that share a key head have masses of their own, however many they are', () => {
    const tokens = tokensBefore(provenance, 2);
    const found = Float32Array.of(0.5, 0.25, 0.125, 0.0625, 0.75, 0.5, 0.25, 1);
    // Four heads with two slots each.
    const masses = { mass: allNamed(found, [0, 0, 0, 0]), nullMass: allNamed(new Float32Array(8), [0, 0, 0, 0]) };
    const mass = LineMass.of(provenance, 2, tokens, masses, 0, [0, 0, 0, 0]);
    const text = new TextMass([{ firstLine: 1, tokens, mass }]);
    const line3 = text.on({ startLine: 3, endLine: 3 }, 4);
    [0.25, 0.0625, 0.5, 1].forEach((own, head) => assert.ok(Math.abs(line3[head]! - own) < 1e-9, `${head}`));
  });

  test('parts have the same masses whether all are kept or few; the contentless question’s for as long as they are the same', () => {
    const tokens = tokensBefore(provenance, 2);
    const part = { key: '', path: 'a', contentHash: '', slots: 2, provenance, tokens, ram: 0 };
    const parts = [0, 1, 2, 3, 4, 5].map(at => ({ ...part, firstLine: 1 + 3 * at })) as unknown as IndexedPart[];
    const of = (scale: number) =>
      allNamed(
        Float32Array.from({ length: 12 }, (_, slot) => scale * slot),
        [0],
      );
    const nullMass = of(2);
    const slotStart = Uint32Array.from({ length: 7 }, (_, at) => 2 * at);
    const scores = { rows: 1, slotStart, mass: of(1), nullMass, parameters: {} as RecallParameters };
    const lines = { startLine: 1, endLine: 99 };
    const masses = (all: PartMasses) =>
      [0, 5, 1, 2, 3, 4, 0].map(at => {
        const text = new TextMass([{ ...all.of(at), firstLine: 1 }]);
        return [text.on(lines, 1)[0], text.nullOn(lines, 1)[0]];
      });
    // Slots 2i and 2i + 1 of part i.
    const right = [0, 5, 1, 2, 3, 4, 0].map(at => [4 * at + 1, 2 * (4 * at + 1)]);
    assert.deepEqual(masses(new PartMasses(parts, scores, [0])), right);
    assert.deepEqual(masses(new PartMasses(parts, scores, [0], 0)), right);
    // Another question about the same memory.
    nullMass.mass[0]!.fill(7);
    const next = masses(new PartMasses(parts, { ...scores, mass: of(3) }, [0]));
    assert.deepEqual(
      next,
      right.map(([own, nothing]) => [3 * own!, nothing]),
    );
    const changed = masses(new PartMasses(parts, { ...scores, nullMass: of(4) }, [0]));
    assert.deepEqual(
      changed,
      right.map(([own, nothing]) => [own, 2 * nothing!]),
    );
  });
});
