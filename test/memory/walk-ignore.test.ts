/** Ignore rules: Git's own word on random trees, and what `.longviewignore`, settings and named paths add to it. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { walkWorkspace } from '../../src/memory/walk/index.js';
import type { WalkOptions } from '../../src/memory/walk/index.js';

const hasGit = spawnSync('git', ['--version']).status === 0;

suite('walk: ignore rules', () => {
  let root: string;
  setup(async () => {
    root = await mkdtemp(join(tmpdir(), 'longview-ignore-'));
  });
  teardown(() => rm(root, { recursive: true, force: true }));

  const write = async (files: Record<string, string>, folder = root): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  /** Paths that are not ignored, and ignored rows with the rule in brackets. */
  const walk = async (options: WalkOptions = {}, folder = root): Promise<string[]> => {
    const rows: string[] = [];
    for await (const { path, verdict } of walkWorkspace(folder, options)) {
      if (verdict.read) rows.push(path);
      else rows.push(`${path} (${verdict.reason === 'ignored' ? (verdict.detail ?? '') : verdict.reason})`);
    }
    return rows;
  };

  test('on random trees, exactly what Git lists is not ignored', async function () {
    if (!hasGit) this.skip();
    this.timeout(60_000);
    const git = (folder: string, ...args: string[]): string =>
      execFileSync('git', args, {
        cwd: folder,
        encoding: 'utf8',
        env: {
          ...process.env,
          GIT_CONFIG_GLOBAL: '/dev/null',
          GIT_CONFIG_NOSYSTEM: '1',
          HOME: folder,
          XDG_CONFIG_HOME: folder,
        },
      });
    // Names are ASCII: for Git `?` and `[!a]` are one byte, here one character.
    const name = fc.constantFrom('a', 'b', 'lib', 'x y', 'c.log', 'd.log', '#e', '!f', 'A', '[g]', 'h\\i');
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'));
    const part = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'lib', 'x y', 'c.log', 'A') },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          '*',
          '**',
          '*.log',
          '?',
          '[ab]',
          '[!a]*',
          '\\#e',
          '\\!f',
          'l*b',
          '\\[g\\]',
          'c.*',
          '[[:upper:]]',
        ),
      },
    );
    const rule = fc
      .tuple(
        fc.constantFrom('', '', '!'),
        fc.constantFrom('', '', '/'),
        fc.array(part, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('', '', '/', ' ', '/**'),
      )
      .map(([not, anchor, parts, end]) => not + anchor + parts.join('/') + end);
    const ignoreFile = fc.array(fc.oneof({ weight: 9, arbitrary: rule }, fc.constantFrom('', '# note', ' ')), {
      maxLength: 5,
    });
    const tree = fc.record({
      files: fc.array(path, { minLength: 1, maxLength: 25 }),
      ignores: fc.array(fc.tuple(fc.oneof(fc.constant(''), path), ignoreFile), { minLength: 1, maxLength: 4 }),
      exclude: ignoreFile,
      lineEnd: fc.constantFrom('\n', '\r\n'),
    });
    let compared = 0;
    let ignored = 0;
    await fc.assert(
      fc.asyncProperty(tree, async ({ files, ignores, exclude, lineEnd }) => {
        const folder = await mkdtemp(join(root, 'tree-'));
        const put = async (file: string, text: string): Promise<void> => {
          // A name may be a file here and a folder there: the first one stays.
          await mkdir(dirname(join(folder, file)), { recursive: true }).catch(() => undefined);
          await writeFile(join(folder, file), text, { flag: 'wx' }).catch(() => undefined);
        };
        for (const file of files) await put(file, 'text');
        for (const [at, lines] of ignores)
          await put(at === '' ? '.gitignore' : `${at}/.gitignore`, `${lines.join(lineEnd)}${lineEnd}`);
        git(folder, 'init', '--quiet');
        await writeFile(join(folder, '.git/info/exclude'), exclude.join('\n'));
        const expected = git(folder, 'ls-files', '--others', '--exclude-standard', '-z')
          .split('\0')
          .filter(Boolean)
          .sort();
        const rows: string[] = [];
        let skipped = 0;
        for await (const row of walkWorkspace(folder)) {
          if (row.verdict.read || row.verdict.reason === 'empty') rows.push(row.path);
          else skipped++;
        }
        assert.deepEqual(rows.sort(), expected);
        compared += rows.length;
        ignored += skipped;
        await rm(folder, { recursive: true, force: true });
      }),
      { seed: 314, numRuns: 60 },
    );
    // The trees must be worth the comparison: some files on both sides.
    assert.ok(compared > 100 && ignored > 50, `${compared} read, ${ignored} ignored`);
  });

  test('an ignored folder is one row, with the rule', async () => {
    await write({
      '.gitignore': 'out/\n',
      'out/a.js': '1',
      'out/b/c.js': '1',
      'src/.gitignore': '*.tmp',
      'src/x.tmp': '1',
      'src/x.ts': '1',
    });
    assert.deepEqual(await walk(), [
      '.gitignore',
      'out/ (.gitignore: out/)',
      'src/.gitignore',
      'src/x.tmp (src/.gitignore: *.tmp)',
      'src/x.ts',
    ]);
  });

  test('.longviewignore is stronger than .gitignore at any depth, and leads into an ignored folder', async () => {
    await write({
      '.gitignore': 'vendor/\n*.log\ndocs/\n',
      '.longviewignore': '!vendor/lib/\n!docs/*/keep.md\nsecretplan.md\n!*.dat\n',
      'deep/.gitignore': '!secretplan.md\n',
      'deep/secretplan.md': '1',
      'docs/a/keep.md': '1',
      'docs/a/other.md': '1',
      'docs/top.md': '1',
      'vendor/lib/deep/a.c': '1',
      'vendor/lib/deep/a.log': '1',
      'vendor/other/b.c': '1',
      'vendor/readme.dat': '1',
    });
    assert.deepEqual(await walk(), [
      '.gitignore',
      '.longviewignore',
      'deep/.gitignore',
      'deep/secretplan.md (.longviewignore: secretplan.md)',
      'docs/a/keep.md',
      'docs/a/other.md (.gitignore: docs/)',
      'docs/top.md (.gitignore: docs/)',
      'vendor/lib/deep/a.c',
      'vendor/lib/deep/a.log (.gitignore: *.log)',
      'vendor/other/ (.gitignore: vendor/)',
      // Taken back by name, as the folder was entered anyway.
      'vendor/readme.dat',
    ]);
  });

  test('a deeper .gitignore takes back a folder, and other rules still hold in it', async () => {
    await write({ '.gitignore': '/a/b/\n*.log\n', 'a/.gitignore': '!b/\n', 'a/b/x.c': '1', 'a/b/x.log': '1' });
    assert.deepEqual(await walk(), ['.gitignore', 'a/.gitignore', 'a/b/x.c', 'a/b/x.log (.gitignore: *.log)']);
  });

  test('version control is no row; installed packages and caches are one', async () => {
    await write({
      '.git/config': '1',
      '.hg/a': '1',
      'node_modules/a/index.js': '1',
      'p/__pycache__/a.pyc': '1',
      'p/node_modules/b.js': '1',
      'build/a.c': '1',
    });
    assert.deepEqual(await walk(), [
      'build/a.c',
      'node_modules/ (always: node_modules/)',
      'p/__pycache__/ (always: __pycache__/)',
      'p/node_modules/ (always: node_modules/)',
    ]);
    await write({ '.longviewignore': '!node_modules/a/' });
    assert.deepEqual((await walk()).slice(0, 3), ['.longviewignore', 'build/a.c', 'node_modules/a/index.js']);
  });

  test('a root inside an ignored folder of a repository is read; only packages nested in it are left out', async () => {
    await write({
      '.git/config': '1',
      '.gitignore': 'node_modules\n*.js\n',
      'node_modules/mocha/index.js': '1',
      'node_modules/mocha/node_modules/x/i.js': '1',
    });
    assert.deepEqual(await walk({}, join(root, 'node_modules/mocha')), [
      'index.js',
      'node_modules/ (always: node_modules/)',
    ]);
  });

  test('a root below the top of a repository obeys the files above it', async () => {
    await write({
      '.git/info/exclude': '*.private\n',
      '.gitignore': '*.log\n/packages/a/out\nout2\n',
      'packages/.gitignore': '!keep.log\n',
      'packages/a/out/x': '1',
      'packages/a/out2/x': '1',
      'packages/a/b.log': '1',
      'packages/a/keep.log': '1',
      'packages/a/c.private': '1',
      'packages/a/d.c': '1',
    });
    assert.deepEqual(await walk({}, join(root, 'packages/a')), [
      'b.log (../../.gitignore: *.log)',
      'c.private (.git/info/exclude: *.private)',
      'd.c',
      'keep.log',
      'out/ (../../.gitignore: /packages/a/out)',
      'out2/ (../../.gitignore: out2)',
    ]);
  });

  test("a worktree's .git file leads to the repository's exclude file", async () => {
    await write({
      'main/.git/info/exclude': '*.private\n',
      'main/.git/worktrees/w/commondir': '../..\n',
      'w/.git': `gitdir: ${join(root, 'main/.git/worktrees/w')}\n`,
      'w/a.private': '1',
      'w/b.c': '1',
    });
    assert.deepEqual(await walk({}, join(root, 'w')), ['a.private (.git/info/exclude: *.private)', 'b.c']);
  });

  test("settings' globs with braces are weaker than .longviewignore", async () => {
    await write({ 'a.map': '1', 'b.css': '1', 'c.ts': '1', 'd/e.map': '1', '.longviewignore': '!d/e.map' });
    assert.deepEqual(await walk({ exclude: ['**/*.{map,css}'] }), [
      '.longviewignore',
      'a.map (settings: **/*.map)',
      'b.css (settings: **/*.css)',
      'c.ts',
      'd/e.map',
    ]);
  });

  test('a named path is read wherever it lies and whatever it is called', async () => {
    await write({
      '.gitignore': 'gen/\n.env\n',
      '.longviewignore': 'gen/\n',
      '.env': 'A=1',
      'gen/a [1].lock': '1',
      'gen/b.c': '1',
      '.ssh/config': '1',
      '.ssh/id_rsa': '1',
      'yarn.lock': '1',
    });
    assert.deepEqual(await walk({ named: ['.env', 'gen/a [1].lock', '.ssh/config', 'yarn.lock'] }), [
      '.env',
      '.gitignore',
      '.longviewignore',
      '.ssh/config',
      '.ssh/id_rsa (secret)',
      'gen/a [1].lock',
      'gen/b.c (.longviewignore: gen/)',
      'yarn.lock',
    ]);
  });

  test('a mark and CRLF in an ignore file are not part of its rules', async () => {
    await write({ '.gitignore': '\ufeff*.log\r\n!keep.log\r\n', 'a.log': '1', 'keep.log': '1' });
    assert.deepEqual(await walk(), ['.gitignore', 'a.log (.gitignore: *.log)', 'keep.log']);
  });
});
