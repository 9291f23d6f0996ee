/** The lines of a long place that a question finds: over a folder with the fake engine, whose attention is equal words. */
import assert from 'node:assert/strict';
import { linesOf } from '../../src/memory/blocks.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

/** A function of 30 lines that waits in its 21st. */
const long = [
  'def send(request):',
  ...Array.from({ length: 19 }, (_, i) => `    step_${i}(request)`),
  '    wait_for_backoff(request)',
  ...Array.from({ length: 9 }, (_, i) => `    done_${i}(request)`),
  '',
].join('\n');
const short = 'def close(pool):\n    pool.clear()\n';

suite('focus', () => {
  let folder: Folder;
  teardown(() => folder.dispose());

  test('of a long place, eight lines around what the question finds; none of a short one', async () => {
    folder = await Folder.of({ 'send.py': long, 'close.py': short });
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    const [sent] = await memory.recall('Where does it wait for backoff?', { limit: 1 });
    assert.deepEqual([sent!.path, sent!.startLine, sent!.endLine], ['send.py', 1, 30]);
    const { startLine, endLine } = sent!.focus!;
    assert.equal(endLine - startLine + 1, 8);
    assert.ok(startLine <= 21 && 21 <= endLine, `${startLine}-${endLine}`);
    assert.ok(linesOf(sent!.text)[20]!.includes('wait_for_backoff'));
    const [closed] = await memory.recall('close pool clear', { limit: 1 });
    assert.deepEqual([closed!.path, closed!.focus], ['close.py', undefined]);
  });

  test('none where the model has no recall heads', async () => {
    folder = await Folder.of({ 'send.py': long });
    const engine = new FakeEngine();
    const { parameters } = engine.model.recall;
    const without = { ...parameters, weight: [], nullWeight: [], lengthExponent: [], logFloor: [] };
    Object.assign(engine.model, { recall: { keyHeads: 0, keyHeadOf: [], parameters: without } });
    const memory = await folder.memory(engine);
    await memory.refresh();
    const [sent] = await memory.recall('Where does it wait for backoff?', { limit: 1 });
    assert.deepEqual([sent!.path, sent!.focus], ['send.py', undefined]);
  });
});
