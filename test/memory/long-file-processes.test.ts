/** A long file read by processes that are killed, with a tiny model: nothing is read twice, and what comes out is the same. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openEngine } from '../../src/engine/index.js';
import { loadState } from '../../src/memory/kept-state.js';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { partsOfText } from '../../src/memory/parts.js';
import { keysOf, partsOf, tokensOf } from '../../src/memory/store/index.js';
import { TinyFolder } from '../engine/tiny-engine.js';
import { PREFIX, tinyTextModel } from '../engine/tiny-text-model.js';
import { tinyReading } from '../reference/tiny-model.js';
import { Folder } from './folder.js';
import { plantedText } from './planted-text.js';

const CHILD = fileURLToPath(new URL('./read-child.js', import.meta.url));
const parts = { least: 2500, most: 6000 };

suite('a long file read by processes', function () {
  this.timeout(120_000);
  const { text, planted } = plantedText(32_000);
  const models = new TinyFolder();
  const children: ChildProcess[] = [];
  const folders: Folder[] = [];
  let model: string;
  suiteSetup(async () => {
    await tinyTextModel(models, 'text', { kvm: { ...tinyReading, chunk: 128, prefix: PREFIX } });
    model = `${models.path}/text-f32`;
  });
  suiteTeardown(async () => {
    for (const child of children) child.kill('SIGKILL');
    for (const folder of folders) await folder.dispose();
    await models.dispose();
  });

  const folderOf = async (): Promise<Folder> => {
    const folder = await Folder.of({ 'long.txt': text });
    folders.push(folder);
    return folder;
  };
  const reader = (folder: Folder): { child: ChildProcess; ended: Promise<unknown>; lines: string[] } => {
    const args = [CHILD, model, folder.root, folder.data, String(parts.least), String(parts.most)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', line => lines.push(line));
    return { child, ended: once(child, 'close'), lines };
  };
  const tokensRead = (lines: readonly string[]): number =>
    (JSON.parse(lines.at(-1)!) as { tokensRead: number }).tokensRead;

  test('a killed run loses the part it was reading, no more; the memory is that of a run that was let be', async () => {
    const cuts = partsOfText(text, parts);
    assert.ok(cuts.length >= 6, `${cuts.length} parts`);
    const [killed, quiet] = [await folderOf(), await folderOf()];
    const store = await killed.store();
    const kept = (): number => partsOf(store.ledger.get('long.txt') ?? emptyRow).length;
    for (const wanted of [1, 3]) {
      const { child, ended } = reader(killed);
      while (kept() < wanted) {
        assert.equal(child.exitCode, null, 'it ended by itself');
        await sleep(5);
      }
      child.kill('SIGKILL');
      await ended;
    }
    const row = store.ledger.get('long.txt')!;
    assert.ok(row.state === 'reading' && partsOf(row).length < cuts.length);
    const last = reader(killed);
    await last.ended;
    const whole = store.ledger.get('long.txt')!;
    assert.equal(whole.state, 'read');
    assert.equal(partsOf(whole).length, cuts.length);
    assert.equal(tokensRead(last.lines), tokensOf(whole) - tokensOf(row), 'only what was not there before');

    const undisturbed = reader(quiet);
    await undisturbed.ended;
    const other = await quiet.store();
    assert.equal(tokensRead(undisturbed.lines), tokensOf(whole));
    assert.deepEqual({ ...other.ledger.get('long.txt'), readAt: 0 }, { ...whole, readAt: 0 });
    for (const key of keysOf(whole)) assert.deepEqual(other.getMemory(key), store.getMemory(key));
    assert.deepEqual(await loadState(other), await loadState(store));
  });

  test('a question finds the sentence in each tenth', async () => {
    const folder = await folderOf();
    const engine = await openEngine(model, { threads: 1 });
    const { root, data } = folder;
    const memory = await openWorkspaceMemory({ root, data, engine, settings: { parts } });
    try {
      await memory.refresh();
      for (const { question, sentence, line } of planted) {
        const found = await memory.recall(question, { limit: 8 });
        const hit = found.find(span => span.startLine <= line && span.endLine >= line);
        assert.ok(hit?.text.includes(sentence), `${question} ${found.map(span => span.startLine).join()}`);
      }
    } finally {
      await memory.dispose();
      await engine.dispose();
    }
  });
});

const emptyRow = { path: 'long.txt', size: 0, mtimeMs: 0, contentHash: '', state: 'waiting' } as const;
