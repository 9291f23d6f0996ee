/**
 * An execution provider that fails later than its probe: its process ends while it loads the model or while it works. The
 * process here is the real one, but for the provider `webgpu`, which these scripts play.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startEngine } from '../../src/engine/index.js';
import type { Engine } from '../../src/engine/index.js';
import { processOf, readOf } from './tiny-process.js';
import { openShared, sharedTextModel } from './tiny-shared.js';

const realProcess = pathToFileURL(resolve('out/src/engine/process/engine-main.js')).toString();

suite('engine process with a provider that fails', function () {
  this.timeout(60_000);
  let folder: string;
  let engine: Engine | undefined;
  let log: string[];
  setup(() => {
    folder = mkdtempSync(join(tmpdir(), 'longview-provider-'));
    log = [];
  });
  teardown(async () => {
    await engine?.dispose();
    engine = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  /** `webgpu`: a body of a module that is run before the real process's. */
  async function start(webgpu: string, provider = 'webgpu'): Promise<Engine> {
    const script = join(folder, 'engine.mjs');
    writeFileSync(
      script,
      `const given = JSON.parse(process.argv[2]);
       if (given.provider === 'webgpu') { ${webgpu} }
       await import(${JSON.stringify(realProcess)});`,
    );
    engine = await startEngine({
      modelFolder: await sharedTextModel(),
      threads: 1,
      provider,
      script,
      log: (level, message) => log.push(`${level}: ${message}`),
    });
    return engine;
  }

  test('its process ends while it loads: the CPU takes its place, and the reason is told', async () => {
    const cpu = await start('process.abort();');
    assert.equal(cpu.model.provider.name, 'cpu');
    assert.match(cpu.model.provider.reason, /^webgpu can't be used here: The engine process ended \(SIGABRT\)/);
    assert.ok(
      log.some(line => line.startsWith("warning: engine: webgpu can't be used here")),
      log.join('\n'),
    );
    assert.deepEqual(await readOf(cpu), await readOf(await openShared()));
    assert.equal(cpu.generation, 1);
  });

  test('one that this machine has not: its reason is one plain line, and nothing else is told', async function () {
    const real = await start('', 'cuda');
    // A machine that has it has nothing to tell.
    if (real.model.provider.name === 'cuda') this.skip();
    const reason = "cuda can't be used here: this onnxruntime has no such provider, or it lacks a library";
    assert.deepEqual(real.model.provider, { name: 'cpu', reason });
    assert.deepEqual(
      log.filter(line => !line.startsWith('debug: ')),
      [],
    );
  });

  test('it refuses the model: the CPU takes its place, and the reason is told', async () => {
    const refusal = { kind: 'unusable', code: 'bad-format', message: 'no kernel for Gather' };
    const cpu = await start(`process.send(${JSON.stringify(refusal)}); await new Promise(() => undefined);`);
    const reason = "webgpu can't be used here: no kernel for Gather";
    assert.deepEqual(cpu.model.provider, { name: 'cpu', reason });
    assert.equal(await cpu.countTokens('abc'), 3);
  });

  test('its process ends while it works: the next call is answered by the CPU', async () => {
    // The real process on the CPU, which says that it is webgpu's.
    const both = await start(`
      process.argv[2] = JSON.stringify({ ...given, provider: 'cpu' });
      const send = process.send.bind(process);
      process.send = message => {
        if (message.kind === 'ready') message.model.provider = { name: 'webgpu', reason: 'asked for' };
        return send(message);
      };`);
    assert.equal(both.model.provider.name, 'webgpu');
    const child = processOf(both);
    // Heard of, not only gone: a call before that is lost with the process.
    const ended = once(child, 'exit');
    child.kill('SIGSEGV');
    await ended;
    assert.equal(await both.countTokens('abc'), 3);
    assert.deepEqual(both.model.provider, { name: 'cpu', reason: "webgpu can't be used here: SIGSEGV" });
  });

  test('a model that the CPU cannot load either is the CPU’s reason', async () => {
    const script = join(folder, 'engine.mjs');
    const refusal = (provider: string): string => `webgpu' ? 'by ${provider}' : 'by the CPU`;
    writeFileSync(
      script,
      `const { provider } = JSON.parse(process.argv[2]);
       const message = provider === '${refusal('webgpu')}';
       process.send({ kind: 'unusable', code: 'not-found', message });
       await new Promise(() => undefined);`,
    );
    const starting = startEngine({ modelFolder: folder, threads: 1, provider: 'webgpu', script });
    await assert.rejects(starting, { code: 'not-found', message: 'by the CPU' });
  });

  test('a provider that there is not at all is a usage error, not the CPU', async () => {
    await assert.rejects(start('', 'vulkan'), { code: 'usage', message: /webgpu, cuda/ });
  });
});
