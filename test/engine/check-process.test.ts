/** The check of a conversion in a process of its own: the same logits, its errors, its end when it is cancelled or dies. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Progress } from '../../src/base/index.js';
import { FILES } from '../../src/engine/graph-contract.js';
import { runGraphs, runGraphsApart } from '../../src/engine/index.js';
import type { Model } from '../../src/engine/model.js';
import { askCheck } from '../../src/engine/process/check-graphs.js';
import { TinyFolder } from './tiny-engine.js';
import { isRunning } from './tiny-process.js';

const PROMPT = [1, 5, 11, 29, 61, 97, 113, 127];

suite('check process', function () {
  this.timeout(60_000);
  const folder = new TinyFolder();
  let model: Model;
  suiteSetup(async () => (model = await folder.model('llama')));
  suiteTeardown(() => folder.dispose());

  test('gives what the same check gives in this process, bit for bit, with progress from first to last step', async () => {
    const told: Progress[] = [];
    const apart = await runGraphsApart(model.path, model.manifest, PROMPT, undefined, progress => told.push(progress));
    const { prefill, decode } = await runGraphs(model.path, model.manifest, PROMPT);
    assert.equal(prefill.length, PROMPT.length * 256);
    assert.deepEqual([apart.prefill, apart.decode], [prefill, decode]);
    // Two graphs loaded, one pass over the prompt, and each of its tokens.
    const steps = Array.from({ length: 3 + PROMPT.length + 1 }, (_, i) => [i, 3 + PROMPT.length]);
    assert.deepEqual(
      told.map(({ done, total }) => [done, total]),
      steps,
    );
  });

  test('what loading throws crosses with its code', async () => {
    const damaged = join(folder.path, 'damaged');
    cpSync(model.path, damaged, { recursive: true });
    copyFileSync(join(damaged, FILES.check), join(damaged, FILES.decode));
    await assert.rejects(runGraphsApart(damaged, model.manifest, PROMPT), {
      name: 'LongviewError',
      code: 'bad-format',
      message: /decode\.onnx can't be loaded/,
    });
    rmSync(damaged, { recursive: true });
  });

  test('cancelled while its thread is blocked: it is gone when the call ends', async () => {
    const controller = new AbortController();
    let pid: number | undefined;
    const asked = askScript(
      `process.send({ kind: 'progress', progress: { task: '', done: process.pid, unit: 'steps' } }, () => { for (;;); });`,
      controller.signal,
      progress => {
        pid = progress.done;
        controller.abort();
      },
    );
    await assert.rejects(asked, { code: 'cancelled' });
    assert(pid !== undefined && !isRunning(pid));
    const before = runGraphsApart(model.path, model.manifest, PROMPT, AbortSignal.abort());
    await assert.rejects(before, { code: 'cancelled' });
  });

  test('one that dies says how, in one line', async () => {
    const crashed = { code: 'engine-crashed' };
    await assert.rejects(askScript(`process.kill(process.pid, 'SIGKILL');`), { ...crashed, message: /\(SIGKILL\)/ });
    await assert.rejects(askScript(`process.exit(3);`), { ...crashed, message: /\(exit code 3\)/ });
    const complaint = `console.error('first\\nterminate called'); process.exitCode = 1; process.disconnect();`;
    await assert.rejects(askScript(complaint), { ...crashed, message: /\(exit code 1: terminate called\)/ });
  });

  function askScript(text: string, signal?: AbortSignal, onProgress?: (progress: Progress) => void) {
    const script = join(folder.path, 'script.mjs');
    writeFileSync(script, text);
    const given = { folder: model.path, draft: model.manifest, prompt: PROMPT };
    return askCheck(pathToFileURL(script), given, signal, onProgress);
  }
});
