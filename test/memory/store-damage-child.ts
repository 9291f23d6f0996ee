/**
 * A process of its own for the tests of damage, for a broken page may end it: `node store-damage-child.js FOLDER SEED CASES`.
 * Damages copies of one store and prints a line for each case: what was done to it, or in JSON what went wrong.
 */
import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore } from '../../src/memory/store/index.js';
import type { FileMemory, LedgerRow, Store } from '../../src/memory/store/index.js';
import { readMetas } from '../../src/memory/store/data-file.js';
import { NO_PAGE, PageFile, treeOf } from '../../src/memory/store/page-file.js';
import { keyOf, randomNumbers, sampleMemory, sampleRow } from './store-samples.js';

const PAGE = 4096;
const [folder = '', seed = '1', cases = '1'] = process.argv.slice(2);
const random = randomNumbers(Number(seed));
const below = (end: number): number => Math.floor(random() * end);
const say = (value: unknown): void => void writeSync(1, `${JSON.stringify(value)}\n`);

const memories = new Map<string, FileMemory>();
const rows = new Map<string, LedgerRow>();
const blobs = new Map<string, Uint8Array>([
  ['state', new Uint8Array(30_000).fill(7)],
  ['summary mark', Buffer.from('marked')],
]);
for (let at = 0; at < 80; at++) {
  const memory = sampleMemory(`folder ${at % 7}/file ${at}`, `content ${at}`, 10 + ((at * 37) % 400));
  memories.set(keyOf(memory), memory);
  rows.set(memory.path, sampleRow(memory.path, { contentHash: memory.contentHash }));
}
const forgotten = sampleMemory('secret', 'forgotten', 50);

/** What lies on which pages. */
interface Layout {
  /** Pages of each entry: its leaf and its value's. */
  readonly entries: ReadonlyMap<string, readonly number[]>;
  /** Pages that lead to leaves of the named trees. */
  readonly ways: ReadonlySet<number>;
  readonly freeList: ReadonlySet<number>;
}

const pristine = await makeStore();
const layout = await layoutOf(pristine);
for (let at = 0; at < Number(cases); at++) {
  const { bytes, touched, what } = damaged(pristine);
  try {
    await check(join(folder, `${at}`), bytes, touched);
    say(what);
  } catch (error) {
    say({ at, what, error: (error as Error).stack });
  }
}

/** A store with a history: free pages, and remains of what was forgotten in them. */
async function makeStore(): Promise<Buffer> {
  const path = join(folder, 'pristine');
  const store = await openStore(path, { workspace: '/w' });
  await store.batch(write => {
    write.putMemory(keyOf(forgotten), forgotten);
    write.putRow(sampleRow(forgotten.path));
    for (let at = 0; at < 40; at++) write.putRow(sampleRow(`gone ${at}`));
  });
  for (const part of [0, 1, 2, 3]) await putAll(store, part, 4);
  await store.forget(forgotten.path);
  await store.batch(write => {
    for (let at = 0; at < 40; at++) write.deleteRow(`gone ${at}`);
  });
  await store.dispose();
  return readFile(join(path, 'data.mdb'));
}

async function putAll(store: Store, part = 0, parts = 1): Promise<void> {
  const mine = <T>(values: Iterable<T>): T[] => [...values].filter((_, at) => at % parts === part);
  await store.batch(write => {
    for (const [key, memory] of mine(memories)) write.putMemory(key, memory);
    for (const row of mine(rows.values())) write.putRow(row);
    for (const [name, value] of mine(blobs)) write.putBlob(name, value);
  });
}

async function layoutOf(bytes: Buffer): Promise<Layout> {
  const path = join(folder, 'layout');
  await writeFile(path, bytes);
  const meta = readMetas(path)!.newest!;
  const file = PageFile.open(path, PAGE);
  const entries = new Map<string, number[]>();
  const [ways, freeList] = [new Set<number>(), new Set<number>()];
  const follow = (root: number, name: string): void => {
    if (root === NO_PAGE) return;
    const page = file.page(root);
    if (typeof page === 'string') throw new Error(page);
    const isWay = page.kind === 'branch' || name === 'main';
    if (name === 'free') freeList.add(root);
    else if (isWay) ways.add(root);
    for (const entry of page.entries) {
      if ('child' in entry) follow(entry.child, name);
      else if (name === 'main') follow(treeOf(entry)!.root, entry.key.toString('latin1').replace('\0', ''));
      else {
        const pages = entry.elsewhere === undefined ? 0 : file.overflowPages(entry);
        const elsewhere = Array.from({ length: pages }, (_, at) => entry.elsewhere! + at);
        if (name === 'free') elsewhere.forEach(number => freeList.add(number));
        else entries.set(`${name} ${entry.key.toString('utf8')}`, [root, ...elsewhere]);
      }
    }
  };
  follow(meta.main.root, 'main');
  follow(meta.free.root, 'free');
  file.close();
  return { entries, ways, freeList };
}

