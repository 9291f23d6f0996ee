/**
 * The graphs on onnxruntime's WebGPU provider give the CPU's results. Without a graphics card they run on the software Vulkan
 * that Debian's chromium carries; where that is not there either, this is pending and says so.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { probeApart } from '../../src/engine/process/probe-apart.js';
import { sharedTextModel } from './tiny-shared.js';

const chromium = process.env['LONGVIEW_VULKAN'] ?? '/usr/lib/chromium';
const driver = join(chromium, 'vk_swiftshader_icd.json');

suite('WebGPU', function () {
  this.timeout(300_000);
  const kept = { ...process.env };
  suiteSetup(function () {
    if (process.platform !== 'linux' || !existsSync(driver) || !existsSync(join(chromium, 'libvulkan.so.1'))) {
      process.stderr.write(`WebGPU is not tried: no software Vulkan in ${chromium} (Debian's chromium has it).\n`);
      this.skip();
    }
    process.env['LD_LIBRARY_PATH'] = chromium;
    process.env['VK_ICD_FILENAMES'] = driver;
  });
  suiteTeardown(() => {
    process.env = kept;
  });

  test('reading, folding, scores and writing are the CPU’s, and only what WebGPU lacks runs elsewhere', async () => {
    const given = { modelFolder: await sharedTextModel(), provider: 'webgpu', threads: 1 };
    const outcome = await probeApart(given, { timeoutMs: 280_000 });
    if ('failure' in outcome) assert.fail(outcome.failure);
    const { lossDifference, massDifference, nodes } = outcome.report;
    // Measured: 0.0016 nats with folds, where a near tie may go the other way, and 1.0e-7.
    assert.ok(lossDifference <= 0.01, `loss differs by ${lossDifference}`);
    assert.ok(massDifference <= 1e-5, `attention differs by ${massDifference}`);
    const forward = nodes['prefill.onnx']!;
    // Float32 weights are multiplied by FusedMatMul, which WebGPU lacks: 4 a layer and the head. The rest are shapes.
    assert.equal(forward['CPU']?.['FusedMatMul'], 4 * 3 + 1);
    const onCpu = Object.keys(forward['CPU'] ?? {}).filter(operator => operator !== 'FusedMatMul');
    assert.deepEqual(onCpu.sort(), ['Concat', 'Mul', 'Shape']);
    assert.deepEqual(Object.keys(nodes['tokens.onnx']!), ['WebGpu']);
    assert.deepEqual(Object.keys(nodes['read.onnx']!), ['WebGpu']);
    for (const fold of ['fold.onnx', 'fold-keys.onnx', 'place.onnx', 'place-keys.onnx'])
      assert.equal(nodes[fold]?.['CPU']?.['FusedMatMul'], undefined);
  });
});
