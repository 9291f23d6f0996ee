/**
 * The fit: scores against the formula of recall.md written out, gradients against finite differences, and a map that was
 * planted is found.
 */
import assert from 'node:assert/strict';
import { PARAMETERS, copyOf, unfitted } from '../../src/calibrate/fit-parameters.js';
import { RecallFit } from '../../src/calibrate/recall-fit.js';
import type { FitGroup, FitQuestion } from '../../src/calibrate/recall-fit.js';
import { SharedMemory } from '../../src/calibrate/shared-memory.js';
import { measure, train } from '../../src/calibrate/train.js';
import { assertClose } from '../oracle/golden.js';
import { seededRandom } from '../reference/tiny-model.js';
import { PlainAttention, keysOf } from './plain-attention.js';
import { SIZE, keyHeadOf, tinyDoc, tinyGroup, tinyParameters } from './tiny-fit.js';

suite('fitting recall values', function () {
  this.timeout(60_000);
  const fit = new RecallFit(new PlainAttention(SIZE), SIZE, keyHeadOf);

  test('scores are the formula’s', async () => {
    const group = tinyGroup(1, 3);
    const parameters = tinyParameters(2);
    const scores = await fit.scores(parameters, group, group.questions);
    // Two texts of 38 and 26 tokens, 15 and 10 slots: function 3 is the first of the second text, tokens 2 to 13 of it.
    const doc = tinyDoc(seededRandom(1), 3);
    assert.deepEqual([doc.tokens, doc.recall.slots], [38, 15]);
    const found = (rows: Float32Array, head: number): { count: number; mass: number }[] => {
      const look = group.memory.slots[keyHeadOf[head]!]!;
      const keys = keysOf(look, SIZE);
      const powersOfRows: number[] = [];
      const masses: number[] = [];
      for (let row = 0; row < rows.length / SIZE; row++) {
        const q = [...rows.subarray(row * SIZE, (row + 1) * SIZE)];
        powersOfRows.push(Math.exp(q.reduce((sum, x, i) => sum + x * parameters.rowDirection[head * SIZE + i]!, 0)));
        const mapped = q.map(
          (x, j) =>
            (x + q.reduce((sum, y, i) => sum + y * parameters.queryMap[(head * SIZE + i) * SIZE + j]!, 0)) *
            Math.exp(parameters.logTemperature[head]!),
        );
        const powers = keys.map((key, slot) =>
          Math.exp(key.reduce((sum, k, i) => sum + k * mapped[i]!, look.logCounts[slot]!)),
        );
        const total = powers.reduce((a, b) => a + b, 0);
        // Tokens 2..13 of the second text lie in its slots 0..4, 12 tokens of 24 in 10 slots: five whole slots.
        masses.push(powers.slice(15, 20).reduce((a, b) => a + b, 0) / total);
      }
      const all = powersOfRows.reduce((a, b) => a + b, 0);
      return masses.map((mass, row) => ({ mass, count: powersOfRows[row]! / all }));
    };
    const expected = group.questions.map(({ rows }) =>
      keyHeadOf.reduce((score, _, head) => {
        const length = 12 ** parameters.lengthExponent[head]!;
        // Stated for 3,000 slots (models/README.md).
        const floor = Math.exp(parameters.logFloor[head]!) * (3000 / group.memory.slots[0]!.scales.length);
        const nullMass = found(group.nullRows[head]!, head).reduce((sum, { count, mass }) => sum + count * mass, 0);
        const own = found(rows[head]!, head).reduce(
          (sum, { count, mass }) => sum + count * Math.log(mass / length + floor),
          0,
        );
        const ofNull = parameters.nullWeight[head]! * Math.log(nullMass / length + floor);
        return score + parameters.weight[head]! * own - ofNull;
      }, 0),
    );
    assertClose(
      'scores',
      scores.map(own => own[3]!),
      expected,
      1e-5,
    );
  });

  test('gradients are the slopes of the loss, in a direction at random', async () => {
    const group = tinyGroup(3, 4);
    const parameters = tinyParameters(4);
    const { gradients } = await fit.gradients(parameters, group, group.questions);
    const random = seededRandom(5);
    for (const name of PARAMETERS) {
      const direction = parameters[name].map(() => random() * 2 - 1);
      const lossAt = async (step: number): Promise<number> => {
        const moved = copyOf(parameters);
        direction.forEach((value, i) => (moved[name][i]! += step * value));
        return (await fit.gradients(moved, group, group.questions)).loss;
      };
      // Large against the float32 of maps and gradients, small against curvature.
      const step = 1e-2;
      const slope = ((await lossAt(step)) - (await lossAt(-step))) / (2 * step);
      const given = gradients[name].reduce((sum, value, i) => sum + value * direction[i]!, 0);
      assert(Math.abs(given) > 1e-4, `${name}: ${given}`);
      assert(Math.abs(slope - given) < 2e-3 * Math.abs(given) + 2e-5, `${name}: slope ${slope}, gradient ${given}`);
    }
  });

  test('a map that was planted is found: held-out questions rank first', async () => {
    const random = seededRandom(6);
    const docs = Array.from({ length: 8 }, () => tinyDoc(random, 4));
    const memory = SharedMemory.of(docs);
    // A question's rows are its function's mean key, turned: dimension 2i → 2i+1, 2i+1 → -2i. The map must turn it back.
    const questionOf = (span: number): FitQuestion => {
      const rows = keyHeadOf.map(keyHead => {
        const slots = memory.slots[keyHead]!;
        // Function f of text t has slots 20t + 5f .. + 5, each of these questions points at one of them.
        const key = keysOf(slots, SIZE)[5 * span + Math.floor(random() * 5)]!;
        const turned = key.flatMap((_, i) => (i % 2 === 0 ? [-key[i + 1]!, key[i]!] : []));
        return Float32Array.from([...turned, ...turned].map(value => 1.5 * value + 0.2 * (random() - 0.5)));
      });
      return { rows, span };
    };
    const nullRows = keyHeadOf.map(() => new Float32Array(SIZE));
    const group = (questions: FitQuestion[]): FitGroup => ({ memory, questions, nullRows });
    const spans = Array.from({ length: memory.functions }, (_, span) => span);
    const training = group([...spans, ...spans].filter(span => span % 4 !== 0).map(questionOf));
    const heldOut = group(spans.filter(span => span % 4 === 0).map(questionOf));
    const start = unfitted(keyHeadOf.length, SIZE);
    // Stated for 3,000 slots; here are 160.
    start.logFloor.fill(-12);
    const asItWas = copyOf(start);
    const before = await measure(fit, start, heldOut);
    const options = { passes: 20, patience: 20, rate: 0.1 };
    const { parameters, passes, best } = await train(fit, start, [training], heldOut, options);
    const after = await measure(fit, parameters, heldOut);
    assert.deepEqual(passes[0], before);
    assert.deepEqual(passes[best], after);
    assert(before.mrr < 0.4, `before ${before.mrr}`);
    assert(after.mrr > 0.8, `after ${after.mrr}`);
    assert.deepEqual(start, asItWas, 'the start is left as it was');
  });

  test('without gain it stops, and gives back the start', async () => {
    const group = tinyGroup(7, 5);
    // Held-out questions that rank first already can only lose.
    const parameters = tinyParameters(8);
    const scores = await fit.scores(parameters, group, group.questions);
    const questions = group.questions.map((question, i) => ({
      ...question,
      span: scores[i]!.indexOf(Math.max(...scores[i]!)),
    }));
    const trained = await train(fit, parameters, [group], { ...group, questions }, { passes: 6 });
    assert.deepEqual(trained.passes[0], { mrr: 1, recallAt5: 1 });
    assert.equal(trained.best, 0);
    assert.deepEqual([trained.passes.length, trained.parameters], [3, parameters]);
  });
});
