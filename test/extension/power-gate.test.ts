/** Work that waits while the machine is on its battery: before it begins, in the midst of it, and by the user's wish. */
import assert from 'node:assert/strict';
import { PowerGate } from '../../src/extension/power-gate.js';

const never = new AbortController().signal;

suite('power gate', () => {
  let onBattery: boolean;
  let mayUseBattery: boolean;
  let asked: number;
  let waits: number;
  /** Signals of the runs of the work, in order; it ends when `finish` is called or its signal is aborted. */
  let runs: AbortSignal[];
  let finish: () => void;
  setup(() => {
    onBattery = false;
    mayUseBattery = false;
    [asked, waits, runs] = [0, 0, []];
  });

  /** `freshMs` 0: each look asks the machine. */
  const gate = (freshMs = 0): PowerGate =>
    new PowerGate({
      isOnBattery: () => Promise.resolve(++asked > 0 && onBattery),
      mayUseBattery: () => mayUseBattery,
      everyMs: 1,
      freshMs,
    });
  const work = (signal: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      runs.push(signal);
      finish = resolve;
      signal.addEventListener('abort', () => resolve());
    });
  const onWait = (): void => {
    waits++;
  };
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise(done => setTimeout(done, 1));
  }

  test('runs at once where the machine is plugged in, and ends with the work', async () => {
    const done = gate().run(never, work, onWait);
    await until(() => runs.length === 1);
    finish();
    await done;
    const before = asked;
    await new Promise(next => setTimeout(next, 10));
    assert.deepEqual([waits, runs.length, runs[0]!.aborted, asked], [0, 1, false, before]);
  });

  test('waits on battery, and begins when the machine is plugged in', async () => {
    onBattery = true;
    const done = gate().run(never, work, onWait);
    await until(() => asked > 2);
    assert.equal(runs.length, 0);
    assert.ok(waits > 0);
    onBattery = false;
    await until(() => runs.length === 1);
    finish();
    await done;
  });

  test('work is ended when the plug is pulled, and begins again afterwards', async () => {
    const done = gate().run(never, work, onWait);
    await until(() => runs.length === 1);
    onBattery = true;
    await until(() => waits > 0);
    assert.equal(runs[0]!.aborted, true);
    onBattery = false;
    await until(() => runs.length === 2);
    assert.equal(runs[1]!.aborted, false);
    finish();
    await done;
  });

  test("the user's wish counts at once, both ways", async () => {
    onBattery = true;
    const own = gate(1e9);
    const done = own.run(never, work, onWait);
    await until(() => waits > 0);
    mayUseBattery = true;
    own.check();
    await until(() => runs.length === 1);
    mayUseBattery = false;
    own.check();
    await until(() => runs[0]!.aborted);
    mayUseBattery = true;
    await until(() => runs.length === 2);
    finish();
    await done;
    assert.equal(asked, 1, 'one answer is good for a while');
  });

  test('a machine is not asked where the battery may be used, and one that fails to answer is plugged in', async () => {
    mayUseBattery = true;
    const done = gate().run(never, work, onWait);
    await until(() => runs.length === 1);
    finish();
    await done;
    assert.equal(asked, 0);
    const failing = new PowerGate({
      isOnBattery: () => Promise.reject(new Error('no answer')),
      mayUseBattery: () => false,
    });
    const second = failing.run(never, work, onWait);
    await until(() => runs.length === 2);
    finish();
    await second;
    assert.equal(waits, 0);
  });

  test('cancelled while it waits, or while it runs, it ends and asks no more', async () => {
    onBattery = true;
    for (const waitsFirst of [true, false]) {
      onBattery = waitsFirst;
      const stop = new AbortController();
      const done = gate().run(stop.signal, work, onWait);
      await until(() => (waitsFirst ? waits > 0 : runs.length > 0));
      stop.abort();
      await done;
    }
    const before = asked;
    await new Promise(next => setTimeout(next, 10));
    assert.equal(asked, before);
    assert.equal(runs.length, 1);
  });
});
