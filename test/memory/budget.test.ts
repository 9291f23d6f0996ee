/** Memories kept within a budget: which are coarsened, what is left of them, and that nothing is read again for it. */
import assert from 'node:assert/strict';
import { leastUsefulFirst, ramBytesOf } from '../../src/memory/budget.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { LineMass, tokensBefore } from '../../src/memory/line-mass.js';
import { TextMass } from '../../src/memory/text-mass.js';
import {
  keysOf,
  mergedProvenance,
  partsOf,
  type LedgerRow,
  type MemoryKey,
  type Provenance,
  type Store,
} from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { allNamed } from './fake-recall.js';
import { Folder } from './folder.js';
import { plantedText } from './planted-text.js';
import { partOf, randomNumbers, sampleMemory, sampleRow } from './store-samples.js';

/** Tokens of each line in one head. */
function tokensOfLines(provenance: Provenance, slots: number, head: number): Map<number, number> {
  const of = new Map<number, number>();
  const row = head * (slots + 1);
  for (let at = provenance.slotStart[row]!; at < provenance.slotStart[row + slots]!; at++) {
    of.set(provenance.lines[at]!, (of.get(provenance.lines[at]!) ?? 0) + provenance.weights[at]!);
  }
  return new Map([...of].sort((a, b) => a[0] - b[0]));
}

/** Words that stand in one file alone. */
function ownLine(at: number): string {
  return `Marker${at} of the file quoin${at} zephyr${at} mizzen${at}.`;
}

