/** Which execution provider is taken: the CPU is the last resort, and the reason is told. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import { chooseProvider } from '../../src/engine/ort.js';
import { readGraph } from '../../src/convert/graphs/fold-graph.js';

suite('execution provider', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longview-provider-'));
  const probe = join(folder, 'read.onnx');
  suiteSetup(() => writeFileSync(probe, readGraph(8)));
  suiteTeardown(() => rmSync(folder, { recursive: true, force: true }));

  test('auto and cpu are the CPU', async () => {
    assert.deepEqual(await chooseProvider(undefined, probe), { name: 'cpu', reason: 'the default' });
    assert.deepEqual(await chooseProvider('cpu', probe), { name: 'cpu', reason: 'asked for' });
  });

  test('one that this platform cannot have falls back to the CPU with the reason', async () => {
    const foreign = process.platform === 'darwin' ? 'dml' : 'coreml';
    const { name, reason } = await chooseProvider(foreign, probe);
    assert.equal(name, 'cpu');
    assert.match(reason, new RegExp(`^${foreign} can't be used here: .{10,}`));
  });

  test('an unknown name is a usage error that lists the names', async () => {
    await assert.rejects(chooseProvider('gpu', probe), (error: unknown) => {
      assert.ok(error instanceof LongviewError);
      assert.equal(error.code, 'usage');
      assert.match(error.message, /auto, cpu, webgpu, cuda, dml, coreml/);
      return true;
    });
  });
});
