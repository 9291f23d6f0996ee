/** Exports and imports of processes that are killed at any moment, and two that import at once. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';
import { randomNumbers } from './store-samples.js';

const CHILD = fileURLToPath(new URL('./portable-child.js', import.meta.url));
const FILES = 60;

suite('exports and imports of other processes', function () {
  this.timeout(120_000);
  let source: Folder;
  let sound: Buffer;
  const given = Object.fromEntries(
    Array.from({ length: FILES }, (_, at) => [`src/f${at}.ts`, `some words of file ${at}\n`.repeat(300)]),
  );
  const nameIn = (folder: Folder): string => join(dirname(folder.root), 'x');
  suiteSetup(async () => {
    source = await Folder.of(given);
    const memory = await source.memory(new FakeEngine());
    await memory.refresh();
    await memory.exportTo(nameIn(source));
    sound = await readFile(nameIn(source));
  });
  suiteTeardown(() => source.dispose());

  /** Starts a child, waits until it is at work, then `ms` more, and kills it. True if it was done by then. */
  const killed = async (mode: string, folder: Folder, file: string, ms: number): Promise<boolean> => {
    const child = spawn(process.execPath, [CHILD, mode, folder.root, folder.data, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    const closed = once(child, 'close');
    createInterface({ input: child.stdout }).on('line', line => lines.push(line));
    while (!lines.includes('ready') && child.exitCode === null) await sleep(1);
    await sleep(ms);
    child.kill('SIGKILL');
    await closed;
    return lines.includes('done');
  };

  test('killed while it exports: the file that was there is whole, and the next export takes the rest away', async () => {
    const random = randomNumbers(5);
    let unfinished = 0;
    for (let round = 0; round < 5; round++) {
      if (!(await killed('export', source, nameIn(source), random() * 30))) unfinished++;
      assert.deepEqual(await readFile(nameIn(source)), sound);
    }
    assert.ok(unfinished > 0, 'some were killed before they were done');
    const memory = await source.memory(new FakeEngine());
    await memory.exportTo(nameIn(source), { replace: true });
    assert.deepEqual((await readdir(dirname(source.root))).sort(), ['data', 'work', 'x']);
  });

  test('killed while it imports: the store is sound, and the same import completes it', async () => {
    const random = randomNumbers(6);
    let unfinished = 0;
    for (let round = 0; round < 5; round++) {
      const there = await Folder.of(given);
      if (!(await killed('import', there, nameIn(source), random() * 400))) unfinished++;
      const memory = await there.memory(new FakeEngine());
      const store = await there.store();
      for (const { key } of store.listKeys()) assert.equal(store.getMemory(key)?.ok, true);
      const report = await memory.importFrom([nameIn(source)]);
      assert.deepEqual([report.files, report.added + report.known, report.coverage.read], [FILES, FILES, FILES]);
      await memory.exportTo(nameIn(there));
      assert.deepEqual(await readFile(nameIn(there)), sound);
      await there.dispose();
    }
    assert.ok(unfinished > 0, 'some were killed before they were done');
  });

  test('two processes import at once: both end, all is there once', async () => {
    const there = await Folder.of(given);
    const done = await Promise.all(
      [1, 2].map(async () => {
        const child = spawn(process.execPath, [CHILD, 'import', there.root, there.data, nameIn(source)], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const lines: string[] = [];
        createInterface({ input: child.stdout }).on('line', line => lines.push(line));
        const [code] = (await once(child, 'close')) as [number];
        return [code, lines.at(-1)];
      }),
    );
    assert.deepEqual(done, [
      [0, 'done'],
      [0, 'done'],
    ]);
    const memory = await there.memory(new FakeEngine());
    await memory.exportTo(nameIn(there));
    assert.deepEqual(await readFile(nameIn(there)), sound);
    await there.dispose();
  });
});
