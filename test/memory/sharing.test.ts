/**
 * Two and five processes on one memory: one of them reads, all answer meanwhile, and when the one that reads is killed another
 * goes on; in the end every file was read once, but for the one that was being read.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const CHILD = fileURLToPath(new URL('./sharing-child.js', import.meta.url));
const FILES = 40;

type Event = [name: string, value?: unknown, isRight?: boolean];

interface Runner {
  readonly child: ChildProcess;
  readonly events: Event[];
  readonly ended: Promise<unknown>;
}

suite('memory: sharing', () => {
  let folder: Folder;
  let hold: string;
  let runners: Runner[] = [];
  setup(async () => {
    const names = Array.from({ length: FILES }, (_, at) => `file ${at}.md`);
    folder = await Folder.of(Object.fromEntries(names.map(name => [name, `The lantern of ${name}\n`])));
    hold = join(dirname(folder.root), 'hold');
    await writeFile(hold, '');
  });
  teardown(async () => {
    for (const { child } of runners) child.kill('SIGKILL');
    await Promise.all(runners.map(({ ended }) => ended));
    runners = [];
    await folder.dispose();
  });

  const start = (): Runner => {
    const child = spawn(process.execPath, [CHILD, folder.root, folder.data, hold], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const events: Event[] = [];
    createInterface({ input: child.stdout }).on('line', line => events.push(JSON.parse(line) as Event));
    return { child, events, ended: once(child, 'close') };
  };
  const read = (of: readonly Runner[]): unknown[] =>
    of.flatMap(({ events }) => events.filter(([name]) => name === 'reading').map(([, path]) => path));
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(5);
  };

  for (const count of [2, 5]) {
    test(`${count} processes: one reads, all answer, the next goes on when it is killed`, async function () {
      if (process.platform === 'win32') this.skip();
      this.timeout(120_000);
      runners = Array.from({ length: count }, start);
      await until(() => runners.every(({ events }) => events.some(([name]) => name === 'answered')));
      // Three files are in memory; the fourth is being read.
      await until(() => read(runners).length === 4);
      const reading = runners.filter(runner => read([runner]).length > 0);
      assert.equal(reading.length, 1, 'one of them reads');
      const [reader] = reading;
      reader!.child.kill('SIGKILL');
      await reader!.ended;
      await rm(hold);
      const others = runners.filter(runner => runner !== reader);
      await Promise.all(others.map(({ ended }) => ended));

      assert.deepEqual(
        others.map(({ events }) => events.at(-1)),
        others.map(() => ['done', FILES]),
      );
      const answers = others.flatMap(({ events }) => events.filter(([name]) => name === 'answered'));
      assert.ok(answers.every(([, , isRight]) => isRight));
      const all = read(runners);
      assert.equal(new Set(all).size, FILES);
      assert.equal(all.length, FILES + 1, 'the file that was being read is read again, and no other');
      const memory = await folder.memory(new FakeEngine());
      assert.equal((await memory.refresh()).filesRead, 0);
    });
  }
});
