/** Downloads against a server that behaves like the hub, and one that does not. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '../../src/base/index.js';
import { download } from '../../src/models/download.js';
import { get } from '../../src/models/http.js';
import { proxyFor } from '../../src/models/proxy.js';
import { HubServer } from './hub-server.js';
import type { Misbehaviour } from './hub-server.js';

const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251));
const sha256 = createHash('sha256').update(content).digest('hex');

suite('download', () => {
  let hub: HubServer;
  let folder: string;
  let path: string;

  setup(async () => {
    hub = await HubServer.start();
    hub.files.set('model.bin', content);
    folder = await mkdtemp(join(tmpdir(), 'longview-download-'));
    path = join(folder, 'model.bin');
  });
  teardown(async () => {
    await hub.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Breaks off after so many bytes, once they are on the disk. */
  const cut = (cutAfter: number): Misbehaviour => ({
    cutAfter,
    cutWhen: bytes => statSync(`${path}.part`, { throwIfNoEntry: false })?.size === bytes,
  });
  const misbehave = (...wrongs: Misbehaviour[]) => hub.next.set('model.bin', wrongs);

  async function fetchIt(changes: Partial<Parameters<typeof download>[0]> = {}, signal?: AbortSignal): Promise<void> {
    const request = {
      url: `${hub.url}/a/b/resolve/main/model.bin`,
      path,
      bytes: content.length,
      digest: { kind: 'sha256', hex: sha256 } as const,
      label: 'model.bin',
    };
    await download({ ...request, ...changes }, { allowLoopback: true, connectTimeout: 1000, idleTimeout: 500, signal });
  }

  const whole = async () => assert.ok((await readFile(path)).equals(content));

  test('follows the redirect, tells progress, leaves only the file; a second call asks nothing', async () => {
    const seen: Progress[] = [];
    await fetchIt({ onProgress: progress => seen.push(progress) });
    await whole();
    assert.deepEqual(await readdir(folder), ['model.bin']);
    assert.equal(seen[0]!.done, 0);
    assert.deepEqual(seen.at(-1), {
      task: 'Downloading model.bin',
      done: content.length,
      total: content.length,
      unit: 'bytes',
    });
    assert.ok(seen.every(({ done }, i) => i === 0 || done >= seen[i - 1]!.done));
    const before = hub.seen.length;
    await fetchIt();
    assert.equal(hub.seen.length, before);
  });

  test('goes on after a broken transfer from where it was', async () => {
    misbehave(cut(100_000), cut(50_000));
    await fetchIt();
    await whole();
    const asked = hub.requests('model.bin').map(({ headers }) => [headers.range, headers['if-range']]);
    assert.deepEqual(asked, [
      [undefined, undefined],
      ['bytes=100000-', '"one"'],
      ['bytes=150000-', '"one"'],
    ]);
  });

  test('gives up where nothing moves; the next call goes on from there', async () => {
    misbehave(cut(100_000), { cutAfter: 0 }, { cutAfter: 0 });
    await assert.rejects(fetchIt(), {
      code: 'network',
      message: /broke off after 100000 of 300000 bytes; the same command goes on/,
    });
    assert.deepEqual((await readdir(folder)).sort(), ['model.bin.part', 'model.bin.part.tag']);
    misbehave();
    await fetchIt();
    await whole();
    assert.equal(hub.requests('model.bin').at(-1)!.headers.range, 'bytes=100000-');
    assert.deepEqual(await readdir(folder), ['model.bin']);
  });

  test('begins again where the file changed, the tag is weak, or ranges are ignored', async () => {
    misbehave(cut(100_000), { cutAfter: 0 }, { cutAfter: 0 });
    await assert.rejects(fetchIt(), { code: 'network' });
    hub.tag = '"two"';
    misbehave();
    await fetchIt();
    await whole();

    await rm(path);
    hub.tag = 'W/"weak"';
    misbehave(cut(100_000));
    await fetchIt();
    await whole();
    assert.equal(hub.requests('model.bin').at(-1)!.headers.range, undefined);

    await rm(path);
    hub.tag = '"one"';
    misbehave(cut(100_000), { ignoreRange: true });
    await fetchIt();
    await whole();
  });

  test('another part than asked for is not appended', async () => {
    const range = { 'content-range': `bytes 7-${content.length - 1}/${content.length}` };
    misbehave(cut(100_000), { headers: range });
    await assert.rejects(fetchIt(), { code: 'network', message: /another part than asked for/ });
  });

  test('refusals say what they are', async () => {
    const cases: [number, string, RegExp][] = [
      [401, 'permission', /refuses access \(401\)/],
      [403, 'permission', /refuses access \(403\)/],
      [404, 'not-found', /no such file \(404\)/],
      [418, 'network', /answered 418/],
    ];
    for (const [status, code, message] of cases) {
      misbehave({ status });
      await assert.rejects(fetchIt(), { code, message });
      assert.deepEqual(await readdir(folder), []);
    }
  });

  test('a busy server is asked again, but not for ever, and not where it asks for too long', async () => {
    const busy = { status: 429, headers: { 'retry-after': '0' } };
    misbehave(busy, { ...busy, status: 503 }, busy);
    await fetchIt();
    await whole();
    await rm(path);
    misbehave(busy, busy, busy, busy);
    await assert.rejects(fetchIt(), { code: 'network', message: /429 \(too many requests\); try again later/ });
    misbehave({ status: 429, headers: { 'retry-after': '3600' } });
    await assert.rejects(fetchIt(), { code: 'network', message: /429/ });
  });

  test('a wrong hash, a wrong size, too much and too little: nothing is kept as the file', async () => {
    await assert.rejects(fetchIt({ digest: { kind: 'sha256', hex: 'a'.repeat(64) } }), {
      code: 'hash-mismatch',
      message: /not the one expected/,
    });
    assert.deepEqual(await readdir(folder), []);
    await assert.rejects(fetchIt({ bytes: 1000 }), {
      code: 'bad-format',
      message: /has 300000 bytes, not the expected 1000/,
    });
    misbehave({ body: Buffer.concat([content, content]) });
    await assert.rejects(fetchIt(), { code: 'bad-format', message: /more than 300000 bytes/ });
    assert.deepEqual(await readdir(folder), []);
    const short = { body: content.subarray(0, 1000), headers: { etag: 'W/"x"' } };
    misbehave(short, short, short, short, short, short, short);
    await assert.rejects(fetchIt(), { code: 'network', message: /broke off after 1000 of 300000/ });
    assert.ok(!(await readdir(folder)).includes('model.bin'));
  });

  test('a damaged file that is there already is replaced', async () => {
    await writeFile(path, Buffer.alloc(content.length));
    await fetchIt();
    await whole();
  });

  test('cancelling stops at once and keeps the part', async () => {
    const stop = new AbortController();
    misbehave(cut(100_000), { silent: true });
    const running = fetchIt(
      { onProgress: ({ done }) => (done >= 100_000 ? setTimeout(() => stop.abort(), 50) : undefined) },
      stop.signal,
    );
    await assert.rejects(running, { code: 'cancelled' });
    assert.equal((await readFile(`${path}.part`)).length, 100_000);
  });

  test('a host that does not answer is given up quickly', async () => {
    const began = Date.now();
    misbehave({ silent: true });
    await assert.rejects(fetchIt(), { code: 'network', message: /No answer from 127\.0\.0\.1/ });
    assert.ok(Date.now() - began < 5000);
    const gone = await HubServer.start();
    const { url } = gone;
    await gone.stop();
    await assert.rejects(fetchIt({ url: `${url}/x` }), { code: 'network', message: /ECONNREFUSED/ });
  });

  test('plain HTTP is refused, in a redirect too', async () => {
    await assert.rejects(get('http://example.org/model', {}, {}), { code: 'unsupported', message: /not HTTPS/ });
    await assert.rejects(get(`${hub.url}/model`, {}, {}), { code: 'unsupported' });
    const other = createServer((_, response) => response.writeHead(302, { location: 'http://example.org/' }).end());
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await assert.rejects(get(`http://127.0.0.1:${port}/`, {}, { allowLoopback: true }), {
      code: 'unsupported',
      message: /http:\/\/example\.org is not HTTPS/,
    });
    other.close();
  });

  test('a disk too small is noticed before anything is asked', async () => {
    await assert.rejects(fetchIt({ bytes: 1e18 }), { code: 'disk-full', message: /make room/ });
    assert.equal(hub.seen.length, 0);
  });

  test('HTTPS goes through the proxy that the environment names', async () => {
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    const env = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    await assert.rejects(get('https://hub.invalid/x', {}, { env, connectTimeout: 2000 }), { code: 'network' });
    assert.deepEqual(asked, ['hub.invalid:443']);
    proxy.close();
  });

  test('which proxy: names in either case, exceptions by host, domain and port', () => {
    const proxy = 'http://proxy:3128';
    const cases: [string, NodeJS.ProcessEnv, string | undefined][] = [
      ['https://a.org/', {}, undefined],
      ['https://a.org/', { HTTPS_PROXY: proxy }, proxy],
      ['https://a.org/', { https_proxy: proxy }, proxy],
      ['https://a.org/', { ALL_PROXY: proxy }, proxy],
      ['https://a.org/', { HTTPS_PROXY: 'socks5://proxy:1' }, undefined],
      ['https://a.org/', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
      ['https://a.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'b.org, a.org' }, undefined],
      ['https://x.a.org/', { HTTPS_PROXY: proxy, no_proxy: '.a.org' }, undefined],
      ['https://xa.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'a.org' }, proxy],
      ['https://a.org/', { HTTPS_PROXY: proxy, NO_PROXY: 'a.org:8443' }, proxy],
      ['https://a.org:8443/', { HTTPS_PROXY: proxy, NO_PROXY: 'a.org:8443' }, undefined],
    ];
    for (const [url, env, expected] of cases)
      assert.equal(proxyFor(new URL(url), env), expected, JSON.stringify([url, env]));
  });
});
