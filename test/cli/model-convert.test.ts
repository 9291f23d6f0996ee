/**
 * `model convert` and what follows it, through the real process on tiny checkpoints: from folders with odd names, from a
 * hub that speaks HTTPS, interrupted, repeated, damaged; and a memory for each model. Never trained: answers are noise.
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenizerConfig, tokenizerJson } from '../engine/tiny-text-model.js';
import { HubServer } from '../models/hub-server.js';
import { tinyModel, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';
import { startCli, type Outcome } from './cli-process.js';
import { assertGolden } from './golden.js';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const certificate = resolve('test/fixtures/tls/localhost.cert.pem');
const tls = { key: readFileSync(resolve('test/fixtures/tls/localhost.key.pem')), cert: readFileSync(certificate) };
const WEIGHTS = 'weights.bin';

/** A Hugging Face folder with a tokenizer: one token a byte. */
function writeCheckpoint(folder: string, variant: keyof typeof tinyVariants): string {
  writeTinyModel(tinyModel(tinyVariants[variant].model), folder);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizerJson));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  return folder;
}

suite('model convert', function () {
  this.timeout(120_000);
  let scratch: string;
  let data: string;
  setup(() => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-convert-')));
    data = join(scratch, 'dätä 文件 folder');
  });
  teardown(() => rmSync(scratch, { recursive: true, force: true }));

  const longview = (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Outcome> =>
    startCli([...args, '--data', data], scratch, env).ended;
  const json = ({ out }: Outcome): unknown => JSON.parse(out);
  const weightsOf = (name: string): string => join(data, 'models', name, WEIGHTS);
  const installed = (): string[] => (existsSync(join(data, 'models')) ? readdirSync(join(data, 'models')) : []);

  test('a folder, whatever its path; told as JSON; the same again converts nothing, another under its name is refused', async () => {
    const folder = writeCheckpoint(join(scratch, 'my models', 'Tîny Llama (文)'), 'llama');
    const first = await longview(['model', 'convert', folder, '--as', 'tiny', '--licence', 'MIT', '--json']);
    assert.equal(first.code, 0, first.err);
    // A slow machine tells how far it is.
    assert.doesNotMatch(first.err, /longview:|warning:|error:/);
    const told = json(first) as Record<string, unknown> & { check: { difference: number } };
    assert.match(String(told['fingerprint']), /^[0-9a-f]{64}$/);
    // Every layer is narrower than a block of 32 weights, or exact in it: what is left is float32's noise.
    assert.ok(told.check.difference < 1e-4, String(told.check.difference));
    const bytes = readdirSync(join(data, 'models', 'tiny'))
      .filter(name => name !== 'model.json')
      .reduce((sum, name) => sum + statSync(join(data, 'models', 'tiny', name)).size, 0);
    assert.equal(told['diskBytes'], bytes);
    const stable = { ...told, fingerprint: 'HEX', diskBytes: 'BYTES', check: { ...told.check, difference: 'SMALL' } };
    assertGolden('model-convert.json', `${JSON.stringify(stable, null, 2)}\n`);

    const before = statSync(weightsOf('tiny')).mtimeMs;
    const again = await longview(['model', 'convert', folder, '--as', 'tiny', '--json']);
    assert.deepEqual([again.code, json(again)], [0, told]);
    assert.equal(statSync(weightsOf('tiny')).mtimeMs, before);
    const other = await longview(['model', 'convert', folder, '--as', 'tiny', '--quant', 'f32', '--json']);
    assert.equal(other.code, 2);
    assert.match(
      other.err,
      /tiny is installed already, as q4 from folder T.*: choose another name with --as, or remove it first\.\n$/,
    );
    assert.equal(statSync(weightsOf('tiny')).mtimeMs, before);
    assert.deepEqual(installed(), ['tiny']);

    const byName = await longview(['model', 'convert', folder]);
    assert.equal(byName.code, 0, byName.err);
    assert.match(
      byName.err,
      /^Model t-ny-llama is installed \(\d+ KB, q4; difference from the checkpoint [\d.e-]+, allowed 0\.3\)\.$/m,
    );
  });

  test('names that cannot be one, things that are not there, a licence of two lines, a file that is none', async () => {
    const folder = writeCheckpoint(join(scratch, 'checkpoint'), 'llama');
    for (const name of ['../x', '', 'a\nb', 'x.part-1']) {
      const { code, out, err } = await longview(['model', 'convert', folder, '--as', name]);
      assert.deepEqual([code, out], [2, ''], JSON.stringify(name));
      assert.match(err, /^longview: "[^\n]*" is not a model name: take up to 64 of a-z, .*\n$/);
    }
    const taken = await longview(['model', 'convert', folder, '--as', 'smollm2-135m-instruct']);
    assert.equal(taken.code, 2);
    assert.match(taken.err, /is the catalogue's name of a model with other weights/);
    const missing = await longview(['model', 'convert', './missing.gguf', '--json']);
    assert.equal(missing.code, 1);
    assert.match(
      (json(missing) as { error: { message: string } }).error.message,
      /^There is no file or folder "\.\/missing\.gguf", and/,
    );
    const licence = await longview(['model', 'convert', folder, '--licence', 'MIT\nevil']);
    assert.equal(licence.code, 2);
    writeFileSync(join(scratch, 'notes.txt'), 'x');
    const text = await longview(['model', 'convert', 'notes.txt']);
    assert.equal(text.code, 2);
    assert.match(text.err, /is no checkpoint: give a \.gguf file/);
    writeFileSync(join(folder, 'config.json'), '{"model_type":"mamba"}');
    const family = await longview(['model', 'convert', folder]);
    assert.equal(family.code, 1);
    assert.match(family.err, /^longview: [^\n]*model_type "mamba" is not supported[^\n]*\n$/);
    assert.deepEqual(installed(), []);
  });

  test('list and verify tell what is whole, and what is damaged and why; converting again repairs', async () => {
    const folder = writeCheckpoint(join(scratch, 'Tiny'), 'qwen2');
    assert.equal((await longview(['model', 'convert', folder, '--quant', 'q8'])).code, 0);
    interface Listed {
      readonly models: Record<string, unknown>[];
      readonly problems: { name: string; problem: string }[];
    }
    const list = json(await longview(['model', 'list', '--json'])) as Listed;
    const tiny = list.models.find(model => model['name'] === 'tiny')!;
    assert.deepEqual(
      ['installed', 'default', 'family', 'layers', 'bytesPerSlot', 'quantisation', 'recallHeads', 'license'].map(
        key => tiny[key],
      ),
      // 3 layers of 2 key heads: int8 key and value of 8, and 20 bytes of figures.
      [true, true, 'qwen2', 3, 3 * 2 * (2 * 8 + 20), 'q8', 0, 'unknown'],
    );
    const text = (await longview(['model', 'list'])).out;
    assert.match(
      text,
      /^tiny: installed, the default\n {2}\d+ KB, q8, qwen2, 3 layers, 216 bytes a slot, no recall heads\n {2}folder Tiny, SHA-256/,
    );
    assert.match(text, /\n {2}smollm2-135m-instruct: \d+ MB to download/);

    const whole = await longview(['model', 'verify', 'tiny', '--json']);
    assert.equal(whole.code, 0, whole.err);
    assert.equal((json(whole) as { ok: boolean }).ok, true);
    const weights = readFileSync(weightsOf('tiny'));
    weights[1000]! ^= 1;
    writeFileSync(weightsOf('tiny'), weights);
    const flipped = await longview(['model', 'verify', 'tiny', '--json']);
    assert.equal(flipped.code, 1);
    assert.deepEqual(json(flipped), {
      error: {
        code: 'hash-mismatch',
        message: 'Model tiny: weights.bin was changed. Remove the model and add it again.',
      },
    });
    truncateSync(weightsOf('tiny'), 1000);
    const short = /weights\.bin has 1000 bytes, not \d+/;
    const damaged = json(await longview(['model', 'list', '--json'])) as Listed;
    assert.ok(!damaged.models.some(model => model['name'] === 'tiny'));
    assert.equal(damaged.problems[0]?.name, 'tiny');
    assert.match(damaged.problems[0].problem, short);
    assert.match(
      (await longview(['model', 'list'])).out,
      /^tiny: not usable\. Model tiny: weights\.bin has 1000 bytes/,
    );
    const verify = await longview(['model', 'verify', 'tiny']);
    assert.deepEqual([verify.code, short.test(verify.err)], [1, true]);
    mkdirSync(join(scratch, 'ws'));
    const ask = await longview(['ask', 'ws', 'Why?', '--model', 'tiny']);
    assert.deepEqual([ask.code, short.test(ask.err)], [1, true], ask.err);
    assert.equal((await longview(['model', 'convert', folder, '--quant', 'q8'])).code, 0);
    assert.equal((await longview(['model', 'verify', 'tiny'])).code, 0);
    assert.equal((await longview(['model', 'remove', 'tiny'])).code, 0);
    assert.deepEqual(installed(), []);
  });

  test('each model has its own memory: the second reading by the first one reads nothing, status tells them apart', async () => {
    const folder = writeCheckpoint(join(scratch, 'Tiny'), 'llama');
    const workspace = join(scratch, 'workspace');
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'a.ts'), 'export const retryLimit = 3;\n');
    writeFileSync(join(workspace, 'b.md'), '# Guide\n\nHow to install it.\n');
    for (const name of ['a', 'b']) {
      const quant = name === 'a' ? 'f32' : 'q8';
      assert.equal((await longview(['model', 'convert', folder, '--as', name, '--quant', quant])).code, 0);
    }
    interface Read {
      readonly filesRead: number;
    }
    interface Status {
      readonly coverage: { readonly read: number; readonly waiting: number };
      readonly state: { readonly slots: number; readonly bytes: number };
    }
    const read = async (model: string): Promise<number> => {
      const outcome = await longview(['read', 'workspace', '--model', model, '--json']);
      assert.equal(outcome.code, 0, outcome.err);
      return (json(outcome) as Read).filesRead;
    };
    const status = async (model: string): Promise<number[]> => {
      const { coverage, state } = json(await longview(['status', 'workspace', '--model', model, '--json'])) as Status;
      // 104 bytes of header, then 7 floats, 8 int16 keys and values and a flag for each of 6 groups (state-blob.ts).
      assert.equal(state.bytes, state.slots === 0 ? 0 : 104 + state.slots * 6 * (7 * 4 + 2 * 2 * 8 + 1));
      return [coverage.read, coverage.waiting];
    };
    assert.equal(await read('a'), 2);
    assert.deepEqual(await status('a'), [2, 0]);
    assert.deepEqual(await status('b'), [0, 2]);
    assert.deepEqual(await status('a'), [2, 0], 'looking with another model changes nothing');
    assert.equal(await read('b'), 2);
    assert.deepEqual(await status('b'), [2, 0]);
    assert.deepEqual(await status('a'), [2, 0], 'its memories are kept');
    assert.equal(await read('a'), 0);
    const ask = await longview([
      'ask',
      'workspace',
      'What is the retryLimit?',
      '--model',
      'b',
      '--now',
      '--max-tokens',
      '5',
      '--json',
    ]);
    assert.equal(ask.code, 0, ask.err);
    assert.match(ask.err, /Model b has no recall heads: places are found by the words of the question alone/);
    const { recalled } = json(ask) as { recalled: { path: string; startLine: number }[] };
    assert.deepEqual([recalled[0]?.path, recalled[0]?.startLine], ['a.ts', 1]);
  });

  suite('from the hub', () => {
    let hub: HubServer;
    let proxy: Server;
    let proxied: string[];
    let env: NodeJS.ProcessEnv;
    setup(async () => {
      hub = await HubServer.start(tls);
      const folder = writeCheckpoint(join(scratch, 'repository'), 'llama');
      const files = new Map(readdirSync(folder).map(name => [name, readFileSync(join(folder, name))]));
      const says = { cardData: { license: 'apache-2.0' } };
      hub.repositories.set('maker/Tiny-Llama', { commit: COMMIT, files, says });
      hub.repositories.set('maker/old', { commit: COMMIT, files: new Map([['pytorch_model.bin', Buffer.from('x')]]) });
      proxied = [];
      proxy = createServer();
      proxy.on('connect', (request, socket) => {
        const target = new URL(`http://${request.url ?? ''}`);
        proxied.push(target.host);
        const onward = connect(Number(target.port), '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          onward.pipe(socket).pipe(onward);
        });
        onward.on('error', () => socket.destroy());
        socket.on('error', () => onward.destroy());
      });
      await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done));
      env = { HF_ENDPOINT: hub.url, NODE_EXTRA_CA_CERTS: certificate };
    });
    teardown(async () => {
      proxy.closeAllConnections();
      proxy.close();
      await hub.stop();
    });

    test('asks first, downloads through the proxy, converts; the second time it only looks', async () => {
      const unasked = await longview(['model', 'convert', 'maker/Tiny-Llama'], env);
      assert.equal(unasked.code, 1);
      const bytes = [...hub.repositories.get('maker/Tiny-Llama')!.files.values()].reduce(
        (sum, file) => sum + file.length,
        0,
      );
      const cost = `tiny-llama: ${Math.round(bytes / 1000)} KB to download from ${hub.url.slice(8)}/maker/Tiny-Llama (commit 0123456789ab); `;
      assert.ok(unasked.err.includes(cost), unasked.err);
      assert.match(
        unasked.err,
        /licence apache-2\.0\. Agree to the download with --yes, or run `longview model convert maker\/Tiny-Llama --yes`\.\n$/,
      );
      assert.ok(
        hub.seen.every(({ path }) => path.startsWith('/api/')),
        'nothing was downloaded',
      );
      const through = { ...env, HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
      const done = await longview(['model', 'convert', 'maker/Tiny-Llama', '--yes', '--json'], through);
      assert.equal(done.code, 0, done.err);
      assert.ok(proxied.length >= 5, proxied.join());
      const { name, origin, license } = json(done) as Record<string, string>;
      assert.deepEqual(
        [name, origin, license],
        ['tiny-llama', `${hub.url}/maker/Tiny-Llama at ${COMMIT}`, 'apache-2.0'],
      );
      assert.deepEqual(readdirSync(join(data, 'downloads')), [], 'the download is gone');
      const asked = hub.seen.length;
      assert.equal((await longview(['model', 'convert', 'maker/Tiny-Llama', '--yes'], env)).code, 0);
      assert.equal(hub.seen.length, asked + 1, 'only the listing');
    });

    test('what the hub does not have, and a hub that is not there: one line, exit code 1', async () => {
      const cases: [string, RegExp][] = [
        ['maker/none', /has no public model maker\/none \(401\)/],
        ['maker/Tiny-Llama@v2', /has no revision "v2"/],
        ['maker/old', /holds no weights that Longview reads .* there is only pytorch_model\.bin/],
      ];
      for (const [name, message] of cases) {
        const { code, out, err } = await longview(['model', 'convert', name, '--yes'], env);
        assert.deepEqual([code, out], [1, ''], err);
        assert.match(err, message);
        assert.match(err, /^longview: [^\n]+\n$/);
      }
      const gone = await longview(['model', 'convert', 'maker/Tiny-Llama'], { HF_ENDPOINT: 'https://localhost:1' });
      assert.equal(gone.code, 1);
      assert.match(
        gone.err,
        /^longview: No answer from localhost:1 \(ECONNREFUSED\)\. Without a network, download maker\/Tiny-Llama on another machine/,
      );
      const add = await longview(['model', 'add', 'maker/Tiny-Llama']);
      assert.equal(add.code, 2);
      assert.match(add.err, /run `longview model convert maker\/Tiny-Llama`\.\n$/);
    });

    test('Ctrl-C while it downloads and while it converts: nothing half-made, and the download goes on later', async () => {
      const part = join(data, 'downloads', 'tiny-llama', 'hub', 'model.safetensors.part');
      const cutWhen = (): boolean => (statSync(part, { throwIfNoEntry: false })?.size ?? 0) > 0;
      hub.next.set('model.safetensors', [{ cutAfter: 50_000, cutWhen }, { silent: true }]);
      const args = ['model', 'convert', 'maker/Tiny-Llama', '--yes', '--data', data];
      const downloading = startCli(args, scratch, env);
      while (hub.requests('model.safetensors').length < 2) await sleep(10);
      downloading.child.kill('SIGINT');
      const stopped = await downloading.ended;
      assert.equal(stopped.code, 130, stopped.err);
      assert.deepEqual(installed(), []);
      const have = statSync(part).size;
      assert.ok(have > 0 && have <= 50_000);

      const converting = startCli(args, scratch, env);
      while (!installed().some(name => name.includes('.part-'))) await sleep(2);
      converting.child.kill('SIGINT');
      assert.equal((await converting.ended).code, 130);
      assert.equal(hub.requests('model.safetensors').at(-1)!.headers.range, `bytes=${have}-`);
      assert.deepEqual(installed(), []);

      const asked = hub.seen.length;
      assert.equal((await startCli(args, scratch, env).ended).code, 0);
      assert.equal(hub.seen.length, asked + 1, 'all files were there');
      assert.deepEqual(installed(), ['tiny-llama']);
    });
  });
});
