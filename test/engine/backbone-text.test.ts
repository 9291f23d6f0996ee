/**
 * A model trained with KVM in the house's own work: reading a text into a gist, composing, answering with and without a state,
 * the loss of a text. Against the float64 oracle of the authors' models; weights are the golden ones, so the texts are noise.
 */
import assert from 'node:assert/strict';
import { openEngine } from '../../src/engine/index.js';
import type { Engine, PackedSlots, Places, StateSlots } from '../../src/engine/index.js';
import { spreadRows } from '../../src/engine/compress.js';
import type { Model } from '../../src/engine/model.js';
import { packFinely, packSlots, unpackSlots } from '../../src/engine/packing.js';
import type { Slots } from '../../src/engine/state.js';
import { joinSlots } from '../../src/engine/state.js';
import { assertClose, openCase } from '../oracle/golden.js';
import type { BackboneConfig } from '../reference/backbone-config.js';
import { BackboneOracle } from '../reference/backbone.js';
import { ClosestCalls } from '../reference/decisions.js';
import { KvmMixer } from '../reference/kvm.js';
import type { RetrofitSlot } from '../reference/retrofit-head.js';
import type { Vec } from '../reference/vectors.js';
import { argmax, norm, scaled } from '../reference/vectors.js';
import { BackboneFolder, END, START } from './backbone-folder.js';
import { foldWith, stateNorms } from './backbone-rule.js';
import { toOracle } from './tiny-slots.js';

const HEAD = 32;
const HEADS = 2;
/** Of the rotated dimensions nothing enters the state. */
const ROTATED = 16;
const SWITCHES = { gatesAppends: true, gates: true };
const NOISE = 1e-4;
/** Slots of the gist: with these no merge hangs on float32 noise. */
const GIST = 17;

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

const kvmMixers = (oracle: BackboneOracle): KvmMixer[] => oracle.mixers.filter(mixer => mixer instanceof KvmMixer);

