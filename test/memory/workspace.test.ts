/** The memory of a folder over time: what is read, kept, read again, dropped and forgotten. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import type { Progress } from '../../src/base/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const files = {
  'a.py': 'def send_request(url):\n    return connect(url).send()\n\n\ndef close():\n    pass\n',
  'b.py': 'class Retry:\n    def wait(self):\n        sleep(self.backoff)\n',
  'docs/guide.md': '# Guide\n\nHow to install the package.\n',
};

suite('workspace memory', () => {
  let folder: Folder;
  let engine: FakeEngine;
  setup(async () => {
    folder = await Folder.of(files);
    engine = new FakeEngine();
  });
  teardown(() => folder.dispose());

  test('reads every file once, and nothing at the second refresh or after a restart', async () => {
    const memory = await folder.memory(engine);
    const first = await memory.refresh();
    assert.equal(first.filesRead, 3);
    assert.deepEqual([...engine.reads].sort(), ['a.py', 'b.py', 'docs/guide.md']);
    assert.deepEqual(memory.coverage(), { total: 3, read: 3, stale: 0, waiting: 0, coarse: 0, skipped: 0 });
    const second = await memory.refresh();
    assert.deepEqual([second.filesRead, second.tokensRead], [0, 0]);
    const again = new FakeEngine();
    const reopened = await folder.memory(again);
    assert.equal((await reopened.refresh()).filesRead, 0);
    assert.deepEqual(again.reads, []);
    assert.equal(again.compositions.length, 0, 'the workspace state is loaded, not composed');
  });

  test('reads only the edited file, and composes again', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    engine.reads.length = 0;
    await folder.write('b.py', 'class Retry:\n    attempts = 3\n');
    assert.equal((await memory.scan()).stale, 1);
    assert.deepEqual(engine.reads, []);
    const report = await memory.refresh();
    assert.deepEqual([report.filesRead, engine.reads], [1, ['b.py']]);
    assert.equal(engine.compositions.length, 2);
    assert.equal(memory.coverage().read, 3);
  });

  test('a touched file with the same bytes is not read; its row gets the new time', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    engine.reads.length = 0;
    await folder.touch('a.py');
    assert.equal((await memory.refresh()).filesRead, 0);
    assert.deepEqual(engine.reads, []);
    assert.equal(engine.compositions.length, 1);
    assert.equal((await memory.scan()).read, 3);
  });

  test('content that comes back, as after a change of branch, is looked up', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    await folder.write('a.py', 'other = 1\n');
    await memory.refresh();
    engine.reads.length = 0;
    await folder.write('a.py', files['a.py']);
    const report = await memory.refresh();
    assert.deepEqual([report.filesRead, engine.reads], [0, []]);
    assert.equal(memory.coverage().read, 3);
  });

  test('a deleted file leaves ledger, recall and state', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.equal((await memory.recall('backoff retry', { limit: 1 }))[0]?.path, 'b.py');
    await folder.remove('b.py');
    const report = await memory.refresh();
    assert.equal(report.filesForgotten, 1);
    assert.deepEqual(
      memory.files().map(file => file.path),
      ['a.py', 'docs/guide.md'],
    );
    assert.equal(memory.hashOf('b.py'), undefined);
    const spans = await memory.recall('backoff retry', { limit: 5 });
    assert.ok(spans.every(span => span.path !== 'b.py'));
    assert.equal(engine.recall.size, 2);
    assert.equal(engine.compositions.at(-1)?.length, 2);
  });

  test('the composed state does not depend on the way there', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    const [id] = await memory.states([]);
    const before = engine.states.get(id!);
    await folder.write('c.py', 'print("hello")\n');
    await memory.refresh();
    await folder.remove('c.py');
    await memory.refresh();
    const [after] = await memory.states([]);
    assert.equal(after, id);
    assert.deepEqual(engine.states.get(after!), before);
    assert.equal([...engine.states.keys()].filter(key => key.startsWith('workspace:')).length, 1);
  });

  test('forgetting leaves what a folder without the file would have, and nothing of the file in the store', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    await memory.forget('b.py');
    assert.deepEqual(memory.file('b.py'), { path: 'b.py', state: 'skipped', reason: 'forgotten', tokens: 0 });
    const store = await folder.store();
    assert.ok(store.listKeys().every(stored => stored.path !== 'b.py'));
    const [id] = await memory.states([]);
    const forgotten = engine.states.get(id!);

    const other = await Folder.of({ 'a.py': files['a.py'], 'docs/guide.md': files['docs/guide.md'] });
    try {
      const never = new FakeEngine();
      const fresh = await other.memory(never);
      await fresh.refresh();
      const [otherId] = await fresh.states([]);
      assert.equal(otherId, id);
      assert.deepEqual(never.states.get(otherId!), forgotten);
    } finally {
      await other.dispose();
    }
    await assert.rejects(memory.forget('b.py'), (error: unknown) => (error as LongviewError).code === 'not-found');
  });

  test('when a memory that forgot is closed, the file of the store holds nothing of the file', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    const { path } = memory.status().store;
    const held = async (): Promise<boolean> => (await readFile(join(path, 'data.mdb'))).includes('docs/guide.md');
    assert.equal(await held(), true);
    // Of a file that is there, the ledger goes on to say that it is.
    await folder.remove('docs/guide.md');
    await memory.forget('docs/guide.md');
    await memory.dispose();
    assert.equal(await held(), false);
  });

  test('a forgotten file stays forgotten until it changes or is asked for', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    engine.reads.length = 0;
    await memory.forget('b.py');
    const left = { total: 3, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 1 };
    assert.deepEqual(memory.coverage(), left);
    await memory.scan();
    await memory.lookAt(['']);
    await memory.lookAt(['b.py']);
    await memory.refresh();
    await memory.refresh({ walk: false });
    assert.deepEqual([memory.coverage(), engine.reads], [left, []]);

    await memory.refresh({ forgotten: true });
    assert.deepEqual([memory.coverage().read, engine.reads], [3, ['b.py']]);

    await memory.forget('b.py');
    await folder.touch('b.py');
    assert.deepEqual(await memory.lookAt(['b.py']), { changes: 1, waiting: 1 });
    await memory.refresh({ walk: false });
    assert.deepEqual([memory.coverage().read, engine.reads], [3, ['b.py', 'b.py']]);
  });

  test('a folder is forgotten with all that lies in it; a file that is gone leaves no row', async () => {
    await folder.write('docs/more.md', 'more of it\n');
    const memory = await folder.memory(engine);
    await memory.refresh();
    await folder.remove('docs/more.md');
    await memory.forget('docs');
    assert.deepEqual(
      memory.files().map(({ path, state }) => [path, state]),
      [
        ['a.py', 'read'],
        ['b.py', 'read'],
        ['docs/guide.md', 'skipped'],
      ],
    );
    await assert.rejects(memory.forget('docs'), { code: 'not-found' });
  });

  test('ledger, status and forgetting never start the engine', async () => {
    await (await folder.memory(engine)).refresh();
    const memory = await folder.memory(() => Promise.reject(new Error('must not start')));
    await memory.scan();
    const status = memory.status();
    assert.equal(status.coverage.read, 3);
    assert.ok(status.tokens > 0 && status.state.slots > 0 && status.recall.bytes > 0 && status.store.bytes > 0);
    await memory.forget('docs');
    assert.equal(memory.status().state.slots, 0, 'the state holds the file, so it is gone until it is composed again');
    await memory.forgetAll();
    assert.deepEqual(memory.files(), []);
    assert.deepEqual((await folder.store()).listKeys(), []);
  });

  test('a damaged memory is read again', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    await memory.dispose();
    const store = await folder.store();
    const key = store.ledger.get('a.py')!.parts![0]!.key;
    damage(store, key);
    const again = new FakeEngine();
    const reopened = await folder.memory(again);
    const report = await reopened.refresh();
    assert.deepEqual([report.filesRead, again.reads], [1, ['a.py']]);
    assert.equal(store.getMemory(key)?.ok, true);
    assert.equal(reopened.coverage().read, 3);
  });

  test('a memory that is missing from the store is read again', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    const store = await folder.store();
    await store.deleteMemory(store.ledger.get('b.py')!.parts![0]!.key);
    engine.reads.length = 0;
    await memory.refresh();
    assert.deepEqual(engine.reads, ['b.py']);
  });

  test('cancelling keeps what was read; the next run reads the rest', async () => {
    const memory = await folder.memory(engine);
    const stop = new AbortController();
    engine.beforeRead = () => {
      if (engine.reads.length === 2) stop.abort();
    };
    await assert.rejects(
      memory.refresh({ signal: stop.signal }),
      (error: unknown) => (error as LongviewError).code === 'cancelled',
    );
    assert.deepEqual([memory.coverage().read, memory.coverage().waiting], [2, 1]);
    const before = engine.reads.length;
    await memory.refresh();
    assert.equal(engine.reads.length - before, 1);
    assert.equal(memory.coverage().read, 3);
  });

  test('while it reads, what is read already can be looked at and recalled', async () => {
    const memory = await folder.memory(engine);
    let goOn = (): void => undefined;
    let onSecond = (): void => undefined;
    const second = new Promise<void>(resolve => (onSecond = resolve));
    engine.beforeRead = async () => {
      if (engine.reads.length !== 1) return;
      onSecond();
      await new Promise<void>(resolve => (goOn = resolve));
    };
    assert.equal(memory.isReading, false);
    const reading = memory.refresh();
    assert.equal(memory.isReading, true);
    await second;
    const coverage = await memory.scan();
    assert.deepEqual([coverage.total, coverage.read, coverage.waiting], [3, 1, 2]);
    const [first] = engine.reads;
    const spans = await memory.recall('What is here?', { limit: 5 });
    assert.deepEqual([...new Set(spans.map(span => span.path))], [first]);
    goOn();
    assert.equal((await reading).filesRead, 3);
    assert.equal(memory.isReading, false);
  });

  test('a file that makes the engine fail twice is skipped with the reason, and left alone until it changes', async () => {
    const memory = await folder.memory(engine);
    let failures = 0;
    engine.beforeRead = label => {
      if (label !== 'b.py') return;
      failures++;
      throw new LongviewError('engine-crashed', 'The engine stopped.');
    };
    const report = await memory.refresh();
    assert.deepEqual([report.filesRead, report.filesFailed, failures], [2, 1, 2]);
    const row = memory.files().find(file => file.path === 'b.py');
    assert.deepEqual([row?.state, row?.reason], ['skipped', 'not readable by the model']);
    engine.beforeRead = () => undefined;
    assert.equal((await memory.refresh()).filesRead, 0);
    await folder.touch('b.py');
    assert.equal((await memory.refresh()).filesRead, 1);
  });

  test('a crash of the engine costs no file', async () => {
    const memory = await folder.memory(engine);
    let crashed = false;
    engine.beforeRead = () => {
      if (crashed) return;
      crashed = true;
      throw new LongviewError('engine-crashed', 'The engine stopped.');
    };
    const report = await memory.refresh();
    assert.deepEqual([report.filesRead, report.filesFailed], [3, 0]);
  });

  test('a failure that the next file would share ends the run, and what was read stays', async () => {
    const memory = await folder.memory(engine);
    engine.beforeRead = () => {
      if (engine.reads.length === 1) throw new LongviewError('not-found', 'The model is gone.');
    };
    await assert.rejects(memory.refresh(), { code: 'not-found' });
    assert.deepEqual([memory.coverage().read, memory.coverage().waiting], [1, 2]);
  });

  test('white space alone is skipped as empty', async () => {
    await folder.write('blank.py', '\n  \n');
    const memory = await folder.memory(engine);
    assert.equal((await memory.refresh()).filesFailed, 0);
    assert.equal(memory.files().find(file => file.path === 'blank.py')?.reason, 'empty');
  });

  test('a file that changes while it is read is stale, and read at the next run', async () => {
    const memory = await folder.memory(engine);
    engine.beforeRead = async label => {
      if (label === 'a.py') await folder.write('a.py', 'changed = True\n');
    };
    await memory.refresh();
    assert.equal(memory.files().find(file => file.path === 'a.py')?.state, 'stale');
    engine.beforeRead = () => undefined;
    engine.reads.length = 0;
    await memory.refresh();
    assert.deepEqual(engine.reads, ['a.py']);
    assert.equal(memory.coverage().read, 3);
  });

  test('another model reads everything itself', async () => {
    await (await folder.memory(engine)).refresh();
    const other = new FakeEngine('fake-2');
    assert.equal((await (await folder.memory(other)).refresh()).filesRead, 3);
  });

  test('only one process reads: the other waits and then finds everything read', async () => {
    const first = await folder.memory(engine);
    const second = new FakeEngine();
    const waiting = await folder.memory(second);
    let release = (): void => undefined;
    const held = new Promise<void>(resolve => (release = resolve));
    let begun = (): void => undefined;
    const started = new Promise<void>(resolve => (begun = resolve));
    engine.beforeRead = () => {
      begun();
      return held;
    };
    const reading = first.refresh();
    await started;
    const tasks: string[] = [];
    const onProgress = ({ task }: Progress): void => void tasks.push(task);
    const other = waiting.refresh({ onProgress });
    while (!tasks.includes('Another Longview is reading this folder')) await new Promise(r => setTimeout(r, 5));
    release();
    await reading;
    assert.equal((await other).filesRead, 0);
    assert.deepEqual(second.reads, []);
  });

  test('progress is in tokens and ends at its total', async () => {
    const memory = await folder.memory(engine);
    const reports: Progress[] = [];
    await memory.refresh({ onProgress: progress => void reports.push(progress) });
    const reading = reports.filter(report => report.task === 'Reading');
    assert.ok(reading.every(report => report.unit === 'tokens' && report.done <= (report.total ?? 0)));
    assert.equal(reading.at(-1)?.done, reading.at(-1)?.total);
  });
});

/** Overwrites a stored value with bytes that no checksum covers. */
function damage(store: object, key: string): void {
  const { memories } = (
    store as {
      live: {
        now: { memories: { getBinary(key: Uint8Array): Buffer; putSync(key: Uint8Array, value: Buffer): void } };
      };
    }
  ).live.now;
  const value = Buffer.from(memories.getBinary(Buffer.from(key)));
  value[value.length >> 1]! ^= 1;
  memories.putSync(Buffer.from(key), value);
}
