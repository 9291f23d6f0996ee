/**
 * A forked session gives the very figures of one that read everything itself, and leaves the session it came from alone:
 * the same computations on the same numbers, so they are equal to the last bit.
 */
import assert from 'node:assert/strict';
import type { Schedule } from '../../src/engine/index.js';
import type { Model } from '../../src/engine/model.js';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { distinctTokens } from '../reference/tiny-model.js';
import { BackboneFolder, START } from './backbone-folder.js';
import { sharedLlama } from './tiny-shared.js';

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

/** Logits of every token, [n·V]. */
async function logitsOf(session: KvmSession, ids: readonly number[]): Promise<number[]> {
  const logits: number[] = [];
  await prefill(
    session,
    ids,
    (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
    pass => void logits.push(...pass.logits),
  );
  return logits;
}

/** Over several chunk boundaries; cut alike everywhere, since another cut is another order of sums. */
const turns = [
  [0, 5],
  [5, 23],
  [23, 40],
] as const;

async function assertForks(model: Model, schedule: Schedule, text: readonly number[], length: number): Promise<void> {
  const before = text.slice(0, length);
  const after = [text.slice(length, length + 40), text.slice(length, length + 40).reverse()] as const;
  const start = async (): Promise<KvmSession> => {
    const session = await KvmSession.start(model, { schedule });
    await logitsOf(session, before);
    return session;
  };
  const alone = [await start(), await start()] as const;
  const forked = await start();
  const fork = forked.fork();
  assert.equal(fork.tokens, length);
  for (const [from, to] of turns) {
    for (const [i, session] of [fork, forked].entries()) {
      const ids = after[i]!.slice(from, to);
      assert.deepEqual(await logitsOf(session, ids), await logitsOf(alone[i]!, ids), `tokens ${from}.. of ${i}`);
    }
  }
  assert.deepEqual(fork.slots, alone[0].slots);
  assert.deepEqual(forked.slots, alone[1].slots);
}

/** Chunks of 16, window of 2: in mid-chunk before any fold, in mid-chunk after some, where a chunk has just become full. */
const lengths = [21, 107, 112];

suite('fork of a session', function () {
  this.timeout(60_000);

  for (const kind of ['powerLaw', 'keepEverything', 'windowOnly'] as const)
    for (const length of lengths)
      test(`an ordinary checkpoint, ${kind}, after ${length} tokens`, async () => {
        const schedule: Schedule = kind === 'powerLaw' ? { kind, factor: 4, exponent: 0.5 } : { kind };
        await assertForks(await sharedLlama(), schedule, [...distinctTokens(160, 256, 5)], length);
      });

  // With gates, token shift, a sliding window, matrix states.
  for (const name of ['hybrid_swa', 'hybrid_rwkv7'])
    for (const length of lengths)
      test(`${name}, after ${length} tokens`, async () => {
        const model = await folder.model(name);
        const text = [...distinctTokens(160, 256, 6)].map(id => id % START);
        await assertForks(model, model.manifest.kvm.trained!.schedule, text, length);
      });
});