for (const name of ['power_law', 'hybrid_swa', 'hybrid_rwkv7'])
  suite(`text through a trained model: ${name}`, function () {
    this.timeout(60_000);
    const { config, weights } = openCase<BackboneConfig>(name, `${name}/weights.safetensors`);
    const kvmLayers = name === 'power_law' ? [0, 1, 2, 3] : [1, 3];
    const groups = kvmLayers.length * HEADS;
    const stateNorm = stateNorms(weights, kvmLayers, HEADS);
    const foldByRule = foldWith(stateNorm);
    const fresh = (): BackboneOracle => new BackboneOracle(config, weights);
    let model: Model;
    let engine: Engine;
    suiteSetup(async () => {
      model = await folder.textModel(name);
      engine = await openEngine(model.path, { threads: 1 });
    });
    suiteTeardown(() => engine.dispose());

    /** What the model's keys and values of `ids` are on their way into the state, read as one text. */
    function tokensOf(ids: readonly number[]): Slots {
      const oracle = fresh();
      const keys: Vec[][] = Array.from({ length: groups }, () => []);
      const values: Vec[][] = keys.map(() => []);
      const gates: number[][] = keys.map(() => []);
      for (const id of ids) {
        oracle.feed([id]);
        kvmMixers(oracle).forEach((mixer, layer) =>
          mixer.heads.forEach(({ window }, head) => {
            const group = layer * HEADS + head;
            const { key, value, gate } = window.at(-1)!;
            keys[group]!.push(stateNorm(group, key.slice().fill(0, 0, ROTATED)));
            values[group]!.push(value);
            gates[group]!.push(gate);
          }),
        );
      }
      const all = (vectors: readonly (readonly Vec[])[]): Float32Array =>
        Float32Array.from(vectors.flatMap(group => group.flatMap(vector => [...vector])));
      return {
        ...{ groups, slots: ids.length, headSize: HEAD },
        ...{ keySum: all(keys), valueSum: all(values), gate: Float32Array.from(gates.flat()) },
        count: new Float32Array(groups * ids.length).fill(1),
        keyRadius: Float32Array.from(keys.flat().map(norm)),
        valueRadius: Float32Array.from(values.flat().map(norm)),
      };
    }

    function fromOracle(state: readonly (readonly RetrofitSlot[])[]): Slots {
      const all = state.flat();
      const floats = (of: (slot: RetrofitSlot) => Iterable<number>) =>
        Float32Array.from(all.flatMap(slot => [...of(slot)]));
      return {
        ...{ groups, slots: state[0]!.length, headSize: HEAD },
        ...{ keySum: floats(slot => slot.key), valueSum: floats(slot => slot.value) },
        count: floats(slot => [slot.count]),
        keyRadius: floats(slot => [slot.keyRadius]),
        valueRadius: floats(slot => [slot.valueRadius]),
      };
    }

    /** The rule of a first batch: rows spread evenly become slots, the others merge. */
    function compressed(incoming: Slots, slots: number): Slots {
      const state: RetrofitSlot[][] = Array.from({ length: groups }, () => []);
      const calls = new ClosestCalls();
      foldByRule(state, incoming, { rows: spreadRows(slots, incoming.slots) }, 0, SWITCHES, calls);
      assert(calls.merge > NOISE, 'no merge hangs on float32 noise');
      return fromOracle(state);
    }

    /** Packed alike: counts the same, means within one step of int8. */
    function assertPacked<T extends Int8Array | Int16Array>(actual: PackedSlots<T>, expected: PackedSlots<T>): void {
      assert.deepEqual([actual.groups, actual.slots, actual.headSize], [groups, expected.slots, HEAD]);
      assert.deepEqual(actual.counts, expected.counts);
      assertClose('keys', actual.keys, expected.keys, 1);
      assertClose('values', actual.values, expected.values, 1);
      assertClose('key scales', actual.keyScales, expected.keyScales, 1e-5);
      assertClose('value scales', actual.valueScales, expected.valueScales, 1e-5);
      assertClose('key radii', actual.keyRadii, expected.keyRadii, 1e-4);
      assertClose('value radii', actual.valueRadii, expected.valueRadii, 1e-4);
    }

    /** Greedy tokens after `ids`, up to an end token. */
    function greedy(oracle: BackboneOracle, ids: readonly number[], limit: number): number[] {
      const tokens: number[] = [];
      let logits = oracle.feed(ids).at(-1)!;
      while (tokens.length < limit) {
        const token = argmax(logits);
        if (token === END) break;
        tokens.push(token);
        logits = oracle.feed([token])[0]!;
      }
      return tokens;
    }
    const textOf = (tokens: readonly number[]): string =>
      Buffer.from(tokens.filter(token => token < START)).toString('latin1');

    test('chunk, window, sinks and schedule are the checkpoint’s, the prefix is the entry’s', () => {
      const { chunk, windowChunks, readingWindowChunks, sinks, prefix, trained } = model.manifest.kvm;
      assert.deepEqual([chunk, windowChunks, readingWindowChunks, sinks], [16, 2, 2, 1]);
      assert(prefix.startsWith('<|start|>'));
      const limits = { roundDownTo: config.state_round_down, atLeast: config.state_min_len, atMost: 160_000 };
      const kind =
        name === 'power_law'
          ? { kind: 'powerLaw', factor: 6, exponent: 0.5 }
          : ({ kind: 'saturating', slots: 64 } as const);
      assert.deepEqual(trained, { schedule: { ...kind, ...limits }, gatesInitialState: false });
      // Keys and values as int8, five float32 numbers a group.
      assert.equal(engine.model.bytesPerSlot, groups * (2 * HEAD + 20));
      assert.deepEqual([engine.model.layers, engine.model.keyHeads], [4, HEADS]);
    });

    const text = 'export function add(a: number, b: number) { return a + b; } // adds two numbers, and that is all';

    test('reading: through its own state, the gist is the oracle’s; the sink is left out', async () => {
      const ids = [START, ...Buffer.from(`in a.ts:\n${text}`)];
      const reading = await engine.read({ label: 'a.ts', text, tokensPerRecallSlot: 4, gistSlots: GIST });
      assert.equal(reading.tokens, ids.length);
      const { gate, ...tokens } = tokensOf(ids);
      const cut = (values: Float32Array, size: number): Float32Array =>
        values.filter((_, i) => Math.floor(i / size) % ids.length > 0);
      assertPacked(
        reading.gist,
        packSlots(
          compressed(
            {
              ...{ groups, slots: ids.length - 1, headSize: HEAD },
              ...{ keySum: cut(tokens.keySum, HEAD), valueSum: cut(tokens.valueSum, HEAD), gate: cut(gate!, 1) },
              ...{ count: cut(tokens.count, 1), keyRadius: cut(tokens.keyRadius, 1) },
              valueRadius: cut(tokens.valueRadius, 1),
            },
            GIST,
          ),
        ),
      );
      assert.deepEqual([reading.recall.heads, reading.slotOfToken.length], [0, 0]);
    });

    test('answering a prompt of several windows: the oracle’s greedy tokens, through the trained schedule', async () => {
      const messages = [{ role: 'user', content: text } as const];
      const prompt = [START, ...Buffer.from(text), END];
      const expected = greedy(fresh(), prompt, 40);
      const result = await engine.generate({ messages, maxTokens: 40 });
      assert.equal(result.promptTokens, prompt.length);
      assert.equal(result.text, textOf(expected));
      assert(expected.length > 10, 'there is something to compare');
    });

    test('loss: by default through the trained schedule; another one can be asked for', async () => {
      const ids = [...Buffer.from(text)];
      const rows = fresh().feed(ids);
      const losses = ids.slice(50).map((id, i) => {
        const logits = rows[49 + i]!;
        const top = Math.max(...logits);
        return top + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0)) - logits[id]!;
      });
      const expected = losses.reduce((a, b) => a + b) / losses.length;
      const { loss, tokens } = await engine.loss(text, { from: 50, limit: 1000 });
      assert.equal(tokens, losses.length);
      assertClose('loss', [loss], [expected], 1e-4);
      const other = await engine.loss(text, { from: 50, limit: 1000, schedule: { kind: 'windowOnly' } });
      assert(Math.abs(other.loss - expected) > 1e-3);
    });

    suite('beside a state', () => {
      let composed: StateSlots;
      let placed: readonly Places[];
      let gists: PackedSlots[];
      suiteSetup(async () => {
        const read = async (label: string, content: string) =>
          (await engine.read({ label, text: content, tokensPerRecallSlot: 4, gistSlots: 12 })).gist;
        gists = [await read('a.ts', 'export const sum = 1;'), await read('b.ts', 'let difference = (b) => 2;')];
        ({ state: composed, places: placed } = await engine.compose(gists, { budget: 18, incoming: 24 }));
      });

      test('composed: slots into slots, compared by LN_s of their sums', () => {
        assertPacked(composed, packFinely(compressed(joinSlots(gists.map(unpackSlots)), 18)));
      });

      test('an answer attends to the shared sink and the composed slots, every slot weighing one', async () => {
        const sink = tokensOf([START]);
        const given = joinSlots([{ ...sink, gate: undefined }, unpackSlots(composed)]);
        const oracle = fresh();
        const slots = toOracle(given);
        kvmMixers(oracle).forEach((mixer, layer) =>
          mixer.heads.forEach((head, h) => {
            const group = layer * HEADS + h;
            head.slots = slots[group]!.map(({ key, value, valueRadius }) => ({ key, value, radius: valueRadius }));
            head.read = head.slots.map(({ key, value, radius }) => ({
              key: stateNorm(group, key),
              value: scaled(value, radius / norm(value)),
            }));
          }),
        );
        // Prompt and answer stay within the window of 32 tokens.
        const prompt = [START, ...Buffer.from('What is it?'), END];
        const expected = greedy(oracle, prompt, 18);
        const alone = greedy(fresh(), prompt, 18);
        assert.notDeepEqual(expected, alone, 'the state makes a difference');
        await engine.putState('workspace', composed, 3);
        const messages = [{ role: 'user', content: 'What is it?' } as const];
        const result = await engine.generate({ messages, states: ['workspace'], maxTokens: 18 });
        assert.equal(result.text, textOf(expected));
        const without = await engine.generate({ messages, maxTokens: 18 });
        assert.equal(without.text, textOf(alone));
      });

      test('patched: what left is out, what came is in, by the groups’ own LN_s', async () => {
        const { gist } = await engine.read({
          label: 'c.ts',
          text: 'const c = 3;',
          tokensPerRecallSlot: 4,
          gistSlots: 12,
        });
        const change = { remove: [{ gist: gists[0]!, places: placed[0]! }], add: [gist], budget: 18 };
        const { state, places } = await engine.patch(composed, change);
        const [kept, there] = [unpackSlots(state), [gists[1]!, gist].map(unpackSlots)];
        const sums = new Float64Array(kept.keySum.length);
        const counts = new Float64Array(kept.count.length);
        there.forEach((slots, at) =>
          [placed[1]!, places[0]!][at]!.forEach((place, from) => {
            const to = Math.floor(from / slots.slots) * state.slots + (place >>> 1);
            counts[to]! += slots.count[from]!;
            for (let i = 0; i < HEAD; i++) sums[to * HEAD + i]! += slots.keySum[from * HEAD + i]!;
          }),
        );
        assert.deepEqual([...state.counts], [...counts]);
        // Half a step of int16 for each of three packings, of the largest sum.
        const largest = sums.reduce((most, sum) => Math.max(most, Math.abs(sum)), 0);
        assertClose('key sums', kept.keySum, [...sums], 5e-5 * largest);
        const { state: emptied } = await engine.patch(composed, { ...change, add: [] });
        const packed = places[0]!;
        for (let group = 0; group < groups; group++) {
          const free = emptied.counts.subarray(group * 18, (group + 1) * 18).filter(count => count === 0).length;
          const made = packed.subarray(group * 12, (group + 1) * 12).filter(place => place & 1);
          assert.equal(made.length, Math.min(12, free));
        }
      });

      test('a long answer grows a state of its own beside the given one', async () => {
        await engine.putState('workspace', composed, 3);
        const messages = [{ role: 'user', content: text } as const];
        const request = { messages, states: ['workspace'], maxTokens: 30 };
        const first = await engine.generate(request);
        assert(first.writtenTokens > 5);
        assert.equal((await engine.generate(request)).text, first.text, 'the given state was not merged into');
      });
    });
  });

suite('text through a trained model without sinks', function () {
  this.timeout(60_000);

  test('nothing is left out of the gist, nothing is put in front of a given state', async () => {
    const model = await folder.textModel('extra/no_sink_cap64');
    assert.equal(model.manifest.kvm.sinks, 0);
    assert.equal(model.manifest.kvm.trained!.schedule.atMost, 64);
    const engine = await openEngine(model.path, { threads: 1 });
    const { gist, tokens } = await engine.read({
      label: 'a',
      text: 'let a = 1;',
      tokensPerRecallSlot: 4,
      gistSlots: 6,
    });
    // Every token is in a slot of each of the 4 x 2 groups.
    assert.equal(
      gist.counts.reduce((a, b) => a + b),
      8 * tokens,
    );
    await engine.putState('workspace', gist, 2);
    const messages = [{ role: 'user', content: 'What is it?' } as const];
    const { writtenTokens } = await engine.generate({ messages, states: ['workspace'], maxTokens: 5 });
    assert(writtenTokens > 0);
    await engine.dispose();
  });
});
