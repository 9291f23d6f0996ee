/** What `read` takes of budgets, all commands take that read: a folder read without a state stays without one. The tiny model. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sharedTextModel } from '../engine/tiny-shared.js';

const main = resolve('out/src/cli/main.js');

suite('budgets of the commands that read', function () {
  this.timeout(120_000);
  let scratch: string;
  let work: string;
  suiteSetup(async () => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-budgets-')));
    work = join(scratch, 'work');
    mkdirSync(work);
    writeFileSync(join(work, 'door.js'), '/** Opens doors. */\nexport function open() {}\n');
    cpSync(await sharedTextModel(), join(scratch, 'data', 'models', 'tiny'), { recursive: true });
  });
  suiteTeardown(() => rmSync(scratch, { recursive: true, force: true }));

  function longview(...args: string[]): string {
    const all = [main, ...args, '--model', 'tiny', '--data', join(scratch, 'data'), '--threads', '1', '--json'];
    const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd: scratch, encoding: 'utf8', input: '' });
    assert.equal(status, 0, stderr);
    return stdout;
  }
  const status = (): { coverage: { read: number; total: number }; state: { slots: number } } =>
    JSON.parse(longview('status', work)) as ReturnType<typeof status>;

  test('read, ask and summarize with --state 0 make no state of what is new', () => {
    const budgets = ['--state', '0', '--ram', '100', '--disk', '1000'];
    const commands = [
      ['read', work],
      ['ask', work, 'What opens?', '--max-tokens', '4'],
      ['summarize', work],
    ];
    for (const [at, command] of commands.entries()) {
      writeFileSync(join(work, `new-${at}.js`), `/** Closes door ${at}. */\nexport function close${at}() {}\n`);
      longview(...command, ...budgets);
      const { coverage, state } = status();
      assert.deepEqual([coverage.read, coverage.total, state.slots], [at + 2, at + 2, 0], command[0]);
    }
    writeFileSync(join(work, 'with.js'), 'export function knock() {}\n');
    longview('read', work);
    assert.ok(status().state.slots > 0, 'without the option there is one of what is read from then on');
  });
});
