/** Which changes of a model make its memories another model's: what a memory keeps is made by all but the recall values. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tinyReading } from '../reference/tiny-model.js';
import { writeSafetensors } from '../reference/safetensors.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { PREFIX, recall, recallValues, tinyTextModel } from '../engine/tiny-text-model.js';

suite('fingerprint of a model', function () {
  this.timeout(60_000);
  const folder = new TinyFolder();
  suiteTeardown(() => folder.dispose());

  async function fingerprintWith(file: string, heads = recall.heads): Promise<string> {
    const values = recallValues();
    for (const [name, { shape, data }] of values) {
      // As many heads as there are; other values where the file is another.
      const perHead = data.length / shape[0]!;
      const own = data.slice(0, heads.length * perHead).map(value => value + file.length / 100);
      values.set(name, { shape: [heads.length, ...shape.slice(1)], data: own });
    }
    const recallFile = join(folder.path, file);
    writeSafetensors(recallFile, values);
    const { manifest } = await tinyTextModel(folder, 'text', { recallFile, recall: { ...recall, heads } });
    return manifest.fingerprint;
  }

  test('recall values and query heads of the same key heads leave it; key heads and their order do not', async () => {
    const before = await fingerprintWith('a');
    assert.equal(await fingerprintWith('another'), before);
    // (2, 5) and (2, 3) read one key head: the first of them is enough.
    const [a, b, c, , e] = recall.heads;
    assert.equal(await fingerprintWith('a', [a!, b!, c!, e!]), before);
    assert.notEqual(await fingerprintWith('a', [b!, a!, c!, e!]), before);
    assert.notEqual(await fingerprintWith('a', [a!, b!, c!]), before);
  });

  test('how heads weigh a state leaves it; the prefix of every text does not', async () => {
    const kvm = { ...tinyReading, prefix: PREFIX };
    const fingerprintOf = async (own: object) =>
      (await tinyTextModel(folder, 'weighed', { kvm: { ...kvm, ...own } })).manifest.fingerprint;
    const before = await fingerprintOf({});
    assert.equal(
      await fingerprintOf({
        stateBiasOfHead: [[1]],
        stateTemperatureOfKeyHead: [[2]],
        stateValueScaleOfKeyHead: [[3]],
        growing: {
          shareOfLayer: [2],
          ...{ biasOfHead: [[1]], temperatureOfKeyHead: [[2]] },
          ...{ valueScaleOfKeyHead: [[3]], readDistanceOfKeyHead: [[4]] },
        },
      }),
      before,
    );
    assert.notEqual(await fingerprintOf({ prefix: `${PREFIX} ` }), before);
  });

  test('the tokenizer is part of it', async () => {
    const source = join(folder.path, 'text-checkpoint');
    const before = await fingerprintWith('a');
    writeFileSync(join(source, 'tokenizer_config.json'), JSON.stringify({ eos_token: '<|end|>' }));
    const other = await folder.convert(source, 'text', 'f32', { recall, recallFile: join(folder.path, 'a') });
    assert.notEqual(other.manifest.fingerprint, before);
  });
});
