/** The store on disk: what is written is read again, in another process's shoes too; foreign and damaged data is replaced. */
import assert from 'node:assert/strict';
import { mkdtemp, open as openFile, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'lmdb';
import { compactStore, openStore } from '../../src/memory/store/index.js';
import type { FileMemory, Store } from '../../src/memory/store/index.js';
import { readMetas } from '../../src/memory/store/data-file.js';
import { PageFile, treeOf } from '../../src/memory/store/page-file.js';
import { putMark, removeMarks } from '../../src/memory/store/open-marks.js';
import { thisProcess } from '../../src/memory/store/process-identity.js';
import { encodeFormatRecord } from '../../src/memory/store/format-record.js';
import { keyOf, partOf, randomNumbers, sampleMemory, sampleRow } from './store-samples.js';

suite('store: on disk', () => {
  let folder: string;
  const lines: string[] = [];
  const log = (_: string, line: string): void => void lines.push(line);
  const opened: Store[] = [];
  const openHere = async (workspace = '/some/space'): Promise<Store> => {
    const store = await openStore(folder, { workspace, log });
    opened.push(store);
    return store;
  };

  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-store-'));
    lines.length = 0;
  });
  teardown(async () => {
    for (const store of opened.splice(0)) await store.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  /** Writes raw bytes into one database of the (closed) store, as only a fault would. */
  const tamper = async (name: string, key: string, bytes: Uint8Array): Promise<void> => {
    const root = open<Buffer, Uint8Array>({
      path: folder,
      noSubdir: false,
      maxDbs: 8,
      encoding: 'binary',
      keyEncoding: 'binary',
      overlappingSync: false,
    });
    root
      .openDB<Buffer, Uint8Array>({ name, encoding: 'binary', keyEncoding: 'binary' })
      .putSync(Buffer.from(key), Buffer.from(bytes));
    await root.close();
  };

  test('memories, rows and blobs survive closing', async () => {
    const memory = sampleMemory('src/a.ts', 'one');
    const row = sampleRow('src/a.ts', { parts: [partOf(memory)] });
    const first = await openHere();
    await first.batch(write => {
      write.putMemory(keyOf(memory), memory);
      write.putRow(row);
      write.putBlob('state', Buffer.from('slots'));
    });
    await first.dispose();

    const second = await openHere();
    assert.deepEqual(second.getMemory(keyOf(memory)), { ok: true, value: memory });
    assert.deepEqual(second.ledger.get('src/a.ts'), row);
    const blob = second.getBlob('state');
    assert.equal(blob?.ok === true && Buffer.from(blob.value).toString(), 'slots');
    assert.equal(second.getMemory('absent'), undefined);
    assert.equal(second.getBlob('absent'), undefined);
    assert.equal(second.ledger.get('absent'), undefined);
    assert.deepEqual(lines, []);
  });

  test('rows come in the order of their paths and go one by one', async () => {
    const store = await openHere();
    for (const path of ['b', 'a/z', 'ä', 'a', '🙂', 'x'.repeat(5000)]) await store.ledger.put(sampleRow(path));
    assert.deepEqual(
      store.ledger.all().map(row => row.path.slice(0, 3)),
      ['a', 'a/z', 'b', 'xxx', 'ä', '🙂'],
    );
    await store.ledger.delete('b');
    assert.equal(store.ledger.get('b'), undefined);
    assert.equal(store.ledger.get('x'.repeat(5000))?.path.length, 5000);
  });

  test('a batch that throws leaves nothing', async () => {
    const store = await openHere();
    const memory = sampleMemory('a', 'one');
    await assert.rejects(
      store.batch(write => {
        write.putRow(sampleRow('a'));
        write.putMemory(keyOf(sampleMemory('other', 'one')), memory);
      }),
      /Not the key of a/,
    );
    assert.deepEqual(store.ledger.all(), []);
    assert.deepEqual(store.listKeys(), []);
  });

  test('a value with a wrong bit is a reason, not a memory', async () => {
    const memory = sampleMemory('a', 'one');
    const other = sampleMemory('b', 'one');
    const store = await openHere();
    await store.putMemory(keyOf(memory), memory);
    await store.ledger.put(sampleRow('a'));
    await store.putBlob('state', Buffer.from('slots'));
    await store.dispose();
    await tamper('memories', keyOf(memory), Buffer.alloc(100, 7));
    await tamper('ledger', 'a', Buffer.alloc(100, 7));
    await tamper('blobs', 'state', Buffer.alloc(100, 7));

    const again = await openHere();
    assert.deepEqual(again.getMemory(keyOf(memory)), { ok: false, reason: 'not a value of this store' });
    assert.deepEqual(again.getBlob('state'), { ok: false, reason: 'not a value of this store' });
    assert.equal(again.ledger.get('a'), undefined);
    assert.deepEqual(again.ledger.all(), []);
    assert.deepEqual(lines[0], 'The ledger row of a is bad (not a value of this store); the file is read again.');
    await again.putMemory(keyOf(other), other);
    assert.deepEqual(again.getMemory(keyOf(other)), { ok: true, value: other });
  });

  test('another format is cleared, never misread', async () => {
    const store = await openHere();
    await store.ledger.put(sampleRow('a'));
    await store.dispose();
    await tamper('format', 'store', encodeFormatRecord({ format: 99, workspace: '/some/space' }));
    const again = await openHere();
    assert.deepEqual(again.ledger.all(), []);
    assert.deepEqual(lines, [`The store in ${folder} has format 99, not 1; it is built again.`]);
    await again.dispose();
    await tamper('format', 'store', Buffer.from('rubbish'));
    await openHere();
    assert.deepEqual(lines[1], `The store in ${folder} has no readable format; it is built again.`);
  });

  test('a file that is no store any more, or cut off, is kept aside; what is sound of it stays', async () => {
    const damages: [number, (file: string) => Promise<void>][] = [
      [0, file => writeFile(file, Buffer.alloc(100_000, 0x5a))],
      [0, file => writeFile(file, 'x')],
      [0, file => truncate(file, 4096)],
      // The last page is one of the free list.
      [50, async file => truncate(file, (await stat(file)).size - 4096)],
    ];
    for (const [rows, damage] of damages) {
      const store = await openHere();
      await store.batch(write => {
        for (let at = 0; at < 50; at++) write.putRow(sampleRow(`file ${at}`));
        const memory = sampleMemory('a', 'one', 4000);
        write.putMemory(keyOf(memory), memory);
      });
      await store.dispose();
      await damage(join(folder, 'data.mdb'));
      const broken = await readFile(join(folder, 'data.mdb'));
      lines.length = 0;

      const again = await openHere();
      assert.equal(again.ledger.all().length, rows);
      await again.ledger.put(sampleRow('a'));
      assert.equal(again.ledger.all().length, rows + 1);
      assert.match(lines[0] ?? '', /^The store in .* is damaged \(.+\); what is sound of it is kept\.$/);
      const lost = /is sound again with 0 file memories; the rest is read again, .* as damaged\.mdb\.$/;
      assert.match(lines[1] ?? '', rows === 0 ? lost : /is sound again with 1 file memories; nothing was lost\.$/);
      if (rows === 0) assert.deepEqual(await readFile(join(folder, 'damaged.mdb')), broken);
      else assert.equal((await readdir(folder)).includes('damaged.mdb'), false);
      await again.dispose();
      for (const name of await readdir(folder)) await rm(join(folder, name));
    }
  });

  test('an empty data file (killed while it was made) is a fresh store', async () => {
    await writeFile(join(folder, 'data.mdb'), '');
    const store = await openHere();
    assert.deepEqual(store.ledger.all(), []);
    assert.deepEqual(lines, []);
    assert.ok((await readdir(folder)).includes('data.mdb'));
  });

  test('a file that ends before the last page ever used is sound if those pages are free', async () => {
    const store = await openHere();
    await store.ledger.put(sampleRow('a'));
    // Pages are taken and given back in one transaction, so they are never written.
    await store.batch(write => {
      for (let at = 0; at < 20; at++) write.putBlob(`blob ${at}`, new Uint8Array(300_000));
      for (let at = 0; at < 20; at++) write.deleteBlob(`blob ${at}`);
    });
    await store.dispose();
    const again = await openHere();
    assert.equal(again.ledger.all().length, 1);
    assert.deepEqual(lines, []);
  });

  test('after a crash, broken pages are found before LMDB maps them', async () => {
    // No process has this number: Linux ends at 4,194,304, and others end earlier.
    const mark = JSON.stringify({ ...thisProcess(), pid: 4_194_305, started: '' });
    const random = randomNumbers(5);
    let found = 0;
    for (let round = 0; round < 20; round++) {
      const store = await openHere();
      await store.batch(write => {
        for (let at = 0; at < 100; at++) write.putRow(sampleRow(`file ${at}`));
        for (let at = 0; at < 5; at++) {
          const memory = sampleMemory(`m${at}`, 'one', 1000);
          write.putMemory(keyOf(memory), memory);
        }
      });
      await store.dispose();
      assert.deepEqual(await readdir(folder).then(names => names.filter(name => name.startsWith('open-'))), []);
      const data = await readFile(join(folder, 'data.mdb'));
      const page = 2 + Math.floor(random() * (data.byteLength / 4096 - 2));
      for (let at = 0; at < 4096; at++) data[page * 4096 + at] = Math.floor(random() * 256);
      await writeFile(join(folder, 'data.mdb'), data);
      await writeFile(join(folder, 'open-left'), mark);
      lines.length = 0;

      // Free pages and insides of values may be anything: then nothing is found, and checksums tell.
      const again = await openHere();
      again.ledger.all();
      for (const { key } of again.listKeys()) again.getMemory(key);
      await again.ledger.put(sampleRow('after'));
      if (lines.some(line => line.includes('is damaged'))) found++;
      await again.dispose();
      await rm(folder, { recursive: true });
    }
    assert.ok(found >= 4, `found ${found} of 20`);
  }).timeout(20_000);

  test('a page that breaks while the store is open: one call fails, the store is built anew behind it', async () => {
    const store = await openHere();
    const memory = sampleMemory('m', 'one');
    await store.putMemory(keyOf(memory), memory);
    await store.ledger.put(sampleRow('a'));
    const data = join(folder, 'data.mdb');
    const { pageSize, newest } = readMetas(data)!;
    const pages = PageFile.open(data, pageSize!);
    const main = pages.page(newest!.main.root);
    pages.close();
    assert.ok(typeof main !== 'string' && main.kind === 'leaf');
    const ledger = treeOf(main.entries.find(entry => entry.key.toString('latin1').startsWith('ledger'))!)!;
    const file = await openFile(data, 'r+');
    // The flags of the ledger's only page: neither branch nor leaf.
    await file.write(Buffer.from([8, 0]), 0, 2, ledger.root * pageSize! + 18);
    await file.close();

    assert.throws(() => store.ledger.all(), {
      code: 'locked',
      message: `The store in ${folder} is being checked after a failure. Try again.`,
    });
    await store.ledger.put(sampleRow('b'));
    assert.deepEqual(
      store.ledger.all().map(row => row.path),
      ['b'],
    );
    assert.deepEqual(store.getMemory(keyOf(memory)), { ok: true, value: memory });
    assert.match(lines[0] ?? '', /failed \(MDB_CORRUPTED: .*\); it is checked\.$/);
    assert.match(lines[2] ?? '', /is sound again with 1 file memories; the rest is read again/);
    assert.ok(!(await readdir(folder)).includes('damaged'));
  });

  test('garbage: what a row needs stays, then the newest bytes', async () => {
    let now = 1000;
    const store = await openStore(folder, { workspace: '/w', log, now: () => now });
    opened.push(store);
    const memories = ['one', 'two', 'three', 'four'].map(content => sampleMemory('a', content));
    for (const memory of memories) {
      now++;
      await store.putMemory(keyOf(memory), memory);
    }
    await store.ledger.put(sampleRow('a', { parts: [partOf(memories[0]!)] }));
    const bytes = store.listKeys().map(memory => memory.bytes);
    assert.equal(new Set(bytes).size >= 1, true);
    const most = Math.max(...bytes);
    assert.deepEqual((await store.collectGarbage({ keepBytes: most })).memories, 2);
    // "one" is the oldest but a row needs it; "four" is the newest and fits.
    assert.deepEqual(
      store
        .listKeys()
        .map(memory => [memory.key, memory.writtenAt])
        .sort(),
      [
        [keyOf(memories[0]!), 1001],
        [keyOf(memories[3]!), 1004],
      ].sort(),
    );
    assert.equal((await store.collectGarbage({ keepBytes: 0, keep: new Set([keyOf(memories[3]!)]) })).memories, 0);
    assert.equal((await store.collectGarbage({ keepBytes: 0 })).memories, 1);
    assert.equal(store.hasMemory(keyOf(memories[3]!)), false);
    assert.equal(store.hasMemory(keyOf(memories[0]!)), true);
  });

  test('forgetting a file or a folder takes its row and all its memories', async () => {
    const store = await openHere();
    const memories = [
      sampleMemory('d/a', 'one'),
      sampleMemory('d/a', 'two'),
      sampleMemory('d/b', 'one'),
      sampleMemory('d2', 'one'),
    ];
    await store.batch(write => {
      for (const memory of memories) {
        write.putMemory(keyOf(memory), memory);
        write.putMemory(keyOf(memory, 'other model'), memory);
        write.putRow(sampleRow(memory.path));
      }
    });
    assert.deepEqual(await store.forget('d/a'), { rows: 1, memories: 4 });
    assert.deepEqual(
      store.ledger.all().map(row => row.path),
      ['d/b', 'd2'],
    );
    assert.deepEqual(await store.forget('d/'), { rows: 1, memories: 2 });
    assert.deepEqual([...new Set(store.listKeys().map(memory => memory.path))], ['d2']);
    assert.deepEqual(await store.forget('absent'), { rows: 0, memories: 0 });
  });

  /** How many traces of memories the files of the store have. */
  async function tracesOf(memories: readonly FileMemory[]): Promise<number> {
    const traces = memories.flatMap(memory => [
      // With the byte after it: "file 3" is also the beginning of "file 31", which stays.
      `${memory.path}"`,
      keyOf(memory).slice(0, 32),
      Buffer.from(memory.gist.keys.buffer).subarray(0, 24),
      Buffer.from(memory.recall.keys.buffer).subarray(0, 24),
    ]);
    let count = 0;
    for (const name of await readdir(folder)) {
      const bytes = await readFile(join(folder, name));
      for (const trace of traces) if (bytes.includes(trace)) count++;
    }
    return count;
  }

  test('after forgetting and compacting no byte of a file is left', async () => {
    const store = await openHere();
    const memories = Array.from({ length: 30 }, (_, at) => sampleMemory(`folder/file ${at}`, 'one', 3000));
    const gone = memories.filter((_, at) => at % 3 === 0);
    for (const memory of memories) {
      await store.batch(write => {
        write.putMemory(keyOf(memory), memory);
        write.putRow(sampleRow(memory.path, { parts: [partOf(memory)] }));
      });
    }
    for (const memory of gone) await store.forget(memory.path);
    await store.putBlob('state', Buffer.from('slots'));
    assert.equal(await compactStore(folder), 'in use');
    await store.dispose();
    assert.ok((await tracesOf(gone)) > 0, 'before it they are there');
    const before = (await stat(join(folder, 'data.mdb'))).size;

    assert.equal(await compactStore(folder), 'compacted');
    assert.equal(await tracesOf(gone), 0);
    assert.ok((await stat(join(folder, 'data.mdb'))).size < 0.8 * before);
    assert.deepEqual(await readdir(folder), ['data.mdb']);
    const again = await openHere();
    const kept = memories.filter(memory => !gone.includes(memory));
    for (const memory of kept) assert.deepEqual(again.getMemory(keyOf(memory)), { ok: true, value: memory });
    assert.equal(again.ledger.all().length, kept.length);
    assert.equal(again.listKeys().length, kept.length);
    assert.equal(again.getBlob('state')?.ok, true);
    assert.deepEqual(lines, []);
  });

  test('what was forgotten while others had the store open goes when it is opened next', async () => {
    const [store, other] = [await openHere(), await openHere()];
    const memory = sampleMemory('secret', 'one', 3000);
    await store.batch(write => write.putMemory(keyOf(memory), memory));
    await store.forget(memory.path);
    await store.dispose();
    const beside = await openHere();
    assert.ok((await tracesOf([memory])) > 0, 'not while another has it open');
    await beside.dispose();
    await other.dispose();
    assert.ok((await tracesOf([memory])) > 0, 'closing a store alone does not compact it');
    const next = await openHere();
    assert.equal(await tracesOf([memory]), 0);
    await next.dispose();
    assert.deepEqual(await readdir(folder), ['data.mdb', 'lock.mdb']);
  });

  test('opening waits for a compaction', async () => {
    const mark = await putMark(folder, 'alone');
    let isOpen = false;
    const opening = openHere().then(() => (isOpen = true));
    await sleep(150);
    assert.equal(isOpen, false);
    assert.equal(await compactStore(folder), 'in use');
    await removeMarks([mark.path]);
    await opening;
    assert.equal(isOpen, true);
  });

  test('a closed store says so', async () => {
    const store = await openHere();
    await store.dispose();
    await store.dispose();
    assert.throws(() => store.ledger.all(), { code: 'internal', message: `The store in ${folder} is closed.` });
    await assert.rejects(store.ledger.put(sampleRow('a')), { code: 'internal' });
  });
});
