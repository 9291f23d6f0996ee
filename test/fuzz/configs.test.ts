/** Hostile config.json, generation_config.json and shard indices; shards that are other files or lie elsewhere. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extraCases, goldenFolder, mainCases } from '../convert/golden-folder.js';
import type { Mutated } from './byte-mutations.js';
import { mutateJson } from './json-mutations.js';
import { overwrite } from './overwrite.js';
import { readCheckpoint } from './read-checkpoint.js';
import { TinyCheckpoint } from './tiny-checkpoint.js';
import { Trials } from './trials.js';

suite('fuzz: configs', function () {
  this.timeout(120_000);
  const trials = new Trials('config', 20_003);
  const variants = {
    llama: new TinyCheckpoint({ scaledRotary: true }),
    qwen2: new TinyCheckpoint({ family: 'qwen2' }),
    qwen3: new TinyCheckpoint({ family: 'qwen3', tied: false }),
  };
  const all = Object.values(variants);
  suiteSetup(() => trials.start());
  suiteTeardown(() => {
    trials.end();
    for (const tiny of all) tiny.dispose();
  });

  const judge = (
    number: number,
    tiny: TinyCheckpoint,
    { bytes, did }: Mutated,
    names = /config\.json|model\.|tensor/,
  ) =>
    trials.judge(number, did, { size: bytes.length + tiny.weights.length + 2000, names }, () =>
      readCheckpoint(tiny.folder),
    );

  for (const [name, tiny] of Object.entries(variants)) {
    test(`config.json, ${name}`, async () => {
      const written = Buffer.from(JSON.stringify(tiny.config));
      assert.equal(await judge(-1, tiny, { bytes: written, did: 'nothing' }), 'read');
      for (const [number, random] of trials.cases(600, 10_000 * all.indexOf(tiny))) {
        const change = mutateJson(tiny.config, random);
        tiny.write('config.json', change.bytes);
        await judge(number, tiny, change);
      }
      tiny.write('config.json', written);
    });
  }

  test('config.json, backbones with every schedule, switch and mixer', async () => {
    const root = mkdtempSync(join(tmpdir(), 'longview-fuzz-'));
    for (const [i, name] of [...mainCases, ...extraCases].entries()) {
      const folder = await goldenFolder(root, name);
      const path = join(folder, 'config.json');
      const written = readFileSync(path);
      const config = JSON.parse(written.toString()) as unknown;
      const size = readFileSync(join(folder, 'model.safetensors')).length;
      const judgeBackbone = (number: number, { bytes, did }: Mutated) => {
        overwrite(path, bytes);
        const input = { size: size + bytes.length, names: /config\.json|model\.|tensor|transformer\.|lm_head/ };
        return trials.judge(number, `${name}: ${did}`, input, () => readCheckpoint(folder));
      };
      const outcome = await judgeBackbone(-1, { bytes: written, did: 'nothing' });
      // Those without a gate or temperatures have the weights of one with: too many tensors.
      if (mainCases.includes(name)) assert.equal(outcome, 'read', name);
      for (const [number, random] of trials.cases(mainCases.includes(name) ? 160 : 80, 400_000 + 1000 * i)) {
        await judgeBackbone(number, mutateJson(config, random));
      }
    }
    rmSync(root, { recursive: true });
  });

  test('sizes that fit each other and not the weights, however large', async () => {
    const tiny = variants.llama;
    const sizes = [1, 2, 3, 8, 1000, 2 ** 16, 2 ** 20, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER, 1e300, 0.5, -8];
    const keys = Object.keys(tiny.config).filter(key => typeof tiny.config[key] === 'number');
    for (const [number, random] of trials.cases(500, 100_000)) {
      const changed = { ...tiny.config };
      for (let i = 0; i < 1 + random.below(4); i++) changed[random.pick(keys)] = random.pick(sizes);
      const bytes = Buffer.from(JSON.stringify(changed));
      tiny.write('config.json', bytes);
      await judge(number, tiny, { bytes, did: bytes.toString() });
    }
    tiny.write('config.json', JSON.stringify(tiny.config));
  });

  test('generation_config.json', async () => {
    const tiny = variants.qwen2;
    for (const [number, random] of trials.cases(200, 200_000)) {
      const change = mutateJson({ eos_token_id: [1, 2], temperature: 0.7 }, random);
      tiny.write('generation_config.json', change.bytes);
      await judge(number, tiny, change);
    }
    rmSync(tiny.path('generation_config.json'));
  });

  test('shard indices', async () => {
    const tiny = variants.qwen3;
    const weights = 'one-1-of-1.safetensors';
    const outside = variants.qwen2.path('model.safetensors');
    tiny.write(weights, tiny.weights);
    rmSync(tiny.path('model.safetensors'));
    mkdirSync(tiny.path('folder.safetensors'));
    symlinkSync(outside, tiny.path('elsewhere.safetensors'));
    symlinkSync('circle.safetensors', tiny.path('circle.safetensors'));
    symlinkSync(tiny.path('model.safetensors.index.json'), tiny.path('index.safetensors'));
    symlinkSync('/dev/zero', tiny.path('device.safetensors'));
    const map = Object.fromEntries(Object.keys(tiny.header).map(name => [name, weights]));
    const index = { metadata: { total_size: 1 }, weight_map: map };
    const names = /\.json|\.safetensors|tensor/;
    const write = (bytes: Buffer) => tiny.write('model.safetensors.index.json', bytes);
    const written = Buffer.from(JSON.stringify(index));
    write(written);
    assert.equal(await judge(-1, tiny, { bytes: written, did: 'nothing' }, names), 'read');
    const shards = [
      ...['folder', 'elsewhere', 'circle', 'index', 'device', 'missing'].map(name => `${name}.safetensors`),
      ...['config.json', 'model.safetensors.index.json', '..', '', '.safetensors', '../x.safetensors', outside],
      `${'n'.repeat(300)}.safetensors`,
    ];
    for (const [number, random] of trials.cases(700, 300_000)) {
      const mapped: Record<string, unknown> = { ...map };
      const did: string[] = [];
      for (let i = 0; i < random.below(4); i++) {
        const name = random.pick(Object.keys(map));
        const shard = random.pick(shards);
        mapped[random.chance(0.8) ? name : `${name}x`] = shard;
        did.push(`${name}: ${shard.slice(-40)}`);
      }
      const change = random.chance(0.5)
        ? mutateJson({ ...index, weight_map: mapped }, random)
        : { bytes: Buffer.from(JSON.stringify({ ...index, weight_map: mapped })), did: '' };
      write(change.bytes);
      await judge(number, tiny, { bytes: change.bytes, did: [...did, change.did].join('; ') }, names);
    }
  });
});
