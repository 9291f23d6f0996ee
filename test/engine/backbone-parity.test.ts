/**
 * The ONNX engine gives the figures of KVM's authors: logits, states, windows and greedy tokens of every golden case, converted
 * like any checkpoint. Tolerances are those of golden/README.md.
 */
import assert from 'node:assert/strict';
import type { Model } from '../../src/engine/model.js';
import { BackboneFolder } from './backbone-folder.js';
import { LOGITS, STATES, extraCases, mainCases, measureBackbone } from './parity.js';
import type { Parity } from './parity.js';

/** C = 16, W = 2: cuts on, just before and just after chunk boundaries, across several of them, one token at a time. */
const splits: Readonly<Record<string, readonly number[]>> = {
  'one token at a time': Array.from({ length: 203 }, () => 1),
  'two tokens at a time': [...Array.from({ length: 101 }, () => 2), 1],
  'five tokens at a time': [...Array.from({ length: 40 }, () => 5), 3],
  'whole chunks': [...Array.from({ length: 12 }, () => 16), 11],
  'one token into each chunk': [1, ...Array.from({ length: 12 }, () => 16), 10],
  'one token short of each chunk': [15, ...Array.from({ length: 11 }, () => 16), 12],
  'uneven, over several folds at once': [5, 60, 1, 33, 31, 73],
  'a prompt, then token by token': [130, ...Array.from({ length: 73 }, () => 1)],
  'token by token, then the rest': [...Array.from({ length: 37 }, () => 1), 166],
};

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

function assertParity(parity: Parity, withStates: boolean): void {
  assert(parity.logits <= LOGITS, `logits: off by ${parity.logits}, allowed ${LOGITS}`);
  assert(parity.greedy, 'greedy tokens');
  assert.equal(parity.compared, parity.expected, 'every golden tensor is compared');
  assert.equal(parity.state !== undefined, withStates);
  if (withStates) assert(parity.state! <= STATES, `states: off by ${parity.state!}, allowed ${STATES}`);
}

suite('engine against the authors’ models', function () {
  this.timeout(120_000);

  for (const name of [...mainCases, ...extraCases])
    suite(name, () => {
      const withStates = mainCases.includes(name);
      let model: Model;
      suiteSetup(async () => {
        model = await folder.model(name);
      });

      test('prefill, states, windows, greedy decoding', async () => {
        assertParity(await measureBackbone(name, model), withStates);
      });

      for (const [how, lengths] of Object.entries(splits))
        test(`fed ${how}: the same`, async () => {
          assert.equal(
            lengths.reduce((sum, length) => sum + length, 0),
            203,
            'the split covers the prompt',
          );
          assertParity(await measureBackbone(name, model, lengths), withStates);
        });
    });
});
