/**
 * A fold put off until another chunk is full: while less than a chunk comes at once, a session with one spare chunk is, to the
 * last bit, one whose window holds a chunk more; whole chunks fold as ever. And how long prompts are read before an answer.
 */
import assert from 'node:assert/strict';
import type { Schedule } from '../../src/engine/index.js';
import type { Model } from '../../src/engine/model.js';
import type { SessionOptions } from '../../src/engine/session.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { writingOptions } from '../../src/engine/writer.js';
import { distinctTokens } from '../reference/tiny-model.js';
import { BackboneFolder } from './backbone-folder.js';
import { sharedLlama } from './tiny-shared.js';

const growing: Schedule = { kind: 'powerLaw', factor: 2, exponent: 0.5 };
/** Chunks of 16, window of 2. */
const text = [...distinctTokens(160, 256, 5)];

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

suite('a fold that is put off', function () {
  this.timeout(60_000);
  let model: Model;
  suiteSetup(async () => {
    model = await sharedLlama();
  });

  const start = (options: Partial<SessionOptions>): Promise<KvmSession> =>
    KvmSession.start(model, { schedule: growing, ...options });
  const read = (session: KvmSession, ids: readonly number[]): Promise<void> =>
    prefill(
      session,
      ids,
      () => ({ logitRows: [] }),
      () => undefined,
    );

  test('token by token: as in a window of one chunk more', async () => {
    const [spare, longer] = [await start({ spareChunks: 1 }), await start({ windowChunks: 3 })];
    // Nothing has left either window after two chunks.
    for (const session of [spare, longer]) await read(session, text.slice(0, 32));
    const slots: number[] = [];
    for (const [i, id] of text.slice(32, 90).entries()) {
      const [own, expected] = [spare, longer].map(session => session.pass([id], { logitRows: [0] }));
      assert.deepEqual([...(await own!).logits], [...(await expected!).logits], `token ${i}`);
      slots.push(spare.slots.slots);
    }
    // The first chunk leaves when the third is full and a token more comes, 16 tokens in; after 80 tokens it is floor(2·sqrt(80)).
    assert.deepEqual([slots[0], slots[15], slots[16], slots[57]], [0, 0, 16, 17]);
    assert.deepEqual(spare.slots, longer.slots);
  });

  test('a whole chunk folds what was put off: the window holds no more than ever', async () => {
    const session = await start({ spareChunks: 1 });
    await read(session, text.slice(0, 48));
    assert.equal(session.slots.slots, 16);
    await read(session, text.slice(48, 58));
    assert.equal(session.slots.slots, 16, 'a last short piece folds nothing');
    assert.equal(session.windowBlocks().length, 3);
    await read(session, text.slice(58, 64));
    await session.pass(text.slice(64, 80), { logitRows: [] });
    assert.equal(session.windowBlocks().length, 2);
    assert.equal(
      session.slots.count.slice(0, session.slots.slots).reduce((a, b) => a + b),
      48,
      'tokens in the state',
    );
  });

  test('a model trained with KVM folds by its own rule; others merge nothing of 2,048 tokens', async () => {
    const trained = await folder.model('hybrid_swa');
    assert.deepEqual(writingOptions(trained, 9000), { schedule: trained.manifest.kvm.trained!.schedule });
    const { schedule, windowChunks, spareChunks } = writingOptions(model, 2048);
    assert.deepEqual(
      [schedule.kind, windowChunks! * model.manifest.kvm.chunk, spareChunks],
      ['keepEverything', 2048, undefined],
    );
    assert.deepEqual(writingOptions(model, 2049), {
      schedule: { kind: 'powerLaw', factor: 16, exponent: 0.5 },
      spareChunks: 1,
    });
  });
});
