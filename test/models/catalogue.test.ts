/** The catalogue of the project, and catalogues that are wrong; where data lies. */
import assert from 'node:assert/strict';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { entryOf, readCatalogue } from '../../src/models/catalogue.js';
import { dataFolder, modelFolder } from '../../src/models/data-folder.js';
import { downloadBytesOf, originOf } from '../../src/models/sources.js';

suite('catalogue', () => {
  let folder: string;
  setup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-catalogue-'))));
  teardown(() => rm(folder, { recursive: true, force: true }));

  test('the default model: every source pinned, its files there', async () => {
    const catalogue = await readCatalogue();
    const model = entryOf(catalogue);
    assert.equal(model.name, 'smollm2-135m-instruct');
    assert.equal(model.licence, 'Apache-2.0');
    const [hub, pypi, ...others] = model.sources;
    assert.ok(hub?.kind === 'hub' && pypi?.kind === 'pypi' && others.length === 0);
    assert.ok(hub.revision !== undefined && hub.files.every(({ bytes, sha256 }) => bytes !== undefined && sha256));
    // 861 + 2,104,556 + 3,764 + 269,060,552.
    assert.equal(downloadBytesOf(model), 271_169_733);
    assert.equal(
      originOf(hub),
      'https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct at 12fd25f77366fa6b3b4b768ec3050bf629380bac',
    );
    await access(join(catalogue.folder, model.recallFile!));
    // Its heads, layer and query head, are those that the fitted values are for: int32 [H,2] of the file.
    const fitted = await readFile(join(catalogue.folder, model.recallFile!));
    const header = fitted.subarray(8, 8 + Number(fitted.readBigUInt64LE()));
    const { heads } = JSON.parse(header.toString()) as { heads: { data_offsets: [number, number] } };
    const [from, to] = heads.data_offsets;
    const start = 8 + header.length + from;
    const numbers = Array.from({ length: (to - from) / 4 }, (_, i) => fitted.readInt32LE(start + 4 * i));
    assert.deepEqual(model.recall!.heads.flat(), numbers);
  });

  test('how the default model weighs a state: a row for each of its 30 layers, of 9 query heads or 3 key heads', async () => {
    // The shapes of the checkpoint's config.json.
    const kvm = entryOf(await readCatalogue()).kvm!;
    const shape = (table: readonly (readonly number[])[] | undefined) => table!.map(row => row.length);
    assert.deepEqual(shape(kvm.stateBiasOfHead), Array<number>(30).fill(9));
    assert.deepEqual(shape(kvm.stateTemperatureOfKeyHead), Array<number>(30).fill(3));
    assert.deepEqual(shape(kvm.stateValueScaleOfKeyHead), Array<number>(30).fill(3));
    assert.ok([...kvm.stateTemperatureOfKeyHead!, ...kvm.stateValueScaleOfKeyHead!].flat().every(scale => scale > 0));
  });

  test('how a state of the default model grows: the same shapes, and no more slots than the schedule has', async () => {
    const growing = entryOf(await readCatalogue()).kvm!.growing!;
    const shape = (table: readonly (readonly number[])[]) => table.map(row => row.length);
    assert.equal(growing.shareOfLayer.length, 30);
    assert.deepEqual(shape(growing.biasOfHead), Array<number>(30).fill(9));
    const { temperatureOfKeyHead, valueScaleOfKeyHead, readDistanceOfKeyHead } = growing;
    for (const table of [temperatureOfKeyHead, valueScaleOfKeyHead, readDistanceOfKeyHead]) {
      assert.deepEqual(shape(table), Array<number>(30).fill(3));
      assert.ok(table.flat().every(value => value > 0));
    }
    // The mean share is 1 at most: a state is never larger than its schedule.
    assert.ok(growing.shareOfLayer.reduce((sum, share) => sum + share) <= 30);
  });

  test('an unknown name is answered with what there is', async () => {
    const catalogue = await readCatalogue();
    assert.throws(() => entryOf(catalogue, 'gpt-9'), { code: 'not-found', message: /smollm2-135m-instruct/ });
  });

  test('a catalogue that is wrong is refused with the place', async () => {
    const { models } = JSON.parse(await readFile(join((await readCatalogue()).folder, 'catalogue.json'), 'utf8')) as {
      models: Record<string, unknown>[];
    };
    const model = models[0]!;
    const write = (changes: object) =>
      writeFile(
        join(folder, 'catalogue.json'),
        JSON.stringify({ format: 1, default: model['name'], models, ...changes }),
      );
    await write({});
    assert.equal((await readCatalogue(folder)).folder, folder);
    const cases: [object, RegExp][] = [
      [{ format: 2 }, /format/],
      [{ default: 'other' }, /names must be unique and hold the default/],
      [{ models: [...models, ...models] }, /names must be unique/],
      [{ models: [{ ...model, name: '../x' }] }, /models\.0\.name/],
      [{ models: [{ ...model, recallFile: '../../x' }] }, /models\.0\.recallFile/],
      [{ models: [{ ...model, sources: [] }] }, /models\.0\.sources/],
      [
        { models: [{ ...model, sources: [{ kind: 'hub', repository: 'a/b', files: [{ name: 'x/y' }] }] }] },
        /files\.0\.name/,
      ],
      [{ models: [{ ...model, sources: [{ kind: 'ftp' }] }] }, /sources\.0/],
    ];
    for (const [changes, message] of cases) {
      await write(changes);
      await assert.rejects(readCatalogue(folder), { code: 'bad-format', message });
    }
    await writeFile(join(folder, 'catalogue.json'), '{');
    await assert.rejects(readCatalogue(folder), { code: 'bad-format', message: /Cannot read/ });
  });

  test('where data lies', () => {
    assert.equal(dataFolder({ LONGVIEW_DATA: 'some/where' }), resolve('some/where'));
    assert.match(dataFolder({}), /longview/);
    assert.equal(modelFolder('/data', 'a-1.5b'), join('/data', 'models', 'a-1.5b'));
    for (const name of [
      '..',
      '.',
      '',
      'a/b',
      'A',
      '-a',
      'a\\b',
      'a\nb',
      'a.',
      'a..b',
      'con',
      'com1.x',
      'x.lock',
      'x.part-1',
      'x'.repeat(65),
    ]) {
      assert.throws(() => modelFolder('/data', name), { code: 'usage' }, name);
    }
  });
});