suite('budgets', function () {
  this.timeout(60_000);
  const texts = Array.from({ length: 12 }, (_, at) => {
    const lines = plantedText(9000 + at).text.split('\n');
    return { text: [...lines.slice(0, 60), ownLine(at), ...lines.slice(60)].join('\n'), line: 61 };
  });
  const files = Object.fromEntries(texts.map(({ text }, at) => [`notes/${at}.txt`, text]));
  const folders: Folder[] = [];
  teardown(async () => {
    for (const folder of folders.splice(0)) await folder.dispose();
  });
  const folderOf = async (content: Record<string, string> = files): Promise<Folder> => {
    const folder = await Folder.of(content);
    folders.push(folder);
    return folder;
  };
  const diskOf = (store: Store): number => store.listKeys().reduce((sum, { bytes }) => sum + bytes, 0);
  const ramOf = (store: Store): number =>
    store.listKeys().reduce((sum, { key }) => {
      const memory = store.getMemory(key);
      return sum + (memory?.ok ? ramBytesOf(memory.value) : NaN);
    }, 0);
  const hits = async (memory: WorkspaceMemory): Promise<number> => {
    let found = 0;
    for (const [at, { line }] of texts.entries()) {
      const [best] = await memory.recall(ownLine(at), { limit: 1 });
      if (best?.path === `notes/${at}.txt` && best.startLine <= line && best.endLine >= line) found++;
    }
    return found;
  };
  const usual = async (): Promise<{ disk: number; found: number }> => {
    const folder = await folderOf();
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    return { disk: diskOf(await folder.store()), found: await hits(memory) };
  };

  test('merged provenance has the same tokens on the same lines', () => {
    const { provenance, recall } = sampleMemory('a', 'b', 400);
    const random = randomNumbers(2);
    const merged = 7;
    const slotOf = Uint32Array.from({ length: recall.heads * recall.slots }, () => Math.floor(random() * merged));
    const after = mergedProvenance(provenance, recall.slots, slotOf, merged);
    for (let head = 0; head < recall.heads; head++) {
      assert.deepEqual(tokensOfLines(after, merged, head), tokensOfLines(provenance, recall.slots, head));
    }
    assert.equal(after.slotStart.length, recall.heads * (merged + 1));
    assert.equal(after.slotStart.at(-1), after.lines.length);
  });

  test('merged provenance in few runs: the same tokens, each slot cut where most lines lie between', () => {
    // One head of two slots that become one: lines 1, 2, 9 and 2, 3, 30, of which 2 has 1 + 4 tokens.
    const provenance = {
      slotStart: Uint32Array.from([0, 3, 6]),
      lines: Uint32Array.from([1, 2, 9, 2, 3, 30]),
      weights: Uint16Array.from([1, 1, 1, 4, 1, 2]),
    };
    const merged = (most: number): Provenance => mergedProvenance(provenance, 2, new Uint32Array(2), 1, most);
    const runs = ({ lines, spans, weights }: Provenance): number[][] =>
      [...lines].map((line, at) => [line, spans?.[at] ?? 1, weights[at]!]);
    // By hand: 1, 2 (5 tokens), 3, 9, 30; the widest gaps are before 30 (21), before 9 (6), then before 2.
    assert.deepEqual(runs(merged(5)), [
      [1, 1, 1],
      [2, 1, 5],
      [3, 1, 1],
      [9, 1, 1],
      [30, 1, 2],
    ]);
    assert.equal(merged(5).spans, undefined);
    assert.deepEqual(runs(merged(3)), [
      [1, 3, 7],
      [9, 1, 1],
      [30, 1, 2],
    ]);
    assert.deepEqual(runs(merged(2)), [
      [1, 9, 8],
      [30, 1, 2],
    ]);
    // Merged again with a slot whose run lies in one of these: they count as one.
    const twice = {
      slotStart: Uint32Array.from([0, 1, 2]),
      lines: Uint32Array.from([1, 4]),
      weights: Uint16Array.from([8, 2]),
      spans: Uint16Array.from([9, 2]),
    };
    assert.deepEqual(runs(mergedProvenance(twice, 2, new Uint32Array(2), 1, 4)), [[1, 9, 10]]);
  });

  test('tokens and mass of a run are spread evenly over its lines', () => {
    // One slot: 6 tokens on lines 2 to 4, 1 token on line 6; its mass is 0.7, the contentless one 1.4.
    const provenance = {
      slotStart: Uint32Array.from([0, 2]),
      lines: Uint32Array.from([2, 6]),
      weights: Uint16Array.from([6, 1]),
      spans: Uint16Array.from([3, 1]),
    };
    assert.deepEqual([...tokensBefore(provenance, 1)], [0, 0, 2, 4, 6, 6, 7]);
    const masses = { mass: allNamed(Float32Array.of(0.7), [0]), nullMass: allNamed(Float32Array.of(1.4), [0]) };
    const mass = LineMass.of(provenance, 1, tokensBefore(provenance, 1), masses, 0, [0]);
    const text = new TextMass([{ firstLine: 1, tokens: tokensBefore(provenance, 1), mass }]);
    const on = (line: number): number => text.on({ startLine: line, endLine: line }, 1)[0]!;
    [0, 0.2, 0.2, 0.2, 0, 0.1].forEach((expected, at) => assert.ok(Math.abs(on(at + 1) - expected) < 1e-6, `${at}`));
    assert.ok(Math.abs(text.nullOn({ startLine: 1, endLine: 3 }, 1)[0]! - 0.8) < 1e-6);
  });

  test('least useful: longest out of use, then vendored, then large; by path; what is being read last', () => {
    const parts = [partOf(sampleMemory('a', 'b'))];
    const row = (path: string, more: Partial<LedgerRow> = {}): LedgerRow => sampleRow(path, { parts, ...more });
    const rows = [
      row('reading', { state: 'reading' }),
      row('used', { usedAt: 200 }),
      row('used before', { usedAt: 100, state: 'coarse' }),
      row('small'),
      row('large', { size: 99 }),
      row('a/vendor/small.js'),
      row('also small'),
      row('stale', { state: 'stale' }),
      sampleRow('waiting', { state: 'waiting' }),
    ];
    assert.deepEqual(
      leastUsefulFirst(rows).map(({ path }) => path),
      ['a/vendor/small.js', 'large', 'also small', 'small', 'used before', 'used', 'reading'],
    );
  });

  test('five times over the disk budget: all is read, nothing is over, much is still found; the next scan changes nothing', async () => {
    const { disk, found } = await usual();
    const folder = await folderOf();
    const engine = new FakeEngine();
    // Made-up keys that are merged far point nowhere: the words have to do it.
    const settings = { diskBytes: disk / 5, lexicalWeight: 0.5 };
    const memory = await folder.memory(engine, settings);
    const store = await folder.store();
    const most: number[] = [];
    engine.beforeRead = () => void most.push(diskOf(store));
    await memory.refresh();
    assert.equal(engine.reads.length, 12);
    assert.ok(Math.max(...most, diskOf(store)) <= settings.diskBytes, `${Math.max(...most)} of ${settings.diskBytes}`);
    const { read, coarse, total } = memory.coverage();
    assert.ok(coarse > 0 && read + coarse === total);
    // One place alone is asked for, and the one with the words of the question is it, in all files.
    assert.deepEqual([found, await hits(memory)], [12, 12]);
    for (const row of store.ledger.all()) {
      assert.ok(keysOf(row).every(key => store.getMemory(key)?.ok));
      assert.ok(memory.hashOf(row.path) !== undefined);
    }
    const rows = store.ledger.all();
    engine.reads.length = 0;
    engine.coarsened = 0;
    await memory.refresh();
    await memory.scan();
    assert.deepEqual([engine.reads, engine.coarsened], [[], 0]);
    assert.deepEqual(store.ledger.all(), rows);
    // The same is read where it is changed and changed back.
    await folder.write('notes/3.txt', 'other');
    await memory.refresh();
    await memory.states(['notes/3.txt', 'notes/4.txt']);
    assert.equal(memory.file('notes/3.txt')?.state, 'read');
  });

  test('over the RAM budget recall is merged, and gists stay', async () => {
    const folder = await folderOf();
    const memory = await folder.memory(new FakeEngine(), { ramBytes: 300_000 });
    await memory.refresh();
    const store = await folder.store();
    assert.ok(memory.coverage().coarse > 0);
    for (const { path } of store.ledger.all()) assert.ok(memory.gist(path));
    assert.ok(ramOf(store) <= 300_000, `${ramOf(store)} bytes`);
  });

  test('a reading of a few changed files keeps the budgets too', async () => {
    const { disk } = await usual();
    const folder = await folderOf({ 'notes/0.txt': 'Not as it will be.' });
    const memory = await folder.memory(new FakeEngine(), { diskBytes: disk / 3, ramBytes: 400_000 });
    await memory.scan();
    for (const [path, text] of Object.entries(files)) {
      await folder.write(path, text);
      await memory.lookAt([path]);
      await memory.refresh({ walk: false, state: false });
    }
    const store = await folder.store();
    const { read, coarse } = memory.coverage();
    assert.equal(read + coarse, 12);
    assert.ok(diskOf(store) <= disk / 3, `${diskOf(store)} of ${disk / 3}`);
    assert.ok(ramOf(store) <= 400_000, `${ramOf(store)} bytes`);
  });

  test('what was recalled is coarsened last', async () => {
    const { disk } = await usual();
    const folder = await folderOf();
    const first = await folder.memory(new FakeEngine());
    await first.refresh();
    const [found] = await first.recall(ownLine(7), { limit: 1 });
    const used = found!.path;
    await first.dispose();
    const memory = await folder.memory(new FakeEngine(), { diskBytes: disk * 0.9 });
    await memory.refresh();
    const { coarse } = memory.coverage();
    assert.ok(coarse > 0 && coarse < 12);
    assert.equal(memory.file(used)?.state, 'read');
  });

  test('a file larger than the budget is coarsened while it is read, and its lines are right', async () => {
    const { text, planted: sentences } = plantedText(60_000);
    const parts = { least: 4000, most: 9000 };
    const alone = await folderOf({ 'long.txt': text });
    await (await alone.memory(new FakeEngine(), { parts })).refresh();
    const disk = diskOf(await alone.store());
    const folder = await folderOf({ 'long.txt': text });
    const engine = new FakeEngine();
    const memory = await folder.memory(engine, { parts, diskBytes: disk / 3, lexicalWeight: 0.5 });
    await memory.refresh();
    const store = await folder.store();
    const row = store.ledger.get('long.txt')!;
    assert.equal(row.state, 'coarse');
    assert.ok(diskOf(store) <= disk / 3);
    assert.equal(engine.reads.length, new Set(partsOf(row).map(part => part.key)).size);
    for (const { sentence, line } of sentences) {
      const spans = await memory.recall(sentence, { limit: 5 });
      assert.ok(
        spans.some(
          ({ startLine, endLine, text: own }) => startLine <= line && endLine >= line && own.includes(sentence),
        ),
      );
    }
    // A change in the middle reads what it touches; the rest stays coarse.
    engine.reads.length = 0;
    await folder.write('long.txt', text.replace('The old kettle', 'The new kettle'));
    await memory.refresh();
    assert.ok(engine.reads.length >= 1 && engine.reads.length < partsOf(row).length / 2, `${engine.reads.length}`);
    assert.equal(memory.file('long.txt')?.state, 'coarse');
  });

  test('when the engine fails on the way, every row stands on what is there', async () => {
    const { disk } = await usual();
    const folder = await folderOf();
    await (await folder.memory(new FakeEngine())).refresh();
    const engine = new FakeEngine();
    const memory = await folder.memory(engine, { diskBytes: disk / 3 });
    engine.beforeCoarsen = () => {
      if (engine.coarsened === 5) throw new Error('the engine is gone');
    };
    await assert.rejects(memory.refresh(), /the engine is gone/);
    const store = await folder.store();
    const states = store.ledger.all().map(row => row.state);
    assert.ok(states.includes('coarse') && states.includes('read'));
    const keys = store.ledger.all().flatMap(keysOf);
    assert.ok(keys.every((key: MemoryKey) => store.getMemory(key)?.ok));
    assert.equal(store.listKeys().length, keys.length);
    engine.beforeCoarsen = () => undefined;
    await memory.refresh();
    assert.deepEqual(engine.reads, []);
    assert.ok(diskOf(store) <= disk / 3);
  });

  test('another model reads coarse files for itself; the first finds them coarse again', async () => {
    const { disk } = await usual();
    const folder = await folderOf();
    const memory = await folder.memory(new FakeEngine(), { diskBytes: disk / 2 });
    await memory.refresh();
    const { coarse } = memory.coverage();
    const other = new FakeEngine('fake-2');
    const second = await folder.memory(other);
    await second.refresh();
    assert.equal(second.coverage().read, 12);
    const back = await folder.memory(new FakeEngine());
    await back.refresh();
    assert.equal(back.coverage().coarse, coarse);
  });
});
