/** The priority of the engine process: below the one that started it where that is wanted, in each of its threads. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { startEngine } from '../../src/engine/index.js';
import type { Engine } from '../../src/engine/index.js';
import { processOf, readOf } from './tiny-process.js';
import { sharedTextModel } from './tiny-shared.js';

suite('priority of the engine process', function () {
  this.timeout(60_000);
  let engine: Engine | undefined;
  teardown(() => engine?.dispose());

  async function prioritiesOf(belowNormal?: boolean): Promise<Set<number>> {
    // Two threads, so that onnxruntime makes one.
    engine = await startEngine({ modelFolder: await sharedTextModel(), threads: 2, belowNormal });
    await readOf(engine);
    const pid = processOf(engine).pid!;
    // On Linux each thread has its own.
    const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid];
    return new Set(threads.map(thread => getPriority(thread)));
  }

  test('is the one of its parent by default', async () => {
    assert.deepEqual([...(await prioritiesOf())], [getPriority()]);
  });

  test('is below normal in every thread where that is asked for, and never above what it was', async () => {
    const lowered = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL);
    assert.deepEqual([...(await prioritiesOf(true))], [lowered]);
  });
});
