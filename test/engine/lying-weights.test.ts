/**
 * Checkpoints of the right form whose weights are no model's: values that are not finite, zeros, constants, garbage. A
 * conversion ends in one line that says so, or in a model that was verified.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import { convertModel } from '../../src/convert/index.js';
import { MANIFEST_FILE } from '../../src/engine/graph-contract.js';
import type { Quantisation } from '../../src/engine/graph-contract.js';
import { runGraphs } from '../../src/engine/index.js';
import { MODEL, metadata, tensors } from '../convert/gguf-tiny.js';
import { ggufFile } from '../convert/gguf-writer.js';
import { Random } from '../fuzz/random.js';
import { tinyModel, writeTinyModel } from '../reference/tiny-model.js';

const QUANTISATIONS: readonly Quantisation[] = ['f32', 'f16', 'q8', 'q4'];
/** Of a block's scale in float16. */
const HALF_NAN = 0x7e00;
const HALF_INFINITY = 0xfc00;

suite('weights that lie', function () {
  this.timeout(120_000);
  const root = mkdtempSync(join(tmpdir(), 'longview-lies-'));
  const target = join(root, 'model');
  suiteTeardown(() => rmSync(root, { recursive: true }));

  /** `verified`, or the error's code and line. */
  const outcomeOf = async (source: string, quantisation: Quantisation): Promise<string> => {
    const entry = { name: 'lies', origin: 'test', licence: 'none' };
    try {
      const { verification } = await convertModel(source, target, { quantisation, entry, run: runGraphs });
      assert(verification.difference <= verification.tolerance);
      assert(existsSync(join(target, MANIFEST_FILE)));
      return 'verified';
    } catch (error) {
      assert(error instanceof LongviewError, String(error));
      assert(!existsSync(join(target, MANIFEST_FILE)));
      assert.doesNotMatch(error.message, /[\n\r]/);
      return `${error.code}: ${error.message}`;
    }
  };

  suite('safetensors', () => {
    const good = tinyModel({
      layers: 1,
      width: 64,
      heads: 4,
      keyHeads: 2,
      headSize: 16,
      mlpWidth: 96,
      vocabulary: 128,
    });
    const names = [...good.tensors.keys()];
    const source = join(root, 'checkpoint');
    /** Every tensor's values through `change`. */
    const convert = (change: (name: string, values: Float32Array) => Float32Array, quantisation: Quantisation) => {
      const changed = [...good.tensors].map(
        ([name, { shape, data }]) => [name, { shape, data: change(name, Float32Array.from(data)) }] as const,
      );
      writeTinyModel({ ...good, tensors: new Map(changed) }, source);
      return outcomeOf(source, quantisation);
    };

    test('as it was made it is verified', async () => {
      for (const quantisation of QUANTISATIONS)
        assert.equal(await convert((_, values) => values, quantisation), 'verified');
    });

    test('one value that is not finite: its tensor is named', async () => {
      for (const [i, wrong] of names.entries()) {
        for (const value of [NaN, Infinity, -Infinity]) {
          const poison = (name: string, values: Float32Array) => {
            if (name === wrong) values[Math.floor((values.length * (i + 1)) / (names.length + 1))] = value;
            return values;
          };
          const outcome = await convert(poison, QUANTISATIONS[i % 4]!);
          assert.match(outcome, /^bad-format: model\.safetensors: .* infinite or not a number/);
          assert(outcome.includes(`"${wrong}"`), `${wrong}: ${outcome}`);
        }
      }
    });

    test('a tensor of zeros: verified, but where nothing is left of the logits', async () => {
      for (const [i, wrong] of names.entries()) {
        const outcome = await convert(
          (name, values) => (name === wrong ? values.fill(0) : values),
          QUANTISATIONS[i % 4]!,
        );
        // The embedding is the head too; the last norm's gain multiplies all that the head sees.
        const silent = wrong === 'model.embed_tokens.weight' || wrong === 'model.norm.weight';
        assert.match(outcome, silent ? /^bad-format: The model's logits do not vary/ : /^verified$/, wrong);
      }
    });

    test('all zeros, one constant everywhere: the logits do not vary, and that is said', async () => {
      for (const quantisation of QUANTISATIONS) {
        for (const value of [0, 1, -0.02, 1e-30]) {
          const outcome = await convert((_, values) => values.fill(value), quantisation);
          assert.match(outcome, /^bad-format: The model's logits do not vary/, `${value}, ${quantisation}`);
        }
      }
    });

    test('values that float32 can store and not compute with: the tensor is named', async () => {
      const large = (wrong: string) => (name: string, values: Float32Array) =>
        name === wrong ? values.map(value => value * 1e30) : values;
      for (const wrong of ['model.embed_tokens.weight', 'model.layers.0.self_attn.v_proj.weight']) {
        for (const quantisation of QUANTISATIONS) {
          const outcome = await convert(large(wrong), quantisation);
          // float16 can't even store them.
          const said =
            quantisation === 'f16' ? /^unsupported: .* beyond float16/ : /^bad-format: Tensor .* makes values/;
          assert.match(outcome, said);
          assert(outcome.includes(wrong), outcome);
        }
      }
    });

    test('random bytes, and random magnitudes: one line each', async () => {
      for (let number = 0; number < 24; number++) {
        const random = new Random(1, number);
        const quantisation = QUANTISATIONS[number % 4]!;
        const bits = await convert((_, values) => {
          const words = new Uint32Array(values.buffer);
          for (let i = 0; i < words.length; i++) words[i] = random.below(2 ** 32);
          return values;
        }, quantisation);
        assert.match(bits, /^bad-format: model\.safetensors: tensor ".*" holds a value/);
        const magnitudes = await convert(
          (_, values) => values.map(value => Math.sign(value) * 10 ** (60 * random.below(1000) * 1e-3 - 30)),
          quantisation,
        );
        assert.match(
          magnitudes,
          quantisation === 'f16' ? /^unsupported: .* beyond float16/ : /^bad-format: Tensor .* makes values/,
        );
      }
    });
  });

  suite('GGUF', () => {
    const path = join(root, 'model.gguf');
    const good = tensors();
    /** Bytes of each tensor through `change`. */
    const convert = (change: (name: string, bytes: Buffer) => void, quantisation: Quantisation) => {
      const changed = good.map(tensor => {
        const data = Buffer.from(tensor.data);
        change(tensor.name, data);
        return { ...tensor, data };
      });
      writeFileSync(path, ggufFile(metadata(), changed));
      return outcomeOf(path, quantisation);
    };
    const BLOCK_BYTES: Record<string, number> = { Q8_0: 34, Q4_0: 18, Q4_1: 20, F16: 2 };

    test('a scale that is not finite: its tensor is named, whatever becomes of its blocks', async () => {
      for (const [name, canonical, , kind] of MODEL) {
        const size = BLOCK_BYTES[kind];
        if (size === undefined) continue;
        for (const quantisation of QUANTISATIONS) {
          for (const half of [HALF_NAN, HALF_INFINITY]) {
            const outcome = await convert((other, bytes) => {
              if (other === name) bytes.writeUInt16LE(half, bytes.length - size);
            }, quantisation);
            assert.match(outcome, /^bad-format: model\.gguf: .* infinite or not a number/);
            assert(outcome.includes(`"${canonical}"`), `${name}: ${outcome}`);
          }
        }
      }
    });

    test('all bytes zero: every scale is zero, the logits do not vary', async () => {
      for (const quantisation of QUANTISATIONS) {
        assert.match(
          await convert((_, bytes) => bytes.fill(0), quantisation),
          /^bad-format: The model's logits do not vary/,
        );
      }
    });

    test('one tensor of random bytes: one line, or verified', async () => {
      const outcomes = new Set<string>();
      for (let number = 0; number < 4 * MODEL.length; number++) {
        const random = new Random(2, number);
        const [wrong] = MODEL[number % MODEL.length]!;
        const outcome = await convert(
          (name, bytes) => {
            if (name === wrong) for (let i = 0; i < bytes.length; i++) bytes[i] = random.below(256);
          },
          QUANTISATIONS[Math.floor(number / MODEL.length)]!,
        );
        assert.match(
          outcome,
          /^verified$|^bad-format: .*(infinite or not a number|makes values|do not vary)|^internal: .*finer quantisation/,
          `${wrong} of case ${number}`,
        );
        outcomes.add(outcome.slice(0, 8));
      }
      assert(outcomes.has('bad-form'));
    });
  });
});
