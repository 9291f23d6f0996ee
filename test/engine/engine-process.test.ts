/** The engine in a process of its own: the results of the one in this process, streaming, cancellation. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { startEngine } from '../../src/engine/index.js';
import type { ChatMessage, Engine, PackedSlots } from '../../src/engine/index.js';
import { code, endless, readOf } from './tiny-process.js';
import { openShared, sharedTextModel } from './tiny-shared.js';

const messages: ChatMessage[] = [{ role: 'user', content: 'What does this do?' }];

suite('engine process', function () {
  this.timeout(60_000);
  let path: string;
  let here: Engine;
  let there: Engine;
  suiteSetup(async () => {
    path = await sharedTextModel();
    here = await openShared();
    there = await startEngine({ modelFolder: path, threads: 1 });
  });
  suiteTeardown(() => there.dispose());

  test('describes the model as the one in this process does', () => {
    assert.deepEqual(there.model, here.model);
    assert.equal(there.generation, 1);
  });

  test('reads, counts, scores and measures the same, bit for bit', async () => {
    assert.equal(await there.countTokens(code), code.length);
    const reading = await readOf(there);
    assert.deepEqual(reading, await readOf(here));
    assert(reading.gist.keys instanceof Int8Array && reading.lineOfToken instanceof Uint32Array);
    for (const engine of [here, there]) await engine.putRecall('a', reading.recall);
    assert.deepEqual(await there.scoreRecall('add?', ['a']), await here.scoreRecall('add?', ['a']));
    // What the contentless question finds crosses once, and again where it is another.
    const again = await there.scoreRecall('less?', ['a']);
    assert.equal((await there.scoreRecall('more?', ['a'])).nullMass, again.nullMass);
    assert.deepEqual(again, await here.scoreRecall('less?', ['a']));
    assert.deepEqual(await there.scoreRecall('less?', ['a', 'a']), await here.scoreRecall('less?', ['a', 'a']));
    const options = { schedule: { kind: 'even', slots: 20, tokens: 60 }, from: 10, limit: 60 } as const;
    assert.deepEqual(await there.loss(code, options), await here.loss(code, options));
  });

  test('reads and composes the same with pauses', async () => {
    const text = code.repeat(3);
    const request = { label: 'a.ts', text, tokensPerRecallSlot: 4 };
    const reading = await there.read(request, { cpuShare: 50 });
    assert.deepEqual(reading, await readOf(here, text));
    const options = { budget: 21, incoming: 2 * reading.gist.slots };
    const gists = [reading.gist, reading.gist];
    assert.deepEqual(await there.compose(gists, { ...options, cpuShare: 50 }), await here.compose(gists, options));
  });

  test('pauses end where somebody waits for the background, and hold up no question', async () => {
    // With its pauses it would take a hundred times as long as the second.
    const text = code.repeat(100);
    let begun = (): void => undefined;
    const beginning = new Promise<void>(resolve => (begun = resolve));
    const slow = there.read(
      { label: 'slow.ts', text, tokensPerRecallSlot: 4 },
      { cpuShare: 1, onProgress: () => begun() },
    );
    await beginning;
    let isRead = false;
    void slow.then(() => (isRead = true));
    assert.equal(await there.countTokens('beside it'), 9);
    assert.equal(isRead, false);
    await readOf(there);
    await slow;
  });

  test('a reading that pauses is cancelled at once', async () => {
    const stop = new AbortController();
    const request = { label: 'slow.ts', text: endless, tokensPerRecallSlot: 4 };
    const reading = there.read(request, { cpuShare: 1, signal: stop.signal, onProgress: () => stop.abort() });
    await assert.rejects(reading, { code: 'cancelled' });
  });

  test('composes the same', async () => {
    const gists: PackedSlots[] = [];
    for (const text of [code, 'two', code + code]) gists.push((await readOf(here, text)).gist);
    const incoming = gists.reduce((sum, { slots }) => sum + slots, 0);
    const options = { budget: 21, incoming };
    const done: number[] = [];
    const composed = await there.compose(gists, { ...options, onProgress: slots => done.push(slots) });
    assert.deepEqual(composed, await here.compose(gists, options));
    assert.deepEqual(done, [16, 16 + gists[1]!.slots, incoming]);
    async function* later(): AsyncGenerator<PackedSlots> {
      for (const gist of gists) {
        await delay(1);
        yield gist;
      }
    }
    assert.deepEqual(await there.compose(later(), options), composed);
    assert.equal((await there.compose([], options)).state.slots, 0);
  });

  test('patches the same', async () => {
    const gists: PackedSlots[] = [];
    for (const text of [code, 'two', code + code, 'three']) gists.push((await readOf(here, text)).gist);
    const incoming = gists.slice(0, 3).reduce((sum, { slots }) => sum + slots, 0);
    const { state, places } = await here.compose(gists.slice(0, 3), { budget: 21, incoming });
    const change = { remove: [{ gist: gists[1]!, places: places[1]! }], add: [gists[3]!], budget: 21 };
    assert.deepEqual(await there.patch(state, change), await here.patch(state, change));
    const twice = { ...change, remove: [...change.remove, ...change.remove] };
    await assert.rejects(there.patch(state, twice), { code: 'stale' });
  });

  test('two compositions at once, and calls between their gists, do not mix', async () => {
    const gists = [(await readOf(here)).gist, (await readOf(here, 'another text')).gist];
    const turned = [...gists].reverse();
    const incoming = gists[0]!.slots + gists[1]!.slots;
    async function* reading(): AsyncGenerator<PackedSlots> {
      for (const gist of gists) {
        await there.countTokens('between');
        yield gist;
      }
    }
    const both = await Promise.all([
      there.compose(reading(), { budget: 9, incoming }),
      there.compose(turned, { budget: 12, incoming }),
    ]);
    assert.deepEqual(both[0], await here.compose(gists, { budget: 9, incoming }));
    assert.deepEqual(both[1], await here.compose(turned, { budget: 12, incoming }));
  });

  test('a composition that fails, is cancelled or loses its gists leaves the engine usable', async () => {
    const { gist } = await readOf(here);
    const options = { budget: 8, incoming: 2 * gist.slots };
    await assert.rejects(there.compose([{ ...gist, groups: 1 }], options), { code: 'bad-format' });
    const controller = new AbortController();
    const cancelled = { ...options, signal: controller.signal, onProgress: () => controller.abort() };
    await assert.rejects(there.compose([gist, gist], cancelled), { code: 'cancelled' });
    // eslint-disable-next-line @typescript-eslint/require-await -- what the memory gives is asynchronous
    async function* broken(): AsyncGenerator<PackedSlots> {
      yield gist;
      throw new Error('a bad page');
    }
    await assert.rejects(there.compose(broken(), options), { message: 'a bad page' });
    assert.deepEqual(await there.compose([gist, gist], options), await here.compose([gist, gist], options));
  });

  test('writes the same, streamed', async () => {
    const { gist } = await readOf(here);
    for (const engine of [here, there]) await engine.putState('s', gist, 4);
    const request = {
      messages,
      maxTokens: 40,
      temperature: 0.8,
      topP: 0.9,
      seed: 4,
      states: ['s'],
      answerPrefix: 'It',
    };
    const pieces: string[] = [];
    const progress: number[] = [];
    const result = await there.generate(request, {
      onText: piece => pieces.push(piece),
      onProgress: tokens => progress.push(tokens),
    });
    const expected = await here.generate(request);
    const { text, promptTokens, writtenTokens, stopReason } = expected;
    assert.deepEqual({ ...expected, ...result }, { ...result, text, promptTokens, writtenTokens, stopReason });
    assert.equal(pieces.join(''), text);
    assert(pieces.length > 10);
    assert.equal(progress.at(-1), promptTokens);
  });

  test('errors keep their code and message', async () => {
    await assert.rejects(there.generate({ messages, maxTokens: 1, states: ['nowhere'] }), {
      name: 'LongviewError',
      code: 'stale',
      message: 'State "nowhere" is not in the engine; put it there first.',
    });
    await assert.rejects(there.scoreRecall('?', ['nowhere']), { code: 'stale' });
    await there.putState('gone', (await readOf(here)).gist, 4);
    await there.dropState('gone');
    await assert.rejects(there.generate({ messages, maxTokens: 1, states: ['gone'] }), { code: 'stale' });
  });

  const long = code.repeat(20);
  test('a running read is cancelled between chunks; calls behind it are served', async () => {
    const controller = new AbortController();
    const done: number[] = [];
    const reading = there.read(
      { label: 'long.ts', text: endless, tokensPerRecallSlot: 4 },
      {
        signal: controller.signal,
        onProgress: tokens => {
          done.push(tokens);
          controller.abort();
        },
      },
    );
    const behind = readOf(there);
    await assert.rejects(reading, { code: 'cancelled' });
    assert(done.at(-1)! < endless.length / 2, `went on to ${done.at(-1)!} of ${endless.length} tokens`);
    assert.deepEqual(await behind, await readOf(here));
  });

  test('a question is answered while a text is read, and the reading comes out as if nothing had happened', async () => {
    const { gist } = await readOf(here);
    const order: string[] = [];
    const reading = readOf(there, long).then(value => {
      order.push('read');
      return value;
    });
    await there.putState('beside', gist, 4);
    order.push('state');
    await there.generate({ messages, maxTokens: 5, states: ['beside'] });
    order.push('answer');
    assert.deepEqual(await reading, await readOf(here, long));
    assert.deepEqual(order, ['state', 'answer', 'read']);
  });

  test('a call that waits is cancelled too; one cancelled before is never sent', async () => {
    const controller = new AbortController();
    const first = readOf(there, long);
    const waiting = there.read({ label: 'b', text: long, tokensPerRecallSlot: 4 }, { signal: controller.signal });
    controller.abort();
    await assert.rejects(waiting, { code: 'cancelled' });
    assert((await first).tokens > long.length);
    const late = { signal: AbortSignal.abort() };
    await assert.rejects(there.read({ label: 'b', text: code, tokensPerRecallSlot: 4 }, late), { code: 'cancelled' });
  });

  test('a running answer is cancelled and gives what was written', async () => {
    const controller = new AbortController();
    let given = '';
    const request = { messages, maxTokens: 5000, temperature: 1, seed: 2, repetitionPenalty: 1 };
    const result = await there.generate(request, {
      signal: controller.signal,
      onText: piece => {
        given += piece;
        if (given.length > 10) controller.abort();
      },
    });
    assert.deepEqual([result.stopReason, result.text], ['cancelled', given]);
    assert(result.writtenTokens < 1000, `${result.writtenTokens} tokens`);
    const before = await there.generate(request, { signal: AbortSignal.abort() });
    assert.deepEqual([before.stopReason, before.text], ['cancelled', '']);
  });
});
