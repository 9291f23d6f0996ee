/**
 * Reading a text: prefix, lines, gist, recall slots and where each token went; against an oracle of the whole way for a
 * text whose characters all differ (equal characters tie in layer 0), by counting for the others.
 */
import assert from 'node:assert/strict';
import { defaultKvmSettings } from '../../src/convert/index.js';
import { openEngine } from '../../src/engine/index.js';
import type { Engine, Reading, ReadRequest } from '../../src/engine/index.js';
import { engineOf } from '../../src/engine/local-engine.js';
import { gistSlotsFor } from '../../src/engine/reader.js';
import { assertClose } from '../oracle/golden.js';
import * as rules from '../reference/chunks.js';
import { ClosestCalls } from '../reference/decisions.js';
import { slotOfOne } from '../reference/retrofit-head.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import { RetrofitOracle } from '../reference/retrofit.js';
import { distinctTokens, tinyModel, tinyReading, tinyVariants } from '../reference/tiny-model.js';
import { fromOracle, grownByOracle, mergedByOracle } from './oracle-rules.js';
import { TinyFolder } from './tiny-engine.js';
import { loadModel, openShared, sharedTextModel } from './tiny-shared.js';
import { START, recall, recallKeyHeads, tinyTextModel } from './tiny-text-model.js';

const NO_SLOT = 0xffffffff;
const { sinks, chunk } = tinyReading;
const GROUPS = 6;
const HEAD = 8;

suite('size of a gist', () => {
  test('clamp(sqrt(T)/2, 16, 256), by hand', () => {
    const cases = [
      [1, 16],
      [1024, 16],
      [1156, 17],
      [4096, 32],
      [10_000, 50],
      [262_144, 256],
      [1_000_000, 256],
    ];
    for (const [tokens, slots] of cases) assert.equal(gistSlotsFor(tokens!), slots, `${tokens} tokens`);
  });
});

