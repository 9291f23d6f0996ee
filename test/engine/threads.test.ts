/** Threads of a model where nobody says how many: one a core, one core left to the editor, 8 at most. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { automaticThreads, physicalCores } from '../../src/engine/threads.js';

suite('threads', () => {
  let system: string;
  setup(() => (system = mkdtempSync(join(tmpdir(), 'longview-cpu-'))));
  teardown(() => rmSync(system, { recursive: true, force: true }));

  function processor(name: string, siblings?: string): void {
    mkdirSync(join(system, name, 'topology'), { recursive: true });
    if (siblings !== undefined) writeFileSync(join(system, name, 'topology', 'thread_siblings_list'), `${siblings}\n`);
  }

  test('one a core, of more than two one less, and 8 at most', () => {
    const cases = [
      [1, undefined, 1],
      [2, undefined, 2],
      [3, undefined, 2],
      [4, undefined, 3],
      [64, undefined, 8],
      // Two threads a core.
      [8, 4, 3],
      [4, 2, 2],
      [2, 1, 1],
      // This process may use two processors of a large machine.
      [2, 32, 2],
    ] as const;
    for (const [available, physical, threads] of cases) {
      assert.equal(automaticThreads({ available, physical }), threads, `${available} available, ${physical} cores`);
    }
  });

  test('a core is counted once for all of its threads; what is switched off is not counted', () => {
    for (const [name, siblings] of [
      ['cpu0', '0,4'],
      ['cpu1', '1,5'],
      ['cpu4', '0,4'],
      ['cpu5', '1,5'],
    ] as const)
      processor(name, siblings);
    processor('cpu6');
    processor('cpufreq', '7');
    assert.equal(physicalCores(system), 2);
  });

  test('nothing is known where there is no such folder, or nothing in it', () => {
    assert.equal(physicalCores(system), undefined);
    assert.equal(physicalCores(join(system, 'missing')), undefined);
  });
});
