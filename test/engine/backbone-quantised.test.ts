/**
 * Models trained with KVM in 8 and 4 bits against the float64 oracle: with the checkpoint's weights within the stated tolerance,
 * with the rounded weights within the noise of int8 activations. Short enough that no decision of a fold can differ.
 */
import assert from 'node:assert/strict';
import type { Model } from '../../src/engine/model.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { openCase, tensor } from '../oracle/golden.js';
import type { BackboneConfig } from '../reference/backbone-config.js';
import { BackboneOracle } from '../reference/backbone.js';
import { BackboneFolder } from './backbone-folder.js';
import { medianDifference, round4, round8 } from './rounding.js';

const VOCABULARY = 128;
/** C = 16, W = 2: all of it stays in the window. */
const TOKENS = 32;

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

async function logitsOf(model: Model, text: readonly number[], piece: number): Promise<number[]> {
  const session = await KvmSession.start(model, { schedule: model.manifest.kvm.trained!.schedule });
  const logits: number[] = [];
  for (let from = 0; from < text.length; from += piece) {
    await prefill(
      session,
      text.slice(from, from + piece),
      (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
      pass => void logits.push(...pass.logits),
    );
  }
  return logits;
}

suite('quantised trained models against the oracle', function () {
  this.timeout(60_000);

  for (const name of ['fixed', 'hybrid_swa', 'hybrid_rwkv7'])
    test(`${name}: q8 and q4, prefill and decode`, async () => {
      const { config, weights, golden } = openCase<BackboneConfig>(name, `${name}/weights.safetensors`);
      const text = [...tensor(golden, 'prompt_tokens').data].slice(0, TOKENS);
      const oracle = (used: ReadonlyMap<string, Float32Array>) =>
        new BackboneOracle(config, used).feed(text).flatMap(row => [...row]);
      const exact = oracle(weights);
      for (const [quantisation, round, stated] of [
        ['q8', round8, 0.15],
        ['q4', round4, 0.3],
      ] as const) {
        const model = await folder.model(name, quantisation);
        const { verification } = model.manifest;
        assert.equal(verification.tolerance, stated);
        assert(verification.difference > 0 && verification.difference <= stated);
        const rounded = new Map(
          [...weights].map(([tensorName, values]) => {
            // Tables stay 8-bit in a 4-bit model; norms, shifts, gates and RWKV-7's low-rank maps stay float32.
            if (/wte|lm_head/.test(tensorName)) return [tensorName, round8(values)];
            const large = /\.(c_\w+|receptance|key|value|output)\.weight$/.test(tensorName);
            return [tensorName, large ? round(values) : values];
          }),
        );
        const fromFile = oracle(rounded);
        for (const piece of [16, 1]) {
          const logits = await logitsOf(model, text, piece);
          const fromExact = medianDifference(logits, exact, VOCABULARY);
          const fromRounded = medianDifference(logits, fromFile, VOCABULARY);
          const what = `${quantisation} ${piece} at a time: ${fromExact} from the oracle, ${fromRounded} from the rounded`;
          assert(fromExact <= stated, what);
          // What is left is activations rounded to 8 bits; q4 prefills with float32 ones, all but the head.
          assert(fromRounded <= (quantisation === 'q4' && piece > 4 ? 0.01 : 0.03), what);
        }
      }
    });
});
