/** Hostile safetensors files: headers changed as JSON and as bytes, their length, and cuts. */
import assert from 'node:assert/strict';
import { HOSTILE_INTEGERS, mutateBytes, setField } from './byte-mutations.js';
import type { Mutated } from './byte-mutations.js';
import { mutateJson } from './json-mutations.js';
import { readCheckpoint } from './read-checkpoint.js';
import { TinyCheckpoint, safetensorsOf } from './tiny-checkpoint.js';
import { Trials } from './trials.js';

suite('fuzz: safetensors', function () {
  this.timeout(120_000);
  const tiny = new TinyCheckpoint();
  const trials = new Trials('safetensors', 20_002);
  const headerEnd = tiny.weights.length - tiny.data.length;
  suiteSetup(() => trials.start());
  suiteTeardown(() => {
    trials.end();
    tiny.dispose();
  });

  const judge = async (number: number, { bytes, did }: Mutated): Promise<string> => {
    tiny.write('model.safetensors', bytes);
    return trials.judge(number, did, { size: bytes.length + 2000, names: /model\.safetensors|tensor|model\./ }, () =>
      readCheckpoint(tiny.folder),
    );
  };

  test('as it was written it is read', async () => {
    assert.equal(await judge(-1, { bytes: tiny.weights, did: 'nothing' }), 'read');
  });

  test('every hostile length of the header, every cut of it', async () => {
    for (const [number] of trials.cases(HOSTILE_INTEGERS.length)) {
      assert.equal(
        await judge(number, setField(tiny.weights, { at: 0, bytes: 8 }, HOSTILE_INTEGERS[number]!)),
        'bad-format',
      );
    }
    for (const [number] of trials.cases(headerEnd, 1000)) {
      const length = number - 1000;
      assert.equal(
        await judge(number, { bytes: tiny.weights.subarray(0, length), did: `cut at ${length}` }),
        'bad-format',
      );
    }
  });

  test('headers changed as JSON', async () => {
    for (const [number, random] of trials.cases(1500, 100_000)) {
      const { bytes, did } = mutateJson(tiny.header, random);
      await judge(number, { bytes: safetensorsOf(bytes, tiny.data), did });
    }
  });

  test('shapes, types and offsets that are well formed and wrong', async () => {
    const names = Object.keys(tiny.header);
    for (const [number, random] of trials.cases(800, 200_000)) {
      const header = structuredClone(tiny.header);
      const did: string[] = [];
      for (let i = 0; i < 1 + random.below(2); i++) {
        const [name, other] = [random.pick(names), random.pick(names)];
        const [to, from] = [header[name]!, header[other]!];
        const bytes = to.data_offsets[1] - to.data_offsets[0];
        header[name] = random.pick([
          { ...to, data_offsets: from.data_offsets },
          { ...from },
          { ...to, shape: from.shape },
          { ...to, dtype: random.pick(['F16', 'BF16', 'F64', 'I8', 'U8', 'F8_E4M3', 'BOOL', '', 'F32\n']) },
          { ...to, dtype: 'BF16', shape: to.shape.map((size, at) => (at === 0 ? size * 2 : size)) },
          { ...to, shape: [...to.shape].reverse() },
          { ...to, shape: [] },
          { ...to, shape: [], data_offsets: [0, 4] },
          { ...to, shape: [0, 2 ** 53 - 1], data_offsets: [0, 0] },
          { ...to, shape: [2 ** 26, 2 ** 27, 2 ** 11] },
          { ...to, shape: [bytes / 4, 1, 1, 1] },
          { ...to, data_offsets: [to.data_offsets[0], to.data_offsets[1] + 2 ** 40] },
          { ...to, data_offsets: [to.data_offsets[1], to.data_offsets[0]] },
          { ...to, data_offsets: [to.data_offsets[0] + 2, to.data_offsets[1] + 2] },
        ]);
        if (random.chance(0.2)) {
          header[
            random.pick(['lm_head.weight', 'x.rotary_emb.inv_freq', 'model.layers.1.mlp.up_proj.weight', 'a\nb'])
          ] = header[name];
        }
        did.push(`${name} by ${other}: ${JSON.stringify(header[name])}`);
      }
      await judge(number, {
        bytes: safetensorsOf(Buffer.from(JSON.stringify(header)), tiny.data),
        did: did.join('; '),
      });
    }
  });

  test('random changes of bytes', async () => {
    for (const [number, random] of trials.cases(700, 300_000)) {
      await judge(number, mutateBytes(tiny.weights, random, [{ at: 0, bytes: 8 }], headerEnd + 8));
    }
  });
});
