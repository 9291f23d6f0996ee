/**
 * What is read of a state after folds, of which only the changed slots are read anew, is to the last bit what is read of the
 * whole state: slots are read one by one, so nothing else is right.
 */
import assert from 'node:assert/strict';
import type { Model } from '../../src/engine/model.js';
import { withAppended } from '../../src/engine/merged-slots.js';
import type { Tensor } from '../../src/engine/ort.js';
import { ReadState } from '../../src/engine/read-state.js';
import type { Slots } from '../../src/engine/state.js';

import { seededRandom } from '../reference/tiny-model.js';
import { BackboneFolder } from './backbone-folder.js';
import { sharedLlama } from './tiny-shared.js';
import { randomSlots } from './tiny-slots.js';

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

/** Of all layers, in order. */
function numbersOf({ layers }: ReadState): number[][] {
  return layers
    .flatMap(({ keys, values, bias }) => [keys, values, bias])
    .map(tensor => [...(tensor.data as Float32Array)]);
}

/** Of a state that is one part. */
function slotsOf({ parts }: ReadState): Slots {
  assert.equal(parts.length, 1);
  return parts[0]!.slots;
}

/** A state given or not, its first chunk appended, then two folds; what is read after each, and of the whole. */
async function assertReads(model: Model, given: Slots | undefined): Promise<void> {
  const { kvmLayers, keyHeads, heads, headSize } = model.manifest.architecture;
  const groups = kvmLayers * keyHeads;
  const random = seededRandom(11);
  const whole = (slots: Slots): Promise<ReadState> =>
    ReadState.start(model, {
      slots,
      bias: new Float32Array(kvmLayers * heads * slots.slots),
      temperature: new Float32Array(groups * slots.slots).fill(1),
    });
  let read = given ? await whole(given) : await ReadState.start(model, undefined);
  for (const novel of [16, 5, 0]) {
    const coming = randomSlots({ groups, slots: 16, headSize }, random);
    const folded =
      novel === 16 ? withAppended(slotsOf(read), coming) : await model.folder.fold(slotsOf(read), coming, { novel }, 4);
    const before = numbersOf(read);
    read = await read.after([folded]);
    assert.equal(slotsOf(read), folded.state);
    assert.deepEqual(numbersOf(read), numbersOf(await whole(folded.state)), `${novel} of 16 appended`);
    assert.notDeepEqual(numbersOf(read), before);
  }
  assert.equal(slotsOf(read).slots, (given?.slots ?? 0) + 21);
}

suite('what is read of a state', function () {
  this.timeout(60_000);

  test('an ordinary checkpoint, from nothing', async () => assertReads(await sharedLlama(), undefined));

  test('an ordinary checkpoint, beside a given state', async () => {
    const model = await sharedLlama();
    const { kvmLayers, keyHeads, headSize } = model.manifest.architecture;
    const given = randomSlots({ groups: kvmLayers * keyHeads, slots: 9, headSize }, seededRandom(4));
    await assertReads(model, given);
  });

  test('fitted values touch what the text brought, not what was given', async () => {
    const model = await sharedLlama();
    const { kvmLayers: layers, keyHeads, heads, headSize } = model.manifest.architecture;
    const groups = layers * keyHeads;
    const table = (columns: number, value: number) =>
      Array.from({ length: layers }, () => Array<number>(columns).fill(value));
    // Powers of two, so that products are exact; the distance is the one of all, so that no key is turned.
    const fitted = {
      shareOfLayer: Array<number>(layers).fill(1),
      biasOfHead: table(heads, 0.5),
      temperatureOfKeyHead: table(keyHeads, 2),
      valueScaleOfKeyHead: table(keyHeads, 4),
      readDistanceOfKeyHead: table(keyHeads, 64),
      readDistance: 64,
    };
    const slots = randomSlots({ groups, slots: 9, headSize }, seededRandom(4));
    const given = {
      slots,
      bias: new Float32Array(layers * heads * 9),
      temperature: new Float32Array(groups * 9).fill(1),
    };
    const coming = randomSlots({ groups, slots: 5, headSize }, seededRandom(5));
    const folded = [withAppended(slots, coming)];
    const [plain, own] = await Promise.all(
      [undefined, fitted].map(async values => (await ReadState.start(model, given, values)).after(folded)),
    );
    own!.layers.forEach(({ rows, keys, values, bias }, layer) => {
      const before = plain!.layers[layer]!;
      const isGiven = (slot: number) => slot < 9;
      const expected = (tensor: Tensor, slotOf: (i: number) => number, change: (x: number) => number) =>
        [...(tensor.data as Float32Array)].map((x, i) => (isGiven(slotOf(i)) ? x : Math.fround(change(x))));
      const numbers = (tensor: Tensor) => [...(tensor.data as Float32Array)];
      assert.equal(rows, 14);
      const column = (i: number) => i % 14;
      assert.deepEqual(
        numbers(keys),
        expected(before.keys, column, x => 2 * x),
      );
      assert.deepEqual(
        numbers(values),
        expected(
          before.values,
          i => Math.floor(i / headSize) % 14,
          x => 4 * x,
        ),
      );
      assert.deepEqual(
        numbers(bias),
        expected(before.bias, column, x => x + 0.5),
      );
    });
  });

  test('a model trained with KVM: no bias, LN_s of each group', async () =>
    assertReads(await folder.model('hybrid_swa'), undefined));
});
