/** Changes in a temporary git repository, over the fake engine: what is told of each file, where, and what is remembered. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { summarize, type SummaryResult } from '../../src/assist/index.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from '../memory/fake-engine.js';
import { Folder } from '../memory/folder.js';

const pool = (limit: number): string =>
  [
    'def drain(pool):',
    '    """Closes idle connections."""',
    `    keep(${limit})`,
    '',
    '',
    'def wait():',
    '    sleep()',
    '',
  ].join('\n');

suite('summary of changes', function () {
  this.timeout(60_000);
  let folder: Folder;
  let engine: FakeEngine;
  let memory: WorkspaceMemory;
  setup(async () => {
    folder = await Folder.of({
      'src/pool.py': pool(1),
      'src/old.py': 'def gone():\n    pass\n',
      'src/moved.py': 'def stays():\n    """Stays as it is."""\n    return 1\n',
      '.gitignore': 'ignored.py\n',
    });
    git('init', '-q', '-b', 'main');
    commit('first');
    engine = new FakeEngine();
    engine.answer = '';
    memory = await folder.memory(engine);
  });
  teardown(() => folder.dispose());

  function git(...args: string[]): string {
    const as = ['-c', 'user.name=T', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...as, ...args], { cwd: folder.root, encoding: 'utf8' });
  }
  function commit(message: string): void {
    git('add', '-A');
    git('commit', '-qm', message);
  }
  const changes = (since?: string): Promise<SummaryResult> =>
    summarize({ memory, engine, target: { kind: 'changes', ...(since === undefined ? {} : { since }) } });
  const told = ({ summary }: SummaryResult) =>
    summary.map(({ text, places }) => [
      text,
      ...places.map(({ path, startLine, endLine }) => `${path}:${startLine}-${endLine}`),
    ]);

  async function edit(): Promise<void> {
    await folder.write('src/pool.py', pool(2));
    await folder.write('new file.py', 'def fresh():\n    """Makes it new."""\n');
    await folder.write('ignored.py', 'x = 1\n');
    await folder.write('.env', 'SECRET=1\n');
    await folder.remove('src/old.py');
    await rename(join(folder.root, 'src/moved.py'), join(folder.root, 'src/kept.py'));
    git('add', '-A', 'src');
  }

  test('since a commit: changed, new, renamed; deleted and unread files are named, ignored ones are not', async () => {
    await edit();
    const result = await changes('main');
    assert.deepEqual(told(result), [
      ['`new file.py` is new: “Makes it new.”', 'new file.py:1-2'],
      ['`src/kept.py` was `src/moved.py`: “Stays as it is.”', 'src/kept.py:1-3'],
      [
        '`src/pool.py` changed in 1 place (+1 −1 lines): `drain`: “Closes idle connections.”',
        'src/pool.py:3-3',
        'src/pool.py:1-3',
      ],
    ]);
    const head = git('rev-parse', 'HEAD').slice(0, 10);
    assert.deepEqual(result.notes, [
      `Changes since main (commit ${head}).`,
      'Deleted: `src/old.py`.',
      'Changed, but not read: `.env` (secret).',
    ]);
    assert.deepEqual(result.coverage.files, { total: 5, used: 3 });
    assert.deepEqual(engine.reads.sort(), ['new file.py', 'src/kept.py', 'src/pool.py'], 'only what changed is read');
  });

  test('since the last summary: what was told is not told again, whether it was committed since or not', async () => {
    await edit();
    assert.match((await changes()).notes[0]!, /^No changes were summarized here before: compared with the last commit/);
    assert.deepEqual(told(await changes()), []);
    commit('second');
    const nothing = await changes();
    assert.deepEqual(told(nothing), []);
    assert.match(nothing.notes[0]!, /^Changes since the last summary of changes/);
    assert.equal(nothing.notes[1], 'Nothing changed.');
    await folder.write('src/pool.py', pool(3));
    commit('third');
    assert.deepEqual(told(await changes()), [
      [
        '`src/pool.py` changed in 1 place (+1 −1 lines): `drain`: “Closes idle connections.”',
        'src/pool.py:3-3',
        'src/pool.py:1-3',
      ],
    ]);
  });

  test('a place where lines were only removed is one that is there', async () => {
    await folder.write('src/pool.py', pool(1).split('\n').slice(0, 2).join('\n'));
    const [sentence] = (await changes('HEAD')).summary;
    assert.ok(
      sentence!.places.every(({ startLine, endLine }) => startLine >= 1 && endLine <= 2 && startLine <= endLine),
    );
  });

  test('more changed files than sentences: the largest changes are told, the others named', async () => {
    for (let at = 0; at < 5; at++) await folder.write(`f${at}.py`, `def f${at}():\n    return ${at}\n`);
    commit('files');
    for (let at = 0; at < 5; at++) await folder.write(`f${at}.py`, `def f${at}():\n${'    call()\n'.repeat(at + 1)}`);
    const { summary, notes } = await summarize({
      memory,
      engine,
      target: { kind: 'changes', since: 'HEAD' },
      maxSentences: 2,
    });
    assert.deepEqual(
      summary.map(({ places }) => places[0]!.path),
      ['f3.py', 'f4.py'],
    );
    assert.equal(notes[1], 'Changed too, without a sentence: `f0.py`, `f1.py`, `f2.py`.');
  });

  test('forgetting something forgets where the last summary ended', async () => {
    await edit();
    await changes();
    await memory.forget('src/pool.py');
    assert.equal(memory.summaryMark(), undefined);
  });

  test('a cancelled summary is not remembered', async () => {
    await edit();
    const stop = new AbortController();
    const target = { kind: 'changes' } as const;
    const options = { signal: stop.signal, onSentence: () => stop.abort() };
    await assert.rejects(summarize({ memory, engine, target }, options), { code: 'cancelled' });
    assert.equal(memory.summaryMark(), undefined);
  });

  test('no such commit, an option in its place, no repository, no commit: a message that says so', async () => {
    await assert.rejects(changes('v9'), { code: 'not-found', message: /There is no commit "v9"/ });
    await assert.rejects(changes('--output=x'), { code: 'not-found' });
    await folder.remove('.git');
    await assert.rejects(changes(), { code: 'unsupported', message: /is in no git repository/ });
    git('init', '-q');
    await assert.rejects(changes(), { code: 'not-found', message: /no commit yet/ });
  });

  test('no git on the machine: a message that says so', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = folder.data;
    try {
      await assert.rejects(changes(), { code: 'unsupported', message: /no git on this machine/ });
    } finally {
      process.env['PATH'] = path;
    }
  });
});
