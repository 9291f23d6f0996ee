/**
 * All rows of the ledger, which a store keeps as it decoded them last: after every write of its own or of another that has the
 * same folder open, they are what is on the disk, in the order of the paths' bytes.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openStore, type LedgerRow, type Store } from '../../src/memory/store/index.js';
import { sampleRow } from './store-samples.js';

/** `￿` comes before `𐀀` in UTF-8, and behind it by JavaScript's units. */
const PATHS = ['a', 'b/c', 'b.c', 'z', '￿', '𐀀', ...Array.from({ length: 600 }, (_, at) => `many/${at}`)];
const inOrder = (paths: Iterable<string>): string[] =>
  [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

const operation = fc.record({
  by: fc.constantFrom('one', 'other'),
  kind: fc.constantFrom(
    ...(['put', 'put', 'delete', 'forget', 'blob', 'nothing', 'lease'] as const),
    ...(['fails', 'prepare', 'prepare beside a write'] as const),
  ),
  at: fc.integer({ min: 0, max: 7 }),
  size: fc.integer({ min: 1, max: 9 }),
  /** Who looks after it: what nobody has looked at for some writes has to be noticed, too. */
  looks: fc.subarray(['one', 'other'] as const),
});

suite('rows of the ledger', function () {
  this.timeout(120_000);
  let folder: string;
  let stores: Record<'one' | 'other', Store>;
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-rows-'));
    const open = (): Promise<Store> => openStore(folder, { workspace: '/w' });
    stores = { one: await open(), other: await open() };
  });
  teardown(async () => {
    for (const store of Object.values(stores)) await store.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  test('are what was written, whoever wrote it', async () => {
    const expected = new Map<string, LedgerRow>();
    const put = async (store: Store, paths: readonly string[], size: number): Promise<void> => {
      const rows = paths.map(path => ({ ...sampleRow(path), size }));
      await store.batch(write => rows.forEach(row => write.putRow(row)));
      for (const row of rows) expected.set(row.path, row);
    };
    await put(stores.one, PATHS.slice(6), 1);
    const run = fc.asyncProperty(fc.array(operation, { maxLength: 20 }), async operations => {
      for (const { by, kind, at, size, looks } of operations) {
        const store = stores[by];
        const path = PATHS[at]!;
        if (kind === 'put') await put(store, [path], size);
        else if (kind === 'blob') await store.putBlob('blob', new Uint8Array(size));
        else if (kind === 'nothing') await store.batch(() => undefined);
        else if (kind === 'lease') {
          // Taken by one, refused to the other where that tries meanwhile, and given back.
          const lease = await store.tryBecomeReader();
          if (!('heldBy' in lease)) await lease.dispose();
        } else if (kind === 'prepare') await store.ledger.prepare();
        else if (kind === 'prepare beside a write') {
          const preparing = store.ledger.prepare();
          await put(stores.other, [path], size);
          await preparing;
        } else if (kind === 'fails') {
          const failing = store.batch(write => {
            write.putRow({ ...sampleRow(path), size });
            assert.equal(store.ledger.all().find(row => row.path === path)?.size, size, 'inside the transaction');
            throw new RangeError('on purpose');
          });
          await assert.rejects(failing, RangeError);
        } else {
          await (kind === 'delete' ? store.ledger.delete(path) : store.forget(path));
          expected.delete(path);
        }
        for (const name of looks) {
          const rows = inOrder(expected.keys()).map(path => expected.get(path));
          assert.deepEqual(stores[name].ledger.all(), rows, `${name} after ${kind} by ${by}`);
        }
      }
    });
    await fc.assert(run, { seed: 20261130, numRuns: 60 });
  });
});
