/** A repository of the hub, from its name to its files on this disk, against a server that behaves like the hub, and lies. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '../../src/base/index.js';
import { bearerOf, hubAddress } from '../../src/models/hub.js';
import {
  downloadFromHub,
  estimatedDiskBytes,
  findOnHub,
  hubBytesOf,
  hubOriginOf,
} from '../../src/models/hub-checkpoint.js';
import type { HubCheckpoint } from '../../src/models/hub-checkpoint.js';
import { parseHubId } from '../../src/models/hub-id.js';
import { get } from '../../src/models/http.js';
import { HubServer } from './hub-server.js';
import type { Repository } from './hub-server.js';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const weights = Buffer.from(Array.from({ length: 60_000 }, (_, i) => (i * i) % 251));
const files = new Map<string, Buffer>([
  ['README.md', Buffer.from('# Tiny\n')],
  ['config.json', Buffer.from('{"model_type":"llama"}')],
  ['tokenizer.json', Buffer.from('{"model":{}}')],
  ['model.safetensors', weights],
]);

suite('hub checkpoint', () => {
  let hub: HubServer;
  let scratch: string;
  let folder: string;

  setup(async () => {
    hub = await HubServer.start();
    hub.repositories.set('maker/Tiny', { commit: COMMIT, files });
    scratch = await mkdtemp(join(tmpdir(), 'longview-hub-'));
    folder = join(scratch, 'deep', 'hub');
  });
  teardown(async () => {
    await hub.stop();
    await rm(scratch, { recursive: true, force: true });
  });

  const network = (env: NodeJS.ProcessEnv = {}) =>
    ({ hub: hub.url, allowLoopback: true, connectTimeout: 1000, idleTimeout: 500, env }) as const;
  const find = (name: string, env?: NodeJS.ProcessEnv) => findOnHub(parseHubId(name)!, { network: network(env) });
  const fetchIt = (checkpoint: HubCheckpoint, env?: NodeJS.ProcessEnv, onProgress?: (progress: Progress) => void) =>
    downloadFromHub(checkpoint, { folder, network: network(env), onProgress });
  const change = (changes: Partial<Repository>) =>
    hub.repositories.set('maker/Tiny', { commit: COMMIT, files, ...changes });

  test('one request finds it: commit, needed files, licence, sizes; then each file by that commit, checked', async () => {
    change({
      says: { cardData: { license: 'apache-2.0' }, safetensors: { parameters: { F32: 15_000 }, total: 15_000 } },
    });
    const found = await find('maker/Tiny');
    assert.deepEqual(
      hub.seen.map(({ path }) => path),
      ['/api/models/maker/Tiny/revision/main?blobs=true'],
    );
    assert.equal(found.commit, COMMIT);
    assert.equal(found.licence, 'apache-2.0');
    assert.deepEqual(
      found.files.map(({ path, bytes, digest }) => [path, bytes, digest.kind]),
      [
        ['config.json', 22, 'git-blob'],
        ['tokenizer.json', 12, 'git-blob'],
        ['model.safetensors', 60_000, 'sha256'],
      ],
    );
    // What `git hash-object` says of the 22 bytes.
    assert.equal(found.files[0]!.digest.hex, '0972e95c1405cc1507c19dcbe784f7a36c930907');
    assert.equal(hubBytesOf(found), 60_034);
    assert.equal(hubOriginOf(found), `https://${hub.url.slice('http://'.length)}/maker/Tiny at ${COMMIT}`);
    // 15,000 parameters of 1.8 bytes, and 4 MiB of graphs and tokenizer.
    assert.equal(estimatedDiskBytes(found, 'q4'), 27_000 + (4 << 20));
    const told: Progress[] = [];
    assert.equal(await fetchIt(found, {}, progress => told.push(progress)), folder);
    assert.deepEqual((await readdir(folder)).sort(), ['config.json', 'model.safetensors', 'tokenizer.json']);
    for (const name of await readdir(folder)) assert.ok((await readFile(join(folder, name))).equals(files.get(name)!));
    assert.ok(hub.seen.slice(1).every(({ path }) => path.startsWith('/cdn/') || path.includes(`/resolve/${COMMIT}/`)));
    assert.deepEqual([told.at(-1)!.done, told.at(-1)!.total], [60_034, 60_034]);
    const asked = hub.seen.length;
    await fetchIt(found);
    assert.equal(hub.seen.length, asked, 'what is there and right is not asked for again');
  });

  test('a revision is pinned, one that is not there is said, and so is a name', async () => {
    assert.equal((await find(`maker/Tiny@${COMMIT}`)).commit, COMMIT);
    await assert.rejects(find('maker/Tiny@v9'), { code: 'not-found', message: /maker\/Tiny has no revision "v9"/ });
    await assert.rejects(find('maker/Other'), {
      code: 'not-found',
      message: /has no public model maker\/Other \(401\): check the name, or, if it is private, set HF_TOKEN\.$/,
    });
  });

  test('one GGUF of several, in a folder of the repository', async () => {
    change({
      files: new Map([
        ['q/a-Q4_0.gguf', weights],
        ['a-Q8_0.gguf', weights],
      ]),
    });
    await assert.rejects(find('maker/Tiny'), { code: 'usage', message: /name one of them/ });
    const found = await find('maker/Tiny/q/a-Q4_0.gguf');
    assert.equal(await fetchIt(found), join(folder, 'a-Q4_0.gguf'));
    assert.match(hubOriginOf(found), / at [0-9a-f]{40}, q\/a-Q4_0\.gguf$/);
  });

  test('the token goes to the hub and to no other host, and not along a redirect', async () => {
    hub.tokens.add('secret');
    const env = { HF_TOKEN: ' secret\n' };
    await fetchIt(await find('maker/Tiny', env), env);
    const ofHub = hub.seen.filter(({ path }) => !path.startsWith('/cdn/'));
    assert.equal(ofHub.length, 4);
    assert.ok(ofHub.every(({ headers }) => headers.authorization === 'Bearer secret'));
    const ofCdn = hub.requests('model.safetensors');
    assert.equal(ofCdn.length, 1);
    assert.equal(ofCdn[0]!.headers.authorization, undefined);
    const other = await HubServer.start();
    other.files.set('x', weights);
    const bearer = bearerOf(network(env))!;
    (await get(`${other.url}/a/b/resolve/main/x`, {}, { ...network(env), bearer })).body.destroy();
    assert.ok(other.seen.every(({ headers }) => headers.authorization === undefined));
    await other.stop();
  });

  test('gated: without a token nothing is downloaded, a token that was not let in is told what to do', async () => {
    change({ gatedFor: ['let-in'] });
    hub.tokens.add('let-in').add('other');
    await assert.rejects(find('maker/Tiny'), {
      code: 'permission',
      message: `maker/Tiny is gated on ${hub.url.slice(7)}: accept its licence at ${hub.url}/maker/Tiny and set HF_TOKEN to a token of that account.`,
    });
    const other = { HF_TOKEN: 'other' };
    await assert.rejects(fetchIt(await find('maker/Tiny', other), other), {
      code: 'permission',
      message: /is gated .*accept its licence at .*\/maker\/Tiny with the account of HF_TOKEN\.$/,
    });
    const right = { HF_TOKEN: 'let-in' };
    await fetchIt(await find('maker/Tiny', right), right);
    const wrong = { HF_TOKEN: 'expired' };
    await assert.rejects(find('maker/Tiny', wrong), {
      code: 'permission',
      message: /does not accept HF_TOKEN \(401\)/,
    });
    assert.throws(() => bearerOf({ env: { HF_TOKEN: 'a\nb' } }), { code: 'usage' });
  });

  test('a busy hub is asked again as it says, not for ever', async () => {
    const busy = { status: 429, headers: { 'retry-after': '0' } };
    hub.next.set('api', [busy, { ...busy, status: 503 }]);
    await find('maker/Tiny');
    hub.next.set('api', [busy, busy, busy, busy]);
    await assert.rejects(find('maker/Tiny'), { code: 'network', message: /is busy \(429\); try again later\.$/ });
    hub.next.set('api', [{ status: 503, headers: { 'retry-after': '9000' } }]);
    await assert.rejects(find('maker/Tiny'), { code: 'network', message: /busy \(503\)/ });
  });

  test('what is no answer of the API is refused', async () => {
    const siblings = [{ rfilename: 'config.json', size: -1 }];
    for (const body of ['<html>', '[]', '{"sha":"main","siblings":[]}', JSON.stringify({ sha: COMMIT, siblings })]) {
      hub.next.set('api', [{ body: Buffer.from(body) }]);
      await assert.rejects(find('maker/Tiny'), {
        code: 'bad-format',
        message: /gives no usable answer about maker\/Tiny@main/,
      });
    }
    change({ says: { disabled: true } });
    await assert.rejects(find('maker/Tiny'), { code: 'not-found', message: /is disabled/ });
    change({ says: { siblings: [...files].map(([rfilename, { length }]) => ({ rfilename, size: length })) } });
    await assert.rejects(find('maker/Tiny'), { code: 'unsupported', message: /gives no hash of config\.json/ });
  });

  test('a hub that does not answer: what to do without one', async () => {
    hub.next.set('api', [{ silent: true }]);
    await assert.rejects(find('maker/Tiny'), {
      code: 'network',
      message:
        /^No answer from 127\.0\.0\.1:\d+ .*Without a network, download maker\/Tiny on another machine and give its folder or \.gguf file instead\.$/,
    });
  });

  test('a transfer that breaks off goes on at the next call, from where it was', async () => {
    const found = await find('maker/Tiny');
    const part = join(folder, 'model.safetensors.part');
    const cutWhen = (bytes: number): boolean => statSync(part, { throwIfNoEntry: false })?.size === bytes;
    hub.next.set('model.safetensors', [{ cutAfter: 20_000, cutWhen }, { cutAfter: 0 }, { cutAfter: 0 }]);
    await assert.rejects(fetchIt(found), {
      code: 'network',
      message: /broke off after 20000 of 60000 bytes; the same command goes on/,
    });
    await fetchIt(found);
    assert.equal(hub.requests('model.safetensors').at(-1)!.headers.range, 'bytes=20000-');
    assert.ok((await readFile(join(folder, 'model.safetensors'))).equals(weights));
  });

  test('sizes and hashes that are not those announced: nothing is kept as the file', async () => {
    const lfs = (size: number, sha256: string) => ({
      siblings: [
        { rfilename: 'config.json', size: 22, blobId: 'a'.repeat(40) },
        { rfilename: 'model.safetensors', size: 134, lfs: { size, sha256, pointerSize: 134 } },
      ],
    });
    change({ says: lfs(60_000, 'b'.repeat(64)) });
    const wrong = await find('maker/Tiny');
    await assert.rejects(fetchIt(wrong), {
      code: 'hash-mismatch',
      message: /config\.json: .*\(git blob [0-9a-f]{12}… instead of a{12}…\); it was deleted/,
    });
    await assert.rejects(fetchIt({ ...wrong, files: wrong.files.slice(1) }), {
      code: 'hash-mismatch',
      message: /SHA-256/,
    });
    change({ says: lfs(50_000, 'b'.repeat(64)) });
    const short = await find('maker/Tiny');
    await assert.rejects(fetchIt({ ...short, files: short.files.slice(1) }), {
      code: 'bad-format',
      message: /has 60000 bytes, not the expected 50000/,
    });
    assert.deepEqual(await readdir(folder), []);
    change({ says: lfs(1e15, 'b'.repeat(64)) });
    const asked = hub.seen.length;
    await assert.rejects(fetchIt(await find('maker/Tiny')), { code: 'disk-full' });
    assert.equal(hub.seen.length, asked + 1, 'only the listing was asked for');
  });

  test('names of the listing, links and strangers in the folder: nothing is written outside it', async () => {
    const outside = join(scratch, 'outside');
    await writeFile(outside, 'mine');
    await mkdir(folder, { recursive: true });
    await symlink(outside, join(folder, 'config.json'));
    await symlink(outside, join(folder, 'tokenizer.json.part'));
    await symlink(scratch, join(folder, 'model.safetensors'));
    await writeFile(join(folder, 'model-00001-of-00002.safetensors'), 'of another version');
    change({
      files: new Map([...files, ['../outside', weights], ['../../outside', weights], ['/tmp/outside', weights]]),
    });
    await fetchIt(await find('maker/Tiny'));
    assert.equal(await readFile(outside, 'utf8'), 'mine');
    assert.deepEqual((await readdir(scratch)).sort(), ['deep', 'outside']);
    assert.deepEqual((await readdir(folder)).sort(), ['config.json', 'model.safetensors', 'tokenizer.json']);
    change({ files: new Map([['../x.gguf', weights]]) });
    await assert.rejects(find('maker/Tiny'), { code: 'unsupported', message: /no file name/ });
  });

  test('which hub: HF_ENDPOINT where it is HTTPS, through the proxy of the environment', async () => {
    assert.equal(hubAddress({ env: {} }), 'https://huggingface.co');
    assert.equal(hubAddress({ env: { HF_ENDPOINT: 'https://mirror.example/hf/' } }), 'https://mirror.example/hf');
    for (const HF_ENDPOINT of ['http://mirror.example', 'mirror.example', 'file:///x']) {
      assert.throws(() => hubAddress({ env: { HF_ENDPOINT } }), {
        code: 'usage',
        message: /must be an https:\/\/ address/,
      });
    }
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    const env = {
      HF_ENDPOINT: 'https://hub.invalid',
      HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    };
    await assert.rejects(findOnHub(parseHubId('a/b')!, { network: { env, connectTimeout: 2000 } }), {
      code: 'network',
    });
    assert.deepEqual(asked, ['hub.invalid:443']);
    proxy.close();
  });

  test('cancelled while the hub thinks', async () => {
    const stop = new AbortController();
    hub.next.set('api', [{ silent: true }]);
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(findOnHub(parseHubId('maker/Tiny')!, { network: network(), signal: stop.signal }), {
      code: 'cancelled',
    });
  });
});
