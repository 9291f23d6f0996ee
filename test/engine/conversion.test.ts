/** The course of a conversion: checked, complete or without manifest, the same each time, whatever interrupts it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../../src/base/index.js';
import { convertModel } from '../../src/convert/index.js';
import { Steps } from '../../src/convert/steps.js';
import type { ConvertOptions, GraphRunner } from '../../src/convert/index.js';
import { MANIFEST_FILE } from '../../src/engine/graph-contract.js';
import type { Manifest, Quantisation } from '../../src/engine/graph-contract.js';
import { openEngine, runGraphs } from '../../src/engine/index.js';
import { Model } from '../../src/engine/model.js';
import { tinyModel, tinyReading, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';

const V = 256;

suite('conversion', function () {
  this.timeout(60_000);
  const root = mkdtempSync(join(tmpdir(), 'longview-conversion-'));
  const source = join(root, 'checkpoint');
  suiteSetup(() => writeTinyModel(tinyModel(tinyVariants.llama.model), source));
  suiteTeardown(() => rmSync(root, { recursive: true }));

  const convert = (folder: string, more: Partial<ConvertOptions> = {}): Promise<Manifest> =>
    convertModel(source, join(root, folder), {
      quantisation: 'f32',
      entry: { name: 'tiny', origin: 'test', licence: 'none', kvm: tinyReading },
      run: runGraphs,
      ...more,
    });
  const hasManifest = (folder: string): boolean => existsSync(join(root, folder, MANIFEST_FILE));

  test('the manifest lies in the folder, names every file with size and digest, and says what was checked', async () => {
    const tasks = new Set<string>();
    const manifest = await convert('whole', { onProgress: ({ task }) => tasks.add(task) });
    assert.deepEqual(
      JSON.parse(readFileSync(join(root, 'whole', MANIFEST_FILE), 'utf8')),
      JSON.parse(JSON.stringify(manifest)),
    );
    const named = manifest.files.map(({ name }) => name).sort();
    assert.deepEqual(
      named,
      readdirSync(join(root, 'whole'))
        .filter(name => name !== MANIFEST_FILE)
        .sort(),
    );
    for (const { name, bytes, sha256 } of manifest.files) {
      const content = readFileSync(join(root, 'whole', name));
      assert.deepEqual([content.length, createHash('sha256').update(content).digest('hex')], [bytes, sha256], name);
    }
    assert(manifest.verification.prompt.length > 4);
    assert(manifest.verification.difference > 0 && manifest.verification.difference <= 1e-4);
    assert.deepEqual([...tasks], ['Converting the model', 'Checking the model', 'Running the check of the conversion']);
  });

  test('twice the same, byte for byte; another quantisation or reading has another fingerprint', async () => {
    const first = await convert('first');
    const second = await convert('second');
    // The difference found depends on the machine and is no part of the fingerprint.
    assert.deepEqual({ ...second, verification: first.verification }, first);
    const others = [
      await convert('q8', { quantisation: 'q8' }),
      await convert('wider', {
        entry: { name: 'tiny', origin: 'test', licence: 'none', kvm: { ...tinyReading, chunk: 32 } },
      }),
    ];
    assert.equal(new Set([first, ...others].map(({ fingerprint }) => fingerprint)).size, 3);
  });

  test('cancelled at any time: no manifest, and the folder takes a new conversion', async () => {
    // Asked for at each moment that the conversion looks whether it was cancelled, one run a moment.
    let looks = 0;
    for (;;) {
      let left = looks++;
      const signal = new AbortController().signal;
      Object.defineProperty(signal, 'aborted', { get: () => left-- <= 0 });
      const outcome = await convert('cancelled', { signal }).catch((error: unknown) => error);
      if (left >= 0) break;
      assert.equal(codeOf(outcome), 'cancelled', `look ${looks}`);
      assert(!hasManifest('cancelled'), `look ${looks}`);
    }
    // 2 for progress itself; embedding 1 and 4 linear layers each, written; oracle: 7 a layer and the head; then the graphs.
    assert(looks > 20, `only ${looks} looks`);
    assert(hasManifest('cancelled'));
    await assert.rejects(convert('never', { signal: AbortSignal.abort() }), { code: 'cancelled' });
    assert(!hasManifest('never'));
    await (await Model.load(join(root, 'cancelled'), { threads: 1 })).dispose();
  });

  test('progress moves within a layer: every 4 million weights', () => {
    const seen: number[] = [];
    const steps = new Steps('work', 10 * 2 ** 22, {
      onProgress: ({ done, total }) => (assert.equal(total, 10), seen.push(done)),
    });
    for (let i = 0; i < 20; i++) steps.worked(2 ** 21);
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('a graph that computes something else is refused, in every quantisation', async () => {
    type Logits = Awaited<ReturnType<GraphRunner>>;
    const sabotages: Record<string, (logits: Logits) => Logits> = {
      'prefill one token off': ({ prefill, decode }) => ({ prefill: rotated(prefill), decode }),
      'decode one token off': ({ prefill, decode }) => ({ prefill, decode: rotated(decode) }),
      'decode all zero': ({ prefill, decode }) => ({ prefill, decode: decode.map(() => 0) }),
      'decode not a number': ({ prefill, decode }) => ({ prefill, decode: decode.map(() => NaN) }),
      'decode too short': ({ prefill, decode }) => ({ prefill, decode: decode.subarray(V) }),
      'no logits': () => ({ prefill: new Float32Array(0), decode: new Float32Array(0) }),
      'half as large': ({ prefill, decode }) => ({ prefill: prefill.map(logit => logit / 2), decode }),
    };
    for (const quantisation of ['f32', 'f16', 'q8', 'q4'] satisfies Quantisation[]) {
      let right: Logits | undefined;
      for (const [name, sabotage] of Object.entries(sabotages)) {
        const run: GraphRunner = async (...given) => sabotage((right ??= await runGraphs(...given)));
        const refused = { code: 'internal', message: /does not compute what its checkpoint does/ };
        await assert.rejects(convert('sabotaged', { quantisation, run }), refused, `${name}, ${quantisation}`);
        assert(!hasManifest('sabotaged'), name);
      }
    }
  });

  test('float32 is held to arithmetic noise: a thousandth is too much', async () => {
    const run: GraphRunner = async (...given) => {
      const { prefill, decode } = await runGraphs(...given);
      return { prefill: prefill.map((logit, i) => logit + (i % 2 === 0 ? 1e-3 : -1e-3)), decode };
    };
    await assert.rejects(convert('noisy', { run }), { code: 'internal' });
  });

  test('a runner that fails leaves no manifest', async () => {
    const run: GraphRunner = () => Promise.reject(new Error('no memory'));
    await assert.rejects(convert('failed', { run }), { message: 'no memory' });
    assert(!hasManifest('failed'));
  });

  test('for text: refused without a tokenizer, and with one that has ids beyond the embedding, before anything is written', async () => {
    const refused = { code: 'bad-format', message: /brings no tokenizer.*put tokenizer\.json/ };
    await assert.rejects(convert('for-text', { forText: true }), refused);
    const other = join(root, 'other-tokenizer');
    cpSync(source, other, { recursive: true });
    const tokenizer = {
      model: { type: 'BPE', vocab: { a: 0, b: V }, merges: [] },
      added_tokens: [{ id: 3, content: 'c' }],
    };
    writeFileSync(join(other, 'tokenizer.json'), JSON.stringify(tokenizer));
    const entry = { name: 'tiny', origin: 'test', licence: 'none', kvm: tinyReading };
    await assert.rejects(
      convertModel(other, join(root, 'for-text'), { quantisation: 'f32', entry, run: runGraphs, forText: true }),
      { code: 'bad-format', message: new RegExp(`has the id ${V}, its embedding only ${V} rows`) },
    );
    assert(!existsSync(join(root, 'for-text')), 'nothing is written');
  });

  test('without a tokenizer it runs by token ids only; an engine of text says so', async () => {
    await convert('ids-only');
    const refused = { code: 'bad-format', message: /no usable tokenizer\.json/ };
    await assert.rejects(openEngine(join(root, 'ids-only'), { threads: 1 }), refused);
  });
});

/** Logits moved on by one token. */
function rotated(logits: Float32Array): Float32Array {
  return Float32Array.of(...logits.subarray(V), ...logits.subarray(0, V));
}
