/**
 * The real command line as a process, with a data folder that holds no model: help, wrong usage, missing folders, shapes of
 * the JSON. Exit codes and messages are the contract of product.md and README.md.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { assertGolden } from './golden.js';

const main = resolve('out/src/cli/main.js');

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

suite('command line', function () {
  this.timeout(60_000);
  let scratch: string;
  let workspace: string;
  let data: string;
  setup(() => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-cli-')));
    workspace = join(scratch, 'workspace');
    data = join(scratch, 'data');
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'a.ts'), 'export const retryLimit = 3;\n');
    writeFileSync(join(workspace, '.env'), 'PASSWORD=secret\n');
  });
  teardown(() => rmSync(scratch, { recursive: true, force: true }));

  function longview(...args: string[]): Outcome {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
      cwd: scratch,
      encoding: 'utf8',
      input: '',
    });
    return { code: status, out: stdout, err: stderr };
  }
  const inData = (...args: string[]): Outcome => longview(...args, '--data', data);

  test('recall at what is no place of a file: one line, exit code 2 or 1', () => {
    for (const [place, code, message] of [
      [`${workspace}:1:1`, 2, /is no file: write FILE:LINE:COLUMN/],
      [join(workspace, 'a.ts'), 2, /is no place/],
      [join(workspace, 'gone.ts:1:1'), 1, /There is no file/],
    ] as const) {
      const outcome = inData('recall', place);
      assert.equal(outcome.code, code, outcome.err);
      assert.match(outcome.err, message);
      assert.equal(outcome.err.trimEnd().split('\n').length, 1);
    }
  });

  test('recall in a folder that nobody had read says so, and keeps nothing of it', () => {
    const empty = join(data, 'nothing-here');
    const { code, out, err } = longview(
      'recall',
      join(workspace, 'a.ts:1:1'),
      '--dir',
      workspace,
      '--json',
      '--data',
      empty,
    );
    assert.equal(code, 0, err);
    assert.equal((JSON.parse(out) as { how: string }).how, 'no file of this folder has been read yet');
    assert.equal(existsSync(empty), false);
  });

  test('recall counts lines and columns as the editor does, in any encoding and with any line ends', () => {
    const text = '\ufeff// é\r\rsend(1);\r';
    writeFileSync(join(workspace, 'utf8.ts'), text);
    writeFileSync(join(workspace, 'utf16.ts'), Buffer.from(text, 'utf16le'));
    try {
      for (const [place, answer] of [
        ['utf8.ts:1:4', /^é: /m],
        ['utf16.ts:3:1', /^send: no file of this folder has been read yet\.$/m],
        ['utf16.ts:1:1', /There is no name at/],
      ] as const) {
        assert.match(inData('recall', join(workspace, place), '--dir', workspace).err, answer, place);
      }
    } finally {
      for (const name of ['utf8.ts', 'utf16.ts']) rmSync(join(workspace, name));
    }
  });

  test('status with a model that is not there says so', () => {
    const { code, err } = inData('status', workspace, '--model', 'nope');
    assert.equal(code, 1);
    assert.match(err, /Model nope is not installed/);
  });

  test('help of the program and of each command, on stdout', () => {
    for (const command of [
      '',
      'ask',
      'summarize',
      'read',
      'status',
      'forget',
      'export',
      'import',
      'mcp',
      'calibrate',
      'model',
      'model add',
      'model convert',
      'model verify',
    ]) {
      const { code, out, err } = longview(...command.split(' ').filter(Boolean), '--help');
      assert.equal(code, 0);
      assert.equal(err, '');
      assertGolden(`help${command && ` ${command}`}.txt`.replaceAll(' ', '-'), out);
    }
  });

  test('version is the manifest’s', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    assert.deepEqual(longview('--version'), { code: 0, out: `${version}\n`, err: '' });
  });

  const wrongUsages: [string, string[]][] = [
    ['unknown command', ['frobnicate']],
    ['unknown option', ['status', '.', '--frobnicate']],
    ['missing question', ['ask', '.']],
    ['missing folder', ['read']],
    ['not a number', ['ask', '.', 'Why?', '--max-tokens', 'many']],
    ['zero threads', ['status', '.', '--threads', '0']],
    ['no provider', ['status', '.', '--provider', 'gpu']],
    ['forget what?', ['forget', '.']],
    ['export where?', ['export', '.']],
    ['import what?', ['import', '.']],
    ['no shard', ['read', '.', '--shard', '4/3']],
    ['half a shard', ['read', '.', '--shard', '2']],
    ['no share of the processor', ['read', '.', '--cpu-share', '0']],
    ['more than the whole processor', ['read', '.', '--cpu-share', '101']],
    ['forget both', ['forget', '.', 'a.ts', '--all']],
    ['unknown subcommand', ['model', 'frobnicate']],
    ['empty question', ['ask', '.', ' ', '--yes']],
  ];
  for (const [name, args] of wrongUsages) {
    test(`wrong usage: ${name}: exit code 2, one line on stderr, nothing on stdout`, () => {
      const { code, out, err } = inData(...args);
      assert.equal(code, 2, err);
      assert.equal(out, '');
      assert.match(err, /^longview: [^\n]+\n$/);
    });
  }

  test('no command: the help on stderr, exit code 2', () => {
    for (const args of [[], ['model']]) {
      const { code, out, err } = longview(...args);
      assert.equal(code, 2);
      assert.equal(out, '');
      assert.match(err, /^Usage: longview/);
    }
  });

  test('a folder that is not there: exit code 1, and the path in the message', () => {
    for (const command of [
      ['ask', 'missing', 'Why?'],
      ['read', 'missing'],
      ['status', 'missing'],
      ['forget', 'missing', 'a'],
    ]) {
      const { code, out, err } = inData(...command);
      assert.equal(code, 1);
      assert.equal(out, '');
      assert.equal(err, `longview: There is no folder ${join(scratch, 'missing')}\n`);
    }
    const file = inData('status', 'workspace/a.ts');
    assert.equal(file.code, 1);
    assert.match(file.err, /a\.ts is a file; name the folder it is in\.\n$/);
  });

  test('with --json a failure is an object on stdout too', () => {
    const { code, out } = inData('status', 'missing', '--json');
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), {
      error: { code: 'not-found', message: `There is no folder ${join(scratch, 'missing')}` },
    });
    const usage = inData('status', '--json');
    assert.equal(usage.code, 2);
    assert.equal((JSON.parse(usage.out) as { error: { code: string } }).error.code, 'usage');
  });

  test('a data folder where no folder can be made: one line, exit code 1', function () {
    if (!existsSync('/proc/self')) this.skip();
    for (const command of [
      ['model', 'add', '--yes'],
      ['status', 'workspace'],
    ]) {
      const { code, out, err } = longview(...command, '--data', '/proc/nowhere');
      assert.deepEqual([code, out], [1, '']);
      // `model add` has said before what it installs.
      assert.match(err.trimEnd().split('\n').at(-1)!, /^longview: .*\/proc\/nowhere/);
    }
  });

  test('an empty data folder is wrong usage, not the current folder', () => {
    const { code, err } = longview('status', workspace, '--data', '');
    assert.deepEqual([code, err], [2, 'longview: The data folder is empty: name one, or leave out --data.\n']);
    assert.equal(existsSync(join(scratch, 'workspaces')), false);
  });

  test('output that cannot be written: one line that says why, exit code 1; what is said beside it may get lost', function () {
    if (!existsSync('/dev/full')) this.skip();
    const to = (...streams: ('/dev/full' | 'pipe')[]): { status: number | null; stderr: string; stdout: string } => {
      const stdio = streams.map(stream => (stream === 'pipe' ? stream : openSync(stream, 'w')));
      return spawnSync(process.execPath, [main, 'status', workspace, '--verbose', '--data', data], {
        encoding: 'utf8',
        stdio: ['ignore', ...stdio],
      });
    };
    const full = to('/dev/full', 'pipe');
    assert.equal(full.status, 1);
    assert.match(full.stderr, /^longview: The output could not be written \(ENOSPC.*\)\.\n$/);
    const unheard = to('pipe', '/dev/full');
    assert.equal(unheard.status, 0);
    assert.match(unheard.stdout, /^0 of 2 files read/);
  });

  test('ask without a model and without a terminal: no download, the message says size and what to do', () => {
    const { code, out, err } = inData('ask', 'workspace', 'Where is the retry limit?');
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, /\d+ MB/);
    assert.match(err, /longview model add/);
  });

  test('ask with a model of another version: what is wrong with it, and what a new one costs', () => {
    const folder = join(data, 'models', 'smollm2-135m-instruct');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'model.json'), '{"format": 4}');
    const { code, err } = inData('ask', workspace, 'Where are retries?');
    assert.equal(code, 1);
    assert.match(
      err,
      /^longview: The model in .*smollm2-135m-instruct was made by another version of Longview: .* 271 MB .* --yes.*\n$/,
    );
  });

  test('status works without a model: what waits, what is skipped and why', () => {
    const { code, out, err } = inData('status', 'workspace', '--files', '--json');
    assert.equal(code, 0, err);
    const status = JSON.parse(out) as Record<string, unknown>;
    assert.deepEqual(status['coverage'], { total: 2, read: 0, stale: 0, waiting: 1, coarse: 0, skipped: 1 });
    assert.deepEqual(status['files'], [
      { path: '.env', state: 'skipped', reason: 'secret', tokens: 0 },
      { path: 'a.ts', state: 'waiting', tokens: 0 },
    ]);
    assert.equal(status['tokens'], 0);
    assert.deepEqual(status['skipped'], { secret: 1 });
    assert.deepEqual(Object.keys(status).sort(), [
      'coverage',
      'files',
      'recall',
      'skipped',
      'state',
      'store',
      'tokens',
    ]);
    const store = status['store'] as { path: string; bytes: number };
    assert.ok(store.path.startsWith(data), store.path);
    assert.ok(store.bytes > 0);
  });

  test('forget: a path that is not remembered is an error, everything can be forgotten', () => {
    const unknown = inData('forget', 'workspace', 'b.ts', '--json');
    assert.equal(unknown.code, 1);
    assert.equal((JSON.parse(unknown.out) as { error: { code: string } }).error.code, 'not-found');
    const all = inData('forget', 'workspace', '--all', '--json');
    assert.equal(all.code, 0, all.err);
    assert.equal((JSON.parse(all.out) as { forgotten: unknown }).forgotten, null);
  });

  test('forget --all of a folder that was deleted; any other that is not there is an error', () => {
    const inside = join(scratch, 'deleted', 'inside');
    mkdirSync(inside, { recursive: true });
    const status = inData('status', inside, '--json');
    const { store } = JSON.parse(status.out) as { store: { path: string } };
    rmSync(join(scratch, 'deleted'), { recursive: true });
    const single = inData('forget', inside, 'a.ts');
    assert.deepEqual([single.code, single.err], [1, `longview: There is no folder ${inside}\n`]);
    const other = inData('forget', join(scratch, 'other'), '--all');
    assert.deepEqual([other.code, other.err], [1, `longview: There is no folder ${join(scratch, 'other')}\n`]);
    const all = inData('forget', join('deleted', 'inside'), '--all');
    assert.deepEqual([all.code, all.out], [0, 'Forgot everything. 0 of 0 files read, 0 stale, 0 skipped\n'], all.err);
    assert.deepEqual(readdirSync(store.path), ['data.mdb'], 'compacted');
    assert.equal(existsSync(inside), false, 'nothing is made in its place');
  });

  test('model list: the recommended model, not installed, with its size', () => {
    const { code, out, err } = inData('model', 'list', '--json');
    assert.equal(code, 0, err);
    const { models } = JSON.parse(out) as { models: { name: string; installed: boolean; downloadBytes: number }[] };
    assert.ok(models.length > 0);
    assert.ok(models.every(model => !model.installed && model.downloadBytes > 0));
    const removed = inData('model', 'remove', models[0]!.name);
    assert.equal(removed.code, 1, 'what is not installed cannot be removed');
    const unknown = inData('model', 'add', 'no-such-model', '--yes');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /no-such-model/);
  });
});
