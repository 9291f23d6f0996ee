/** Choosing the next token: greedy, temperature, top-p against a sort by hand, repetition penalty, seeds. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Sampler } from '../../src/engine/sampling.js';
import type { SamplingOptions } from '../../src/engine/sampling.js';

const greedy: SamplingOptions = { temperature: 0, topP: 1, repetitionPenalty: 1, seed: 0 };

/** First token of each of `seeds` seeds; logits are given anew each time, since sampling changes them. */
function draws(logits: readonly number[], options: Partial<SamplingOptions>, seeds: number): Map<number, number> {
  const counts = new Map<number, number>();
  for (let seed = 0; seed < seeds; seed++) {
    const token = new Sampler({ ...greedy, temperature: 1, ...options, seed }).next(Float32Array.from(logits));
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  return counts;
}

/** The smallest set of most likely tokens whose probabilities reach p, and their probabilities, most likely first. */
function nucleusOf(logits: readonly number[], temperature: number, p: number): { token: number; share: number }[] {
  const weights = logits.map(logit => Math.exp(logit / temperature));
  const total = weights.reduce((a, b) => a + b);
  const sorted = weights
    .map((weight, token) => ({ token, share: weight / total }))
    .sort((a, b) => b.share - a.share || a.token - b.token);
  let sum = 0;
  const kept = sorted.filter(({ share }) => {
    const before = sum;
    sum += share;
    return before < p - 1e-9;
  });
  const nucleus = kept.reduce((all, { share }) => all + share, 0);
  return kept.map(({ token, share }) => ({ token, share: share / nucleus }));
}

suite('sampling', () => {
  test('greedy: the largest logit, the lowest id among equals', () => {
    const sampler = new Sampler(greedy);
    assert.equal(sampler.next(Float32Array.of(-1, 3, 2, 3)), 1);
    assert.equal(sampler.next(Float32Array.of(0, 0, 0)), 0);
    assert.equal(sampler.next(Float32Array.of(-Infinity, -5)), 1);
    assert.equal(new Sampler({ ...greedy, topP: 0.1, seed: 9 }).next(Float32Array.of(1, 2)), 1);
  });

  test('a temperature near 0 is greedy', () => {
    const logits = [1.2, 0.4, 1.3, 1.1];
    for (const temperature of [1e-3, 1e-6, 1e-300]) {
      assert.deepEqual([...draws(logits, { temperature }, 100).keys()], [2], String(temperature));
    }
  });

  test('a high temperature is even', () => {
    // 4 tokens, 4,000 draws: 1,000 each, standard deviation 27.
    const counts = draws([3, 0, -2, 1], { temperature: 1e4 }, 4000);
    for (let token = 0; token < 4; token++) assert(Math.abs(counts.get(token)! - 1000) < 140, String([...counts]));
  });

  test('top-p keeps the nucleus and its proportions', () => {
    const property = fc.property(
      fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 2, maxLength: 12 }),
      fc.double({ min: 0.05, max: 1, noNaN: true }),
      fc.constantFrom(0.5, 1, 1.7),
      (values, topP, temperature) => {
        const logits = [...Float32Array.from(values)];
        const expected = nucleusOf(logits, temperature, topP);
        const sum = nucleusOf(logits, temperature, 1)
          .slice(0, expected.length - 1)
          .reduce((all, { share }) => all + share, 0);
        fc.pre(Math.abs(sum - topP) > 1e-6);
        const counts = draws(logits, { temperature, topP }, 600);
        const inside = new Set(expected.map(({ token }) => token));
        for (const token of counts.keys()) assert(inside.has(token), `${token} is outside the nucleus`);
        for (const { token, share } of expected) {
          // Five standard deviations of a binomial count.
          const off = Math.abs((counts.get(token) ?? 0) - 600 * share);
          assert(off <= 5 * Math.sqrt(600 * share * (1 - share)) + 1, `${token}: off by ${off}, share ${share}`);
        }
      },
    );
    fc.assert(property, { seed: 5, numRuns: 100 });
  });

  test('top-p reached exactly takes no further token; equal ones go by id', () => {
    assert.deepEqual([...draws([0, 0, 0, 0], { topP: 0.5 }, 200).keys()].sort(), [0, 1]);
    assert.deepEqual([...draws([0, 0, 0, 0], { topP: 0.51 }, 200).keys()].sort(), [0, 1, 2]);
    assert.deepEqual([...draws([0, 0, 0, 0], { topP: 1 }, 200).keys()].sort(), [0, 1, 2, 3]);
    // Less than any token's probability: the best alone.
    assert.deepEqual([...draws([0, 1, 0, 0], { topP: 0 }, 50).keys()], [1]);
  });

  test('repetition penalty: positive logits are divided, negative multiplied, others untouched', () => {
    const sampler = new Sampler({ ...greedy, repetitionPenalty: 2 });
    sampler.seen(0);
    sampler.seen(1);
    sampler.seen(2);
    const logits = Float32Array.of(4, -3, 0, 1.5, -1.5);
    assert.equal(sampler.next(logits), 0);
    assert.deepEqual([...logits], [2, -6, 0, 1.5, -1.5]);
  });

  test('what was drawn counts as written; once, however often', () => {
    const sampler = new Sampler({ ...greedy, repetitionPenalty: 1.5 });
    const fresh = () => Float32Array.of(3, 2.5, 1);
    assert.equal(sampler.next(fresh()), 0);
    // 3 / 1.5 = 2 < 2.5.
    assert.equal(sampler.next(fresh()), 1);
    // 2, 2.5 / 1.5 = 1.67, 1: penalties do not pile up.
    assert.equal(sampler.next(fresh()), 0);
    assert.equal(sampler.next(fresh()), 0);
    const off = new Sampler(greedy);
    assert.deepEqual([off.next(fresh()), off.next(fresh())], [0, 0]);
  });

  test('equal seeds give equal texts, others other ones', () => {
    const text = (seed: number): number[] => {
      const sampler = new Sampler({ temperature: 0.9, topP: 0.95, repetitionPenalty: 1.1, seed });
      return Array.from({ length: 40 }, (_, i) =>
        sampler.next(Float32Array.from({ length: 50 }, (__, j) => Math.sin(i + 3 * j))),
      );
    };
    assert.deepEqual(text(7), text(7));
    assert.notDeepEqual(text(7), text(8));
    // A seed is a 32-bit number.
    assert.deepEqual(text(2 ** 32 + 7), text(7));
  });
});
