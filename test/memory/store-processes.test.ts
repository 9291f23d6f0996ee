/** The store between processes: two at once, one killed at any moment, a full disk, a folder without permission, the lease. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/memory/store/index.js';
import type { Store } from '../../src/memory/store/index.js';
import { keyOf, partOf, randomNumbers, sampleMemory, sampleRow } from './store-samples.js';

const CHILD = fileURLToPath(new URL('./store-child.js', import.meta.url));

interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves when the process is gone and all it printed was read. */
  readonly ended: Promise<unknown>;
  line(at: number): Promise<string>;
}

suite('store: processes', () => {
  let folder: string;
  const children: ChildProcess[] = [];
  const stores: Store[] = [];
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-processes-'));
  });
  teardown(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const store of stores.splice(0)) await store.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const openHere = async (now?: () => number): Promise<Store> => {
    const store = await openStore(folder, { workspace: '/w', now, lease: { beat: 20, stale: 60_000 } });
    stores.push(store);
    return store;
  };
  const start = (command: string, args: string[]): Child => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', line => lines.push(line));
    const ended = once(child, 'close');
    const line = async (at: number): Promise<string> => {
      while (lines[at] === undefined && child.exitCode === null) await sleep(2);
      return lines[at] ?? '';
    };
    return { process: child, lines, ended, line };
  };
  const child = (mode: string, ...more: string[]): Child => start(process.execPath, [CHILD, mode, folder, ...more]);

  test('one process writes while another reads and writes', async function () {
    this.timeout(20_000);
    const store = await openHere();
    const writer = child('rows');
    let mine = 0;
    let most = 0;
    while (writer.process.exitCode === null) {
      await store.ledger.put(sampleRow(`parent ${mine++}`));
      const rows = store.ledger.all().length;
      assert.ok(rows >= most, 'rows never go away');
      most = rows;
      await sleep(2);
    }
    await writer.ended;
    assert.deepEqual(writer.lines, ['done']);
    const paths = store.ledger.all().map(row => row.path);
    assert.equal(paths.filter(path => path.startsWith('child')).length, 200);
    assert.equal(paths.filter(path => path.startsWith('parent')).length, mine);
  });

  test('killed after it forgot: the next one that is alone with the store leaves no byte of it', async function () {
    this.timeout(60_000);
    const [kept, gone] = ['kept', 'gone'].map(path => sampleMemory(path, `content of ${path}`, 4000));
    const store = await openHere();
    for (const memory of [kept!, gone!]) {
      await store.batch(write => {
        write.putMemory(keyOf(memory), memory);
        write.putRow(sampleRow(memory.path, { contentHash: memory.contentHash, parts: [partOf(memory)] }));
      });
    }
    await store.putBlob('state', Buffer.from('slots'));
    const { recall, gist } = gone!;
    const numbers = [recall.keys, gist.values].map(values => Buffer.from(values.buffer).subarray(0, 64));
    const traces = [Buffer.from(keyOf(gone!)), ...numbers];
    const data = join(folder, 'data.mdb');
    const found = async (): Promise<boolean[]> => {
      const bytes = await readFile(data);
      return traces.map(trace => bytes.includes(trace));
    };
    const forgetting = child('forget', 'gone');
    assert.equal(await forgetting.line(0), 'forgotten');
    forgetting.process.kill('SIGKILL');
    await forgetting.ended;
    // The first one has it open all the time: one that opens it beside cannot do it.
    const beside = await openHere();
    await beside.dispose();
    assert.ok((await found()).includes(true));
    await store.dispose();

    const next = await openHere();
    assert.deepEqual(await found(), [false, false, false]);
    assert.deepEqual(next.getMemory(keyOf(kept!)), { ok: true, value: kept });
    assert.deepEqual(
      next.ledger.all().map(({ path }) => path),
      ['kept'],
    );
    assert.equal(next.getBlob('state')?.ok, true);
    // It is done once: what is written now stays where it is.
    const { ino } = await stat(data);
    await next.dispose();
    await openHere();
    assert.equal((await stat(data)).ino, ino);
  });

  test('killed at any moment: the store opens, all decodes, what was acknowledged is there', async function () {
    this.timeout(60_000);
    const random = randomNumbers(9);
    let acknowledged = 0;
    for (let round = 0; round < 12; round++) {
      const writer = child('loop', `${round}`);
      // Every third is killed while it starts and opens, the others while they write.
      if (round % 3 !== 0) await writer.line(4 + Math.floor(random() * 12));
      await sleep(random() * (round % 3 === 0 ? 200 : 20));
      writer.process.kill('SIGKILL');
      await writer.ended;
      assert.deepEqual(
        writer.lines.filter(line => line.startsWith('log')),
        [],
      );

      const store = await openHere();
      const rows = store.ledger.all();
      for (const row of rows) {
        const memory = store.getMemory(row.parts![0]!.key);
        assert.equal(memory?.ok, true, `${row.path}: ${JSON.stringify(memory)}`);
      }
      for (const { key } of store.listKeys()) assert.equal(store.getMemory(key)?.ok, true);
      const last = new Map<string, number>();
      for (const line of writer.lines) last.set(`round ${round}/file ${Number(line) % 20}`, Number(line));
      for (const [path, at] of last) {
        const row = rows.find(candidate => candidate.path === path);
        const memory = sampleMemory(path, `content ${at}`, 2000);
        // One more may have been written than was printed.
        if (row?.parts?.[0]?.key !== keyOf(memory)) {
          const next = sampleMemory(path, `content ${writer.lines.length}`, 2000);
          assert.equal(row?.parts?.[0]?.key, keyOf(next), path);
        } else assert.deepEqual(store.getMemory(keyOf(memory)), { ok: true, value: memory });
      }
      acknowledged += writer.lines.length;
      await store.dispose();
    }
    // 8 rounds of at least 5.
    assert.ok(acknowledged >= 40, `${acknowledged} writes before the kills`);
  });

  test('a full disk is one line with its code, and what was there stays', async function () {
    if (process.platform === 'win32') this.skip();
    this.timeout(20_000);
    // A limit on the file's size, of 4,000 blocks of 512 bytes or 1 KiB, stands for the disk; its signal is ignored.
    const filler = start('sh', [
      '-c',
      `trap '' XFSZ; ulimit -f 4000; exec "$0" "$1" fill "$2"`,
      process.execPath,
      CHILD,
      folder,
    ]);
    await filler.ended;
    const [at, code, message] = JSON.parse(filler.lines[0] ?? '[]') as [number, string, string];
    assert.ok(at >= 5 && at <= 25, `blob ${at}`);
    assert.deepEqual(
      [code, message],
      ['disk-full', `Could not write to ${folder}: the disk is full or fails. Free some space.`],
    );
    assert.equal(filler.lines[1], 'true');
    const store = await openHere();
    for (let blob = 0; blob < at; blob++) assert.equal(store.getBlob(`blob ${blob}`)?.ok, true);
    await store.putBlob('more', new Uint8Array(300_000));
  });

  test('a folder without permission is one line with its code', async function () {
    if (process.platform === 'win32' || process.getuid?.() === 0) this.skip();
    await chmod(folder, 0o500);
    await assert.rejects(openStore(folder, { workspace: '/w' }), {
      code: 'permission',
      message: `May not write to ${folder}. Allow it or choose another data folder.`,
    });
    await assert.rejects(openStore(join(folder, 'new'), { workspace: '/w' }), { code: 'permission' });
    await chmod(folder, 0o700);
    const store = await openStore(folder, { workspace: '/w' });
    await store.dispose();
    await chmod(join(folder, 'data.mdb'), 0o400);
    await assert.rejects(openStore(folder, { workspace: '/w' }), { code: 'permission' });
  });

  test('a folder whose place a file takes is one line', async () => {
    await writeFile(join(folder, 'file'), '');
    await assert.rejects(openStore(join(folder, 'file', 'store'), { workspace: '/w' }), {
      message: `The store ${join(folder, 'file', 'store')} cannot be opened: a part of this path is a file, not a folder.`,
    });
  });

  test('one reader of all processes; another follows when it is killed', async function () {
    this.timeout(20_000);
    const reader = child('lease');
    assert.equal(await reader.line(0), 'reader');
    const store = await openHere();
    assert.deepEqual(await store.tryBecomeReader(), { heldBy: reader.process.pid });
    assert.equal(store.isReadElsewhere, true);
    reader.process.kill('SIGKILL');
    await reader.ended;
    assert.equal(store.isReadElsewhere, false, 'the reader is gone');
    const lease = await store.tryBecomeReader();
    assert.ok(!('heldBy' in lease));
    assert.equal(lease.pid, process.pid);
    assert.equal(store.isReadElsewhere, false, 'it is this process');
    const second = child('lease');
    assert.equal(await second.line(0), `held by ${process.pid}`);
    await lease.dispose();
    assert.equal(lease.lost.aborted, true);
    const third = child('lease');
    assert.equal(await third.line(0), 'reader');
  });

  test('a lease whose heartbeat stopped is taken over, and its holder is told', async () => {
    let now = 1_000_000;
    const sleeper = await openHere(() => 1_000_000);
    const other = await openHere(() => now);
    const held = await sleeper.tryBecomeReader();
    assert.ok(!('heldBy' in held));
    now += 60_000;
    assert.deepEqual(await other.tryBecomeReader(), { heldBy: process.pid });
    now += 1;
    const taken = await other.tryBecomeReader();
    assert.ok(!('heldBy' in taken));
    // The sleeper notices at its next beat, 20 ms later; giving back what it lost takes nothing from the other.
    if (!held.lost.aborted) await once(held.lost, 'abort');
    await held.dispose();
    assert.equal(taken.lost.aborted, false);
    assert.deepEqual(await other.tryBecomeReader(), { heldBy: process.pid });
  });

  test('closing the store ends its lease', async () => {
    const first = await openHere();
    const lease = await first.tryBecomeReader();
    assert.ok(!('heldBy' in lease));
    const second = await openHere();
    await first.dispose();
    assert.equal(lease.lost.aborted, true);
    assert.ok(!('heldBy' in (await second.tryBecomeReader())));
  });
});
