/**
 * Hostile `model.json` and `recall.safetensors` of an installed model, through both readers of the manifest; and every
 * file of an installed model cut, changed or gone.
 */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import { openEngine } from '../../src/engine/index.js';
import { readManifest } from '../../src/engine/manifest.js';
import { RecallHeads } from '../../src/engine/recall-heads.js';
import { readModelManifest, verifyFiles } from '../../src/models/manifest.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { tinyTextModel } from '../engine/tiny-text-model.js';
import { mutateBytes } from './byte-mutations.js';
import { mutateJson } from './json-mutations.js';
import { overwrite } from './overwrite.js';
import { Random } from './random.js';
import { safetensorsOf } from './tiny-checkpoint.js';
import { Trials } from './trials.js';

suite('fuzz: installed model', function () {
  this.timeout(120_000);
  const tiny = new TinyFolder();
  const trials = new Trials('installed', 20_006);
  const folder = join(tiny.path, 'installed');
  const file = (name: string) => join(folder, name);
  let manifest: Record<string, unknown>;
  let recall: Buffer;
  suiteSetup(async () => {
    cpSync((await tinyTextModel(tiny)).path, folder, { recursive: true });
    manifest = JSON.parse(readFileSync(file('model.json'), 'utf8')) as Record<string, unknown>;
    recall = readFileSync(file('recall.safetensors'));
    await trials.start();
  });
  suiteTeardown(async () => {
    trials.end();
    await tiny.dispose();
  });

  /** The heads of a manifest, used. */
  const useHeads = async (): Promise<void> => {
    const read = await readManifest(folder);
    const heads = await RecallHeads.load(folder, read);
    const { headSize, frequencies } = read.architecture;
    heads.queryHeads.forEach((_, i) => heads.mapQueries(i, new Float32Array(headSize).fill(1), frequencies, 24));
  };

  test('model.json', async () => {
    for (const [number, random] of trials.cases(1000)) {
      const { bytes, did } = mutateJson(manifest, random);
      overwrite(file('model.json'), bytes);
      const input = { size: bytes.length + recall.length, names: /installed|recall|^Model / };
      await trials.judge(number, did, input, useHeads);
      // Asks for a mebibyte at a time of 14 files.
      await trials.judge(number, did, { ...input, size: input.size + (4 << 20) }, async () => {
        const read = await readModelManifest(folder);
        // Reads every file: not for each.
        if (number % 50 === 0) await verifyFiles(folder, read);
      });
    }
    overwrite(file('model.json'), JSON.stringify(manifest));
  });

  test('recall.safetensors', async () => {
    const start = 8 + Number(recall.readBigUInt64LE(0));
    const header = JSON.parse(recall.toString('utf8', 8, start)) as unknown;
    for (const [number, random] of trials.cases(800, 100_000)) {
      const { bytes, did } = random.chance(0.6)
        ? mutateJson(header, random)
        : mutateBytes(recall, random, [], recall.length);
      const whole =
        did.includes(' of byte') || bytes.length >= start + 64 ? bytes : safetensorsOf(bytes, recall.subarray(start));
      overwrite(file('recall.safetensors'), whole);
      await trials.judge(number, did, { size: whole.length + 65_536, names: /recall values/ }, useHeads);
    }
    overwrite(file('recall.safetensors'), recall);
  });

  test('a file that is cut, longer, changed or gone is named, with what to do; nothing is loaded from it', async () => {
    const engine = await openEngine(folder, { threads: 1 });
    await engine.dispose();
    const random = new Random(1, 1);
    const files = readdirSync(folder).filter(name => name !== 'model.json');
    assert.equal(files.length, 15);
    for (const name of files) {
      const good = readFileSync(file(name));
      const flipped = Buffer.from(good);
      flipped[random.below(good.length)]! ^= 1;
      const damages: [string, Buffer | undefined][] = [
        ['cut', good.subarray(0, good.length >> 1)],
        ['empty', Buffer.alloc(0)],
        ['longer', Buffer.concat([good, Buffer.alloc(1)])],
        ['gone', undefined],
        // Weights are held against their size only: a digest of gigabytes at every start would take seconds.
        ...(name === 'weights.bin' ? [] : [['one bit', flipped] satisfies [string, Buffer]]),
      ];
      for (const [damage, bytes] of damages) {
        if (bytes) overwrite(file(name), bytes);
        else rmSync(file(name));
        await assert.rejects(openEngine(folder, { threads: 1 }), (error: unknown) => {
          assert(error instanceof LongviewError, `${name} ${damage}: ${String(error)}`);
          assert.equal(error.code, 'bad-format', `${name} ${damage}`);
          assert(error.message.includes(`(${name}: `) && error.message.includes('model remove'), error.message);
          return true;
        });
        overwrite(file(name), good);
      }
    }
    await (await openEngine(folder, { threads: 1 })).dispose();
  });
});