suite('reading a text', function () {
  this.timeout(60_000);
  const folder = new TinyFolder();
  let engine: Engine;
  suiteSetup(async () => {
    engine = await openShared();
  });
  suiteTeardown(() => folder.dispose());

  const read = (text: string, more: Partial<ReadRequest> = {}): Promise<Reading> =>
    engine.read({ label: 'a.ts', text, tokensPerRecallSlot: 4, ...more });
  /** START, `in a.ts:` and the line break. */
  const PREFIX_TOKENS = 1 + 'in a.ts:\n'.length;

  test('gist, recall slots and provenance are the oracle’s', async () => {
    const label = 'Qz';
    const free = Array.from({ length: 126 }, (_, code) => code).filter(code => code > 1);
    const others = free.filter(code => ![...Buffer.from('in Qz:\n')].includes(code));
    const text = [...distinctTokens(104, others.length, 6)].map(i => String.fromCharCode(others[i]!)).join('');
    const ids = [START, ...Buffer.from(`in ${label}:\n${text}`)];
    assert.equal(new Set(ids).size, ids.length, 'all tokens differ');

    const tokens: RetrofitSlot[][] = Array.from({ length: GROUPS }, () => []);
    const oracle = new RetrofitOracle({
      ...tinyModel(tinyVariants.llama.model),
      ...tinyReading,
      // Through window and sinks alone; what leaves the window goes into the gist.
      windowChunks: defaultKvmSettings.readingWindowChunks,
      schedule: rules.windowOnly(),
      onHeads: (layer, _, { keys, values }) =>
        keys.forEach((key, head) => tokens[layer * 2 + head]!.push(slotOfOne(key, values[head]!))),
    });
    oracle.feed(ids);
    const calls = new ClosestCalls();
    const withoutSinks = tokens.map(own => own.slice(sinks));
    const gist = fromOracle(grownByOracle(withoutSinks, 20, calls));
    const recallTokens = recallKeyHeads.map(([layer, head]) => tokens[layer * 2 + head]!);
    const starts = Array.from({ length: Math.ceil(ids.length / chunk) }, (_, i) => i * chunk);
    const chunks = starts.map(from => recallTokens.map(own => own.slice(Math.max(sinks, from), from + chunk)));
    const merged = mergedByOracle(chunks, 4, calls);
    assert(Math.min(calls.append, calls.merge) > 1e-5, `closest calls ${calls.append}, ${calls.merge}`);

    const reading = await read(text, { label, gistSlots: 20 });
    assert.equal(reading.tokens, ids.length);
    const { gist: packed, recall: kept } = reading;
    assert.deepEqual([packed.groups, packed.slots, packed.headSize], [GROUPS, 20, HEAD]);
    assert.deepEqual(packed.counts, gist.count);
    assertClose('key radii', packed.keyRadii, gist.keyRadius, 1e-4);
    assertClose('value radii', packed.valueRadii, gist.valueRadius, 1e-4);
    assertMeans('gist keys', packed.keys, packed.keyScales, gist.keySum, gist.count);
    assertMeans('gist values', packed.values, packed.valueScales, gist.valueSum, gist.count);
    const slots = fromOracle(merged.state);
    assert.deepEqual([kept.heads, kept.slots, kept.headSize], [4, slots.slots, HEAD]);
    assert.deepEqual(kept.counts, slots.count);
    assertMeans('recall keys', kept.keys, kept.scales, slots.keySum, slots.count);
    const provenance = merged.slotOf.flatMap(own => [...new Array<number>(sinks).fill(NO_SLOT), ...own]);
    assert.deepEqual([...reading.slotOfToken], provenance);
  });

  test('lines: those of the characters, white space with what follows', async () => {
    const texts = [
      'one\ntwo\nthree',
      'ends with a break\n',
      'a\r\nb\r\n\r\n  c',
      '\n\n\n',
      'tabs\t\n\t\tand spaces   \n   ',
      'päth → 日本\n😀😀\nlast',
      'x',
      'no break\rat a lone return',
    ];
    for (const text of texts) {
      const { lineOfToken, tokens } = await read(text);
      const expected = new Array<number>(PREFIX_TOKENS).fill(0);
      let unit = 0;
      for (const character of text) {
        // A line is what line breaks before a place make it; a white-space byte counts where the next character is.
        const place = Math.min(/[ \t\r\n]/.test(character) ? unit + 1 : unit, text.length - 1);
        const line = text.slice(0, place).split('\n').length;
        for (let byte = 0; byte < Buffer.byteLength(character); byte++) expected.push(line);
        unit += character.length;
      }
      assert.deepEqual([...lineOfToken], expected, JSON.stringify(text));
      assert.equal(tokens, PREFIX_TOKENS + Buffer.byteLength(text));
    }
  });

  test('without a gist through the layers up to the highest recall head: the same recall slots, bit by bit', async () => {
    const heads = [[1, 0], [1, 4], [0, 3], [0, 1], [1, 2]] as const; // prettier-ignore
    const { path } = await tinyTextModel(folder, 'lower', { recall: { ...recall, heads } });
    const model = await loadModel(path);
    assert.equal(model.manifest.lowerLayers, 2);
    const lower = await model.lower();
    assert.deepEqual([lower.manifest.architecture.kvmLayers, await model.lower()], [2, lower]);
    const own = await engineOf(model);
    const whole = await own.read({ label: 'a.ts', text: long, tokensPerRecallSlot: 4 });
    const short = await own.read({ label: 'a.ts', text: long, tokensPerRecallSlot: 4, gistSlots: 0 });
    assert.ok(whole.gist.slots > 0 && short.gist.slots === 0);
    assert.deepEqual({ ...short, gist: undefined }, { ...whole, gist: undefined });
  });

  test('a model whose recall heads need all layers reads through all of them', async () => {
    const model = await loadModel(await sharedTextModel());
    assert.deepEqual([model.manifest.lowerLayers, await model.lower()], [undefined, model]);
  });

  const long = Array.from({ length: 40 }, (_, i) => `export const name${i} = ${i * 37};\n`).join('');

  test('every token is in the gist and in the recall slots, but the sinks', async () => {
    for (const tokensPerRecallSlot of [1, 4, 50]) {
      const { tokens, gist, recall, slotOfToken } = await read(long, { tokensPerRecallSlot });
      assert.equal(gist.slots, gistSlotsFor(tokens));
      assert.deepEqual(sumsOf(gist.counts, GROUPS), new Array(GROUPS).fill(tokens - sinks));
      assert.deepEqual(sumsOf(recall.counts, 4), new Array(4).fill(tokens - sinks));
      const counted = new Float32Array(4 * recall.slots);
      slotOfToken.forEach((slot, i) => {
        const [head, token] = [Math.floor(i / tokens), i % tokens];
        assert.equal(slot === NO_SLOT, token < sinks, `token ${token}`);
        if (token >= sinks) {
          assert(slot < recall.slots);
          counted[head * recall.slots + slot]!++;
        }
      });
      assert.deepEqual(counted, recall.counts);
    }
  });

  test('a wanted gist size is reached exactly; never more slots than tokens', async () => {
    for (const gistSlots of [1, 40, 300]) assert.equal((await read(long, { gistSlots })).gist.slots, gistSlots);
    const { gist, tokens } = await read('short', { gistSlots: 100 });
    assert.equal(gist.slots, tokens - sinks);
    assert(gist.counts.every(count => count === 1));
  });

  test('an empty text is its prefix; so is one shorter than it', async () => {
    for (const text of ['', 'a', '\n']) {
      const { tokens, gist, recall, lineOfToken, slotOfToken } = await read(text);
      assert.equal(tokens, PREFIX_TOKENS + text.length);
      assert.deepEqual([...lineOfToken], [...new Array<number>(PREFIX_TOKENS).fill(0), ...(text ? [1] : [])]);
      // Fewer tokens than the smallest gist has slots.
      assert.equal(gist.slots, tokens - sinks);
      // 1 slot for 4 tokens: 6 and 7 tokens make 2.
      assert.equal(recall.slots, 2);
      assert.equal(slotOfToken.filter(slot => slot === NO_SLOT).length, 4 * sinks);
    }
    const nothing = await read('', { label: '' });
    // `:` and the line break.
    assert.equal(nothing.tokens, sinks + 2);
    assert.deepEqual([nothing.gist.slots, nothing.recall.slots], [2, 1]);
  });

  test('the same request gives the same bytes, whatever the engine did before', async () => {
    const text = long.slice(0, 300);
    const first = await read(text);
    await read('something else', { label: 'b.ts' });
    await engine.putState('s', first.gist, 4);
    assert.deepEqual(await read(text), first);
    const anew = await openEngine(await sharedTextModel(), { threads: 2 });
    assert.deepEqual(await anew.read({ label: 'a.ts', text, tokensPerRecallSlot: 4 }), first);
    await anew.dispose();
  });

  test('the label is read too, and as data', async () => {
    const [a, b] = [await read(long), await read(long, { label: 'b.ts' })];
    assert.notDeepEqual(a.gist, b.gist);
    assert.notDeepEqual(a.recall, b.recall);
    // A label or text that spells a control token is its characters.
    const { tokens } = await read('<|end|>', { label: '<|start|>' });
    assert.equal(tokens, 1 + 'in '.length + '<|start|>'.length + 2 + '<|end|>'.length);
  });

  test('progress: tokens done after each chunk, up to all', async () => {
    const done: number[] = [];
    const { tokens } = await engine.read(
      { label: 'a.ts', text: long, tokensPerRecallSlot: 4 },
      { onProgress: count => done.push(count) },
    );
    const chunks = Array.from({ length: Math.ceil(tokens / chunk) }, (_, i) => Math.min(tokens, (i + 1) * chunk));
    assert.deepEqual(done, chunks);
  });

  test('cancelled between chunks: no further chunk is read', async () => {
    const controller = new AbortController();
    const done: number[] = [];
    const reading = engine.read(
      { label: 'a.ts', text: long, tokensPerRecallSlot: 4 },
      {
        signal: controller.signal,
        onProgress: count => {
          done.push(count);
          if (count === 3 * chunk) controller.abort();
        },
      },
    );
    await assert.rejects(reading, { code: 'cancelled' });
    assert.deepEqual(done, [chunk, 2 * chunk, 3 * chunk]);
    await assert.rejects(
      engine.read({ label: '', text: '', tokensPerRecallSlot: 1 }, { signal: AbortSignal.abort() }),
      {
        code: 'cancelled',
      },
    );
  });

  test('a prefix that begins with fewer tokens than there are sinks is refused', async () => {
    const model = await tinyTextModel(folder, 'short-prefix', { kvm: { ...tinyReading, prefix: 'at {label}' } });
    const short = await openEngine(model.path, { threads: 1 });
    await assert.rejects(short.read({ label: 'a', text: 'b', tokensPerRecallSlot: 1 }), { code: 'bad-format' });
    await short.dispose();
  });
});

/** Sum of each of `groups` equal runs. */
function sumsOf(values: Float32Array, groups: number): number[] {
  const run = values.length / groups;
  return Array.from({ length: groups }, (_, group) =>
    values.subarray(group * run, (group + 1) * run).reduce((sum, value) => sum + value, 0),
  );
}

/** int8 rows x scales against sums / counts: off by half a step and float32 noise at most. */
function assertMeans(
  what: string,
  rows: Int8Array,
  scales: Float32Array,
  sums: Float32Array,
  counts: Float32Array,
): void {
  assert.equal(rows.length, sums.length, what);
  rows.forEach((row, i) => {
    const slot = Math.floor(i / HEAD);
    const off = Math.abs(row * scales[slot]! - sums[i]! / counts[slot]!);
    assert(off <= scales[slot]! * 0.5 + 1e-4, `${what}: number ${i} off by ${off}, a step is ${scales[slot]!}`);
  });
}
