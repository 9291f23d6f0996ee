/** Answers of a tiny model against the oracle's greedy tokens: prompt, states, stops, ends, streaming, cancellation. */
import assert from 'node:assert/strict';
import type { ChatMessage, Engine, GenerateRequest, GenerateResult, StateSlots } from '../../src/engine/index.js';
import { defaultKvmSettings } from '../../src/convert/index.js';
import { unpackSlots } from '../../src/engine/packing.js';
import * as rules from '../reference/chunks.js';
import { slotOfOne } from '../reference/retrofit-head.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import { tinyModel, tinyReading, tinyVariants } from '../reference/tiny-model.js';
import { argmax } from '../reference/vectors.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';
import { write as writeText } from '../../src/engine/writer.js';
import { openShared, sharedLlama } from './tiny-shared.js';
import { toOracle } from './tiny-slots.js';
import { END, START, tokenizerJson } from './tiny-text-model.js';

const HEAD = 8;
/** A prompt of up to 2,048 tokens is attended to whole: 128 chunks of 16. */
const keep = {
  ...tinyModel(tinyVariants.llama.model),
  ...{ ...tinyReading, windowChunks: 128 },
  schedule: rules.keepEverything(),
};
const question: ChatMessage[] = [{ role: 'user', content: 'What does this do?' }];
const prompt = [START, ...Buffer.from('user\nWhat does this do?'), END, START, ...Buffer.from('assistant\n')];

/** Greedy tokens after `ids`, the end token not among them, and whether it came. */
function greedy(oracle: RetrofitOracle, ids: readonly number[], limit: number): { tokens: number[]; ended: boolean } {
  const tokens: number[] = [];
  let logits = oracle.feed(ids).at(-1)!;
  for (;;) {
    const token = argmax(logits);
    // 2 is the config's eos_token_id, END the tokenizer's.
    if (token === 2 || token === END) return { tokens, ended: true };
    tokens.push(token);
    if (tokens.length === limit) return { tokens, ended: false };
    logits = oracle.feed([token])[0]!;
  }
}

/** Bytes as UTF-8; control tokens have no text. */
function textOf(tokens: readonly number[]): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(tokens.filter(token => token < START)));
}

