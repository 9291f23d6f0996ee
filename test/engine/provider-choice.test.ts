/** Which provider a model is started on, from what probes gave; and what becomes of a probe that crashes or hangs. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseApart, forgetOutcome } from '../../src/engine/process/choose-apart.js';
import { probeApart } from '../../src/engine/process/probe-apart.js';
import type { ProbeOutcome } from '../../src/engine/process/probe-apart.js';

const cpu = { readTokensPerSecond: 100, writeTokensPerSecond: 20, nodes: {} };
const report = (read: number, write: number): ProbeOutcome => ({
  report: {
    readTokensPerSecond: read,
    writeTokensPerSecond: write,
    nodes: {},
    cpu,
    lossDifference: 0,
    massDifference: 0,
  },
});

suite('provider choice', () => {
  let folder: string;
  let asked: string[];
  setup(() => {
    folder = mkdtempSync(join(tmpdir(), 'longview-choice-'));
    writeFileSync(join(folder, 'model.json'), '{"fingerprint":"f1"}');
    asked = [];
  });
  teardown(() => rmSync(folder, { recursive: true, force: true }));

  const choose = (outcomes: Record<string, ProbeOutcome>, provider?: string, now = 0) =>
    chooseApart({
      modelFolder: folder,
      threads: 1,
      provider,
      outcomes: join(folder, 'providers.json'),
      platform: 'linux',
      now,
      probe: given => {
        asked.push(given.provider);
        return Promise.resolve(outcomes[given.provider] ?? { failure: 'none here' });
      },
    });

  test('auto takes what reads faster and writes no slower, with the ratios as its reason', async () => {
    const reason = 'reads 5.0 and writes 1.0 times as fast as the CPU';
    assert.deepEqual(await choose({ webgpu: report(500, 20) }), { name: 'webgpu', reason });
    assert.deepEqual(asked, ['cuda', 'webgpu']);
  });

  test('auto keeps the CPU where a provider writes slower, and says of each why', async () => {
    const reason =
      "the fastest here; cuda can't be used here: none here; webgpu reads 5.0 and writes 0.50 times as fast as the CPU";
    assert.deepEqual(await choose({ webgpu: report(500, 10) }), { name: 'cpu', reason });
  });

  test('one that is asked for is taken though it is slower; one that fails gives way', async () => {
    assert.deepEqual(await choose({ webgpu: report(1, 1) }, 'webgpu'), { name: 'webgpu', reason: 'asked for' });
    assert.deepEqual(await choose({}, 'cuda'), { name: 'cpu', reason: "cuda can't be used here: none here" });
    assert.deepEqual(await choose({}, 'cpu'), { name: 'cpu', reason: 'asked for' });
  });

  test('an outcome is kept for its model; a failure for a day; a provider that failed later is probed again', async () => {
    await choose({}, 'webgpu');
    await choose({}, 'webgpu', 23 * 3600_000);
    assert.equal(asked.length, 1);
    assert.equal((await choose({ webgpu: report(1, 1) }, 'webgpu', 25 * 3600_000)).name, 'webgpu');
    await choose({}, 'webgpu', 1000 * 3600_000);
    assert.equal(asked.length, 2);
    await forgetOutcome(join(folder, 'providers.json'), folder, 'webgpu');
    await choose({}, 'webgpu');
    assert.equal(asked.length, 3);
    writeFileSync(join(folder, 'model.json'), '{"fingerprint":"f2"}');
    await choose({}, 'webgpu');
    assert.equal(asked.length, 4);
  });

  test('a damaged file of outcomes costs a probe and is written anew', async () => {
    writeFileSync(join(folder, 'providers.json'), '{');
    await choose({}, 'webgpu');
    assert.match(readFileSync(join(folder, 'providers.json'), 'utf8'), /none here/);
  });

  test('a probe that crashes, hangs, or computes otherwise is a failure with its reason', async () => {
    const outcome = (body: string, timeoutMs?: number) => {
      const script = join(folder, 'probe.mjs');
      writeFileSync(script, body);
      return probeApart({ modelFolder: folder, provider: 'webgpu', threads: 1 }, { script, timeoutMs });
    };
    assert.deepEqual(await outcome('process.abort();'), { failure: 'its probe ended the process (SIGABRT)' });
    assert.deepEqual(await outcome('setInterval(() => undefined, 1000);', 300), {
      failure: 'its probe did not end in 0 s',
    });
    const wrong = { ...(report(1, 1) as { report: object }).report, lossDifference: NaN };
    const body = `process.send({ kind: 'report', report: { ...${JSON.stringify(wrong)}, lossDifference: NaN } });
      process.on('message', () => undefined);`;
    assert.match(
      ((await outcome(body)) as { failure: string }).failure,
      /^it computes otherwise than the CPU \(loss by NaN/,
    );
  });
});
