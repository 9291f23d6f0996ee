/**
 * Recall and the model itself over the real house, a real engine process and the tiny text model (one token a byte, texts
 * are noise): what is found is exact text, what changed is left out, what is streamed is what is returned.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { silentLog } from '../../src/base/index.js';
import type { Backend } from '../../src/server/backend.js';
import { openLiveBackend } from '../../src/server/live-backend.js';
import { Folder } from '../memory/folder.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { tinyTextModel } from '../engine/tiny-text-model.js';

const retry = 'export function retryDelay(attempt) {\n  return 100 * attempt;\n}\n';
const paint = 'export function paintWall(colour) {\n  return colour;\n}\n';

suite('live recall and generate', function () {
  this.timeout(60_000);
  let tiny: TinyFolder;
  let folder: Folder;
  let backend: Backend;
  const work = () => ({ signal: new AbortController().signal, onProgress: () => undefined });
  suiteSetup(async () => {
    tiny = new TinyFolder();
    await tinyTextModel(tiny);
    folder = await Folder.of({ 'lib/retry.js': retry, 'lib/paint.js': paint });
    backend = openLiveBackend({ data: folder.data, model: join(tiny.path, 'text-f32'), threads: 1 }, silentLog);
  });
  suiteTeardown(async () => {
    await backend.dispose();
    await folder.dispose();
    await tiny.dispose();
  });

  test('tokens are counted as the model does: one a byte of UTF-8', async () => {
    assert.equal(await backend.countTokens('héllo'), 6);
    assert.equal(await backend.countTokens(''), 0);
  });

  test('nothing is read yet: no places, and the coverage says that files wait', async () => {
    const { places, coverage } = await backend.recall(folder.root, 'retryDelay', 5, work());
    assert.deepEqual(places, []);
    assert.deepEqual(coverage, { total: 2, read: 0, stale: 0, waiting: 2, coarse: 0, skipped: 0 });
  });

  test('places carry exact text; a file that changed is left out until it is read again', async () => {
    await backend.read(folder.root, {}, work());
    const found = await backend.recall(folder.root, 'How long is retryDelay for an attempt?', 5, work());
    const place = found.places.find(it => it.path === 'lib/retry.js');
    assert.ok(place, 'the only file with the words of the question');
    assert.equal(
      place.text,
      retry
        .split('\n')
        .slice(place.startLine - 1, place.endLine)
        .join('\n'),
    );
    await folder.write('lib/retry.js', `// changed\n${retry}`);
    const after = await backend.recall(folder.root, 'How long is retryDelay for an attempt?', 5, work());
    assert.deepEqual([...new Set(after.places.map(it => it.path))], ['lib/paint.js']);
    assert.equal(after.coverage.read, 1);
  });

  test('an empty question is wrong usage', async () => {
    await assert.rejects(backend.recall(folder.root, ' ', 5, work()), { code: 'usage' });
  });

  test('generate: pieces add up to the reply, and the bound on tokens holds', async () => {
    const pieces: string[] = [];
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    const onText = (text: string): void => void pieces.push(text);
    const reply = await backend.generate({ messages, maxTokens: 12 }, { ...work(), onText });
    assert.equal(pieces.join(''), reply.text);
    assert.ok(reply.writtenTokens <= 12 && reply.writtenTokens > 0, `${reply.writtenTokens} tokens`);
    // The template of the tiny model: <|start|>user\nHello<|end|><|start|>assistant\n, control tokens being one each.
    assert.equal(reply.promptTokens, 1 + 'user\nHello'.length + 1 + 1 + 'assistant\n'.length);
    await assert.rejects(backend.generate({ messages: [], maxTokens: 1 }, { ...work(), onText }), { code: 'usage' });
  });

  test('cancelled at the first piece: the reply says so', async () => {
    const controller = new AbortController();
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    const reply = await backend.generate(
      { messages, maxTokens: 100_000 },
      { ...work(), signal: controller.signal, onText: () => controller.abort() },
    );
    assert.equal(reply.stopReason, 'cancelled');
    assert.ok(reply.writtenTokens < 100_000);
  });
});