suite('writing', function () {
  this.timeout(60_000);
  let engine: Engine;
  suiteSetup(async () => {
    engine = await openShared();
  });

  const write = (more: Partial<GenerateRequest> = {}): Promise<GenerateResult> =>
    engine.generate({ messages: question, maxTokens: 60, ...more });

  test('a base model, without a chat template, goes on with the messages as plain text', async () => {
    const model = await sharedLlama();
    const plain = TextTokenizer.load(tokenizerJson, { eos_token: '<|end|>' });
    assert.equal(plain.hasChatTemplate, false);
    const messages: ChatMessage[] = [{ role: 'system', content: 'Be <|end|> brief.' }, ...question];
    // Added tokens in a message are text: the tokenizer takes their characters.
    const asked = [...Buffer.from('Be <|end|> brief.\n\nWhat does this do?\n\nAnswer: In')];
    const expected = greedy(new RetrofitOracle(keep), asked, 20);
    const result = await writeText(model, plain, { messages, answerPrefix: 'In', maxTokens: 20 }, undefined);
    assert.equal(result.promptTokens, asked.length);
    assert.equal(result.text, `In${textOf(expected.tokens)}`);
    const bare = await writeText(model, plain, { messages: question, maxTokens: 1 }, undefined);
    assert.equal(bare.promptTokens, 'What does this do?\n\nAnswer:'.length);
  });

  test('greedy: the oracle’s tokens, over several windows', async () => {
    const expected = greedy(new RetrofitOracle(keep), prompt, 60);
    const result = await write();
    assert.equal(result.text, textOf(expected.tokens));
    assert.equal(result.promptTokens, prompt.length);
    assert.equal(result.stopReason, expected.ended ? 'end' : 'length');
    assert.equal(result.writtenTokens, expected.tokens.length + (expected.ended ? 1 : 0));
    assert(result.text.length > 20, 'there is something to compare');
    assert(result.firstTokenMs <= result.totalMs);
  });

  test('the answer’s beginning is part of prompt and text', async () => {
    const answerPrefix = 'It adds';
    const expected = greedy(new RetrofitOracle(keep), [...prompt, ...Buffer.from(answerPrefix)], 20);
    const result = await write({ answerPrefix, maxTokens: 20 });
    assert.equal(result.text, answerPrefix + textOf(expected.tokens));
    assert.equal(result.promptTokens, prompt.length + answerPrefix.length);
    const none = await write({ answerPrefix, maxTokens: 0 });
    assert.deepEqual([none.text, none.writtenTokens, none.stopReason], [answerPrefix, 0, 'length']);
  });

  test('streamed pieces are the text, and end at characters', async () => {
    const pieces: string[] = [];
    const { text } = await engine.generate(
      { messages: question, maxTokens: 200, temperature: 1.5, seed: 3 },
      { onText: piece => pieces.push(piece) },
    );
    assert.equal(pieces.join(''), text);
    assert(pieces.length > 20);
    for (const piece of pieces) assert(!/[\ud800-\udbff]$/.test(piece), JSON.stringify(piece));
  });

  test('a stop text ends it, and is not given', async () => {
    const { text } = await write();
    const stop = text.slice(15, 18);
    const pieces: string[] = [];
    const stopped = await engine.generate(
      { messages: question, maxTokens: 60, stop: ['never to be seen', stop] },
      { onText: piece => pieces.push(piece) },
    );
    assert.deepEqual([stopped.stopReason, stopped.text], ['stop', text.slice(0, text.indexOf(stop))]);
    assert.equal(pieces.join(''), stopped.text);
    assert(stopped.writtenTokens < 60);
  });

  test('an end token ends it', async () => {
    // Drawn at this temperature, one of the two end tokens among 256 comes soon.
    const result = await write({ temperature: 50, seed: 1, maxTokens: 2000 });
    assert.equal(result.stopReason, 'end');
    assert(result.writtenTokens < 2000);
  });

  test('equal seeds, equal texts; others, other ones', async () => {
    const drawn = async (seed: number) =>
      (await write({ temperature: 0.9, topP: 0.9, repetitionPenalty: 1.1, seed, maxTokens: 30 })).text;
    assert.equal(await drawn(5), await drawn(5));
    assert.notEqual(await drawn(5), await drawn(6));
  });

  suite('beside a state', () => {
    let composed: StateSlots;
    suiteSetup(async () => {
      const read = async (label: string, text: string) =>
        (await engine.read({ label, text, tokensPerRecallSlot: 4, gistSlots: 12 })).gist;
      const gists = [await read('a.ts', 'export const a = 1;'), await read('b.ts', 'export const b = 2;')];
      ({ state: composed } = await engine.compose(gists, { budget: 18, incoming: 24 }));
      assert.equal(composed.slots, 18);
    });

    /** The prefix's first tokens, as read alone, then the composed slots with a bias; [layer][key head][slot]. */
    function given(bias: number): RetrofitSlot[][][] {
      const sinks: RetrofitSlot[][][] = Array.from({ length: 3 }, () => [[], []]);
      const reader = new RetrofitOracle({
        ...keep,
        onHeads: (layer, _, { keys, values }) =>
          keys.forEach((key, head) => sinks[layer]![head]!.push(slotOfOne(key, values[head]!))),
      });
      reader.feed([START, ...Buffer.from('in ')]);
      const slots = toOracle(unpackSlots(composed)).map(group =>
        group.map(({ key, ...slot }) => ({
          ...slot,
          // Pairs (2i, 2i + 1) become (i, i + 4) again.
          key: key.map((_, i) => key[i < HEAD / 2 ? 2 * i : 2 * i - HEAD + 1]!),
          count: slot.count * Math.exp(bias),
        })),
      );
      return sinks.map((layer, l) => layer.map((own, head) => [...own, ...slots[l * 2 + head]!]));
    }

    test('shared sinks, composed slots and the bias of their compression', async () => {
      // The default entry gives -1 up to 4 tokens a slot.
      assert.deepEqual(defaultKvmSettings.stateBias[0], { tokensPerSlot: 4, bias: -1 });
      await engine.putState('repository', composed, 3);
      const result = await write({ states: ['repository'] });
      const expected = greedy(new RetrofitOracle({ ...keep, initialState: given(-1) }), prompt, 60);
      assert.equal(result.text, textOf(expected.tokens));
      assert.notEqual(result.text, (await write()).text, 'the state matters');
    });

    test('put again with another compression, it weighs otherwise', async () => {
      await engine.putState('repository', composed, 3);
      const before = (await write({ states: ['repository'] })).text;
      await engine.putState('repository', composed, 45);
      const after = await write({ states: ['repository'] });
      const expected = greedy(new RetrofitOracle({ ...keep, initialState: given(-5) }), prompt, 60);
      assert.equal(after.text, textOf(expected.tokens));
      assert.notEqual(after.text, before);
    });

    test('a state that is not there is stale; one of another model is refused', async () => {
      const { gist } = await engine.read({ label: 'a.ts', text: 'a', tokensPerRecallSlot: 4 });
      await engine.putState('gone', composed, 4);
      await engine.dropState('gone');
      await assert.rejects(write({ states: ['gone'] }), { code: 'stale', message: /"gone"/ });
      await assert.rejects(engine.putState('other', { ...composed, groups: 5 }, 4), { code: 'bad-format' });
      await assert.rejects(engine.compose([{ ...gist, headSize: 4 }], { budget: 8, incoming: 18 }), {
        code: 'bad-format',
      });
      const change = { remove: [], add: [{ ...gist, groups: 5 }], budget: 20 };
      await assert.rejects(engine.patch(composed, change), { code: 'bad-format' });
      const wrong = { ...change, add: [], remove: [{ gist, places: new Uint32Array(3) }] };
      await assert.rejects(engine.patch(composed, wrong), { code: 'stale' });
    });
  });

  test('composing: nothing gives an empty state; cancelled between gists; progress in slots', async () => {
    const { gist } = await engine.read({ label: 'a', text: 'some text', tokensPerRecallSlot: 4 });
    assert.equal((await engine.compose([], { budget: 10, incoming: 0 })).state.slots, 0);
    const done: number[] = [];
    const controller = new AbortController();
    const onProgress = (slots: number): void => {
      done.push(slots);
      if (done.length === 2) controller.abort();
    };
    const { signal } = controller;
    const incoming = 3 * gist.slots;
    await assert.rejects(engine.compose([gist, gist, gist], { budget: 10, incoming, signal, onProgress }), {
      code: 'cancelled',
    });
    assert.deepEqual(done, [gist.slots, 2 * gist.slots]);
  });

  test('cancelled: resolves with what was written', async () => {
    const whole = (await write()).text;
    const controller = new AbortController();
    let given = '';
    const result = await engine.generate(
      { messages: question, maxTokens: 60 },
      {
        signal: controller.signal,
        onText: piece => {
          given += piece;
          if (given.length >= 10) controller.abort();
        },
      },
    );
    assert.deepEqual([result.stopReason, result.text], ['cancelled', given]);
    assert(whole.startsWith(given) && given.length < 20);
    const early = await engine.generate({ messages: question, maxTokens: 60 }, { signal: AbortSignal.abort() });
    assert.deepEqual([early.stopReason, early.text, early.writtenTokens], ['cancelled', '', 0]);
  });

  test('a prompt of several thousand tokens is read and answered', async () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'All of this: '.repeat(200) }];
    const progress: number[] = [];
    const result = await engine.generate({ messages, maxTokens: 3 }, { onProgress: tokens => progress.push(tokens) });
    assert.equal(result.promptTokens, prompt.length - 'What does this do?'.length + 2600);
    assert.equal(progress.at(-1), result.promptTokens);
    assert.equal(result.writtenTokens, 3);
  });
});
