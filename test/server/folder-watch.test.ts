/** When changes of files are looked at, on a clock of this test: quiet, storms, a look that runs, another process, the end. */
import assert from 'node:assert/strict';
import type { ChangeReport } from '../../src/memory/index.js';
import { ChangedPaths, MOST_CHANGED_PATHS } from '../../src/server/changed-paths.js';
import { FolderWatch, type Clock } from '../../src/server/folder-watch.js';

/** Time that passes when the test says so. */
class TestClock implements Clock {
  private time = 0;
  private waiting: { readonly at: number; readonly call: () => void }[] = [];
  readonly now = (): number => this.time;

  readonly after = (ms: number, call: () => void): (() => void) => {
    const timer = { at: this.time + ms, call };
    this.waiting.push(timer);
    return () => (this.waiting = this.waiting.filter(other => other !== timer));
  };

  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const next = this.waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.waiting = this.waiting.filter(other => other !== next);
      this.time = next.at;
      next.call();
      await settled();
    }
    this.time = end;
  }
}

const settled = (): Promise<void> => new Promise(done => setImmediate(done));
const nothing: ChangeReport = { changes: 0, waiting: 0 };
const times = { quiet: 1000, most: 10_000, retry: 5000 };

suite('folder watch', () => {
  let clock: TestClock;
  let looks: (readonly string[])[];
  setup(() => {
    clock = new TestClock();
    looks = [];
  });
  const watchOf = (
    look: (signal: AbortSignal) => Promise<ChangeReport | undefined> = () => Promise.resolve(nothing),
    onLooked: (report: ChangeReport) => void = () => undefined,
  ): FolderWatch =>
    new FolderWatch({
      look: (paths, signal) => {
        looks.push(paths);
        return look(signal);
      },
      onLooked,
      log: () => undefined,
      times,
      clock,
    });

  test('one look at what changed, once it was quiet for a second', async () => {
    const reports: ChangeReport[] = [];
    const watch = watchOf(
      () => Promise.resolve({ changes: 2, waiting: 1 }),
      report => reports.push(report),
    );
    watch.add('a.ts');
    await clock.pass(900);
    watch.add('b.ts');
    watch.add('a.ts');
    await clock.pass(999);
    assert.deepEqual(looks, []);
    await clock.pass(1);
    assert.deepEqual(looks, [['a.ts', 'b.ts']]);
    assert.deepEqual(reports, [{ changes: 2, waiting: 1 }]);
    await clock.pass(60_000);
    assert.equal(looks.length, 1);
  });

  test('where it does not get quiet, a look every ten seconds', async () => {
    const watch = watchOf();
    for (let at = 0; at < 25_000; at += 500) {
      watch.add(`file-${at}.ts`);
      await clock.pass(500);
    }
    await clock.pass(1000);
    // At 10,000 ms the first 20 changes; then each time the change at that moment begins the next ten seconds.
    assert.deepEqual(
      looks.map(paths => paths.length),
      [20, 20, 10],
    );
  });

  test('20,000 changes are one look at everything', async () => {
    const watch = watchOf();
    for (let at = 0; at < 20_000; at++) watch.add(`src/file-${at}.ts`);
    await clock.pass(60_000);
    assert.deepEqual(looks, [['']]);
  });

  test('what changes during a look is looked at after it, and never beside it', async () => {
    let finish = (): void => undefined;
    const watch = watchOf(() => new Promise(done => (finish = () => done(nothing))));
    watch.add('a.ts');
    await clock.pass(1000);
    watch.add('b.ts');
    await clock.pass(3000);
    assert.deepEqual(looks, [['a.ts']]);
    finish();
    await settled();
    await clock.pass(2999);
    assert.equal(looks.length, 1, 'a look that took 3 s is followed by one 3 s later at the soonest');
    await clock.pass(1);
    assert.deepEqual(looks, [['a.ts'], ['b.ts']]);
    finish();
  });

  test('while another process reads, the changes are kept and tried again', async () => {
    let isHeld = true;
    const watch = watchOf(() => Promise.resolve(isHeld ? undefined : nothing));
    watch.add('a.ts');
    await clock.pass(1000);
    watch.add('b.ts');
    await clock.pass(4000);
    assert.deepEqual(looks, [['a.ts'], ['a.ts', 'b.ts']].slice(0, looks.length));
    isHeld = false;
    await clock.pass(10_000);
    assert.deepEqual(looks.at(-1), ['a.ts', 'b.ts']);
    const { length } = looks;
    await clock.pass(60_000);
    assert.equal(looks.length, length);
  });

  test('a look that fails is logged, and the next change is looked at', async () => {
    let fails = true;
    const watch = watchOf(() => (fails ? Promise.reject(new Error('disk')) : Promise.resolve(nothing)));
    watch.add('a.ts');
    await clock.pass(1000);
    fails = false;
    watch.add('b.ts');
    await clock.pass(1000);
    assert.deepEqual(looks, [['a.ts'], ['b.ts']]);
  });

  test('after its end it looks no more, and a look that runs is aborted', async () => {
    let aborted = false;
    const watch = watchOf(
      signal =>
        new Promise((_, fail) => signal.addEventListener('abort', () => fail(new Error(`${(aborted = true)}`)))),
    );
    watch.add('a.ts');
    await clock.pass(1000);
    watch.add('b.ts');
    watch.dispose();
    watch.add('c.ts');
    await clock.pass(60_000);
    assert.deepEqual([looks, aborted], [[['a.ts']], true]);
  });

  test('what lies in version control is not looked at, however much of it changes', async () => {
    const watch = watchOf();
    for (let at = 0; at < 1000; at++) watch.add(`.git/objects/ab/${at}`);
    await clock.pass(60_000);
    assert.deepEqual(looks, []);
  });
});

suite('changed paths', () => {
  test('never more than the bound and one, whatever comes', () => {
    const changed = new ChangedPaths();
    let most = 0;
    for (let at = 0; at < 20_000; at++) {
      changed.add(`file-${at}.ts`);
      most = Math.max(most, changed.size);
    }
    assert.equal(most, MOST_CHANGED_PATHS);
    assert.deepEqual(changed.take(), ['']);
    assert.equal(changed.size, 0);
  });

  test('an ignore file stands for its folder', () => {
    const changed = new ChangedPaths();
    changed.add('src/.gitignore');
    changed.add('src/a.ts');
    assert.deepEqual(changed.take(), ['src', 'src/a.ts']);
  });
});