function damaged(original: Buffer): { bytes: Buffer; touched: Set<number>; what: string } {
  const pages = original.byteLength / PAGE;
  const touched = new Set<number>();
  let bytes = Buffer.from(original);
  const kind = ['bits', 'page', 'pages', 'end', 'head'][below(5)]!;
  const some = 1 + below(kind === 'page' ? 1 : 8);
  if (kind === 'end') {
    bytes = bytes.subarray(0, below(bytes.byteLength + 1));
    for (let page = Math.floor(bytes.byteLength / PAGE); page < pages; page++) touched.add(page);
  }
  for (let at = 0; at < some && kind !== 'end'; at++) {
    // Half of the hits are on the pages that hold the rest together.
    const way = [0, 1, ...layout.ways, ...layout.freeList];
    const page = random() < 0.5 ? below(pages) : way[below(way.length)]!;
    touched.add(page);
    const place = bytes.subarray(page * PAGE, (page + 1) * PAGE);
    if (kind === 'bits') place[below(PAGE)]! ^= 1 << below(8);
    else if (kind === 'head') place[below(200)]! ^= 1 << below(8);
    else {
      const other = below(pages) * PAGE;
      const fills = [() => place.fill(0), () => original.copy(place, 0, other, other + PAGE)];
      const fill = fills[below(3)] ?? (() => place.forEach((_, byte) => (place[byte] = below(256))));
      fill();
    }
  }
  return { bytes, touched, what: `${kind} ${[...touched].slice(0, 9).join(' ')}` };
}

async function check(path: string, bytes: Buffer, touched: ReadonlySet<number>): Promise<void> {
  await mkdir(path, { recursive: true });
  await writeFile(join(path, 'data.mdb'), bytes);
  const lines: string[] = [];
  const open = (): Promise<Store> => openStore(path, { workspace: '/w', log: (_, line) => lines.push(line) });

  const store = await open();
  const lost = lostOf(store);
  const holdsTogether = ![...layout.freeList, 0, 1].some(page => touched.has(page));
  if (touched.size === 1 || holdsTogether || ![...layout.ways].some(page => touched.has(page))) {
    const untouched = lost.filter(entry => !layout.entries.get(entry)!.some(page => touched.has(page)));
    assert.deepEqual(untouched, [], 'entries on untouched pages');
  }
  await putAll(store);
  await store.collectGarbage({ keepBytes: 0, keep: new Set(memories.keys()) });
  assertWhole(store);
  await store.dispose();

  const before = lines.length;
  const again = await open();
  assertWhole(again);
  await again.dispose();
  assert.deepEqual(lines.slice(before), [], 'sound again');
  assert.ok((await readdir(path)).every(name => ['data.mdb', 'lock.mdb', 'damaged.mdb'].includes(name)));
  await rm(path, { recursive: true });
}

/** Entries that are gone. What is there must be what it was. */
function lostOf(store: Store): string[] {
  const lost: string[] = [];
  for (const [key, memory] of memories) {
    const found = store.getMemory(key);
    if (found?.ok) assert.deepEqual(found.value, memory);
    else lost.push(`memories ${key}`);
  }
  for (const [path, row] of rows) {
    const found = store.ledger.get(path);
    if (found) assert.deepEqual(found, row);
    else lost.push(`ledger ${path}`);
  }
  for (const row of store.ledger.all()) assert.deepEqual(row, rows.get(row.path));
  for (const [name, value] of blobs) {
    const found = store.getBlob(name);
    if (found?.ok) assert.ok(Buffer.from(value).equals(found.value));
    else lost.push(`blobs ${name}`);
  }
  assert.equal(store.getMemory(keyOf(forgotten))?.ok ?? false, false, 'what was forgotten stays forgotten');
  return lost;
}

function assertWhole(store: Store): void {
  assert.deepEqual(lostOf(store), []);
  assert.equal(store.ledger.all().length, rows.size);
  assert.deepEqual(new Set(store.listKeys().map(({ key }) => key)), new Set(memories.keys()));
  for (const { key, path } of store.listKeys()) assert.equal(path, memories.get(key)!.path);
}
