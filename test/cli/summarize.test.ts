/**
 * `longview summarize` as a process with the tiny model, whose words are noise: the shape of the JSON, the Markdown, which
 * workspace a path belongs to, and wrong usage. All sentences are the author's here, which is the point of it.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SummaryResult } from '../../src/assist/index.js';
import { sharedTextModel } from '../engine/tiny-shared.js';

const main = resolve('out/src/cli/main.js');
const door = '/** Opens doors. */\nexport function open(door) {\n  door.swing();\n}\n';

suite('longview summarize', function () {
  this.timeout(120_000);
  let scratch: string;
  let workspace: string;
  suiteSetup(async () => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-summarize-')));
    workspace = join(scratch, 'workspace');
    mkdirSync(join(workspace, 'lib'), { recursive: true });
    writeFileSync(join(workspace, 'lib', 'door.js'), door);
    writeFileSync(join(scratch, 'door.bin'), Buffer.from([0, 1, 2, 0, 255]));
    writeFileSync(join(workspace, 'README.md'), '# Doors\n\nAll about doors.\n');
    cpSync(await sharedTextModel(), join(scratch, 'data', 'models', 'tiny'), { recursive: true });
    execFileSync('git', ['init', '-q'], { cwd: workspace });
  });
  suiteTeardown(() => rmSync(scratch, { recursive: true, force: true }));

  function longview(...args: string[]): { code: number | null; out: string; err: string } {
    const all = [main, 'summarize', ...args, '--model', 'tiny', '--data', join(scratch, 'data'), '--threads', '1'];
    const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd: scratch, encoding: 'utf8', input: '' });
    return { code: status, out: stdout, err: stderr };
  }

  test('a file below the repository, as JSON: paths are relative to the repository, each place is in the file', () => {
    const { code, out, err } = longview('workspace/lib/door.js', '--json');
    assert.equal(code, 0, err);
    const result = JSON.parse(out) as SummaryResult;
    assert.deepEqual(result.summary, [
      {
        text: '`open`: “Opens doors.”',
        places: [{ path: 'lib/door.js', startLine: 1, endLine: 4 }],
        quoted: true,
      },
    ]);
    const { coverage, timing } = result;
    assert.deepEqual(coverage, {
      ...{ total: 2, read: 1, stale: 0, waiting: 1, coarse: 0, skipped: 0 },
      sections: { total: 1, used: 1 },
      files: { total: 1, used: 1 },
    });
    assert.ok(timing.totalMs > 0 && timing.readTokens > 0 && timing.firstSentenceMs <= timing.totalMs);
  });

  test('a folder, as Markdown with places and coverage on stdout', () => {
    const { code, out, err } = longview('workspace', '--max-sentences', '2');
    assert.equal(code, 0, err);
    assert.equal(
      out,
      '- `README.md`: “All about doors.” (`README.md:1-3`)\n' +
        '- `lib/door.js`: “Opens doors.” (`lib/door.js:1-4`)\n\n' +
        'The sentences are about 2 of 2 sections, 2 of 2 files. 2 of 2 files read, 0 stale, 0 skipped\n',
    );
  });

  test('lines of a file', () => {
    const { code, out, err } = longview('workspace/lib/door.js', '--lines', '2-4', '--json');
    assert.equal(code, 0, err);
    const { summary } = JSON.parse(out) as SummaryResult;
    assert.deepEqual(
      summary.map(({ places }) => places),
      [[{ path: 'lib/door.js', startLine: 2, endLine: 4 }]],
    );
  });

  test('lines of a file in another encoding and with other line ends are those that the memory and the editor count', () => {
    const text = '// Größe\r\r/** Misst Türen. */\rfunction measure() {}\r';
    writeFileSync(join(workspace, 'measure.js'), Buffer.from(`\ufeff${text}`, 'utf16le'));
    try {
      const { code, out, err } = longview('workspace/measure.js', '--lines', '3-4');
      assert.equal(code, 0, err);
      assert.match(out, /^- `measure`: “Misst Türen\.” \(`measure\.js:3-4`\)\n/);
    } finally {
      rmSync(join(workspace, 'measure.js'));
    }
  });

  test('lines beyond the end of the file: those up to its last one, and a line that says so', () => {
    const { code, out, err } = longview('workspace/lib/door.js', '--lines', '2-999', '--json');
    assert.equal(code, 0, err);
    assert.match(err, /^door\.js ends at line 4: lines 2-4 it is\.$/m);
    assert.equal((JSON.parse(out) as SummaryResult).summary[0]!.places[0]!.endLine, 4);
  });

  test('a link that leads out of the workspace is refused, one that stays in it is not', () => {
    writeFileSync(join(scratch, 'outside.js'), door);
    const links: [string, string][] = [
      ['../outside.js', 'way-out.js'],
      ['..', 'way-out'],
      ['lib', 'inside'],
    ];
    for (const [to, name] of links) symlinkSync(to, join(workspace, name));
    try {
      for (const name of ['way-out.js', 'way-out', 'way-out/outside.js']) {
        const { code, out, err } = longview(`workspace/${name}`);
        assert.deepEqual([code, out], [2, ''], err);
        assert.match(err, /^longview: workspace\/way-out.* leads out of .*workspace by a symbolic link, to .*\n$/);
      }
      const { code, out, err } = longview('workspace/inside', '--json');
      assert.equal(code, 0, err);
      const [sentence] = (JSON.parse(out) as SummaryResult).summary;
      assert.equal(sentence!.places[0]!.path, 'lib/door.js');
    } finally {
      for (const [, name] of links) rmSync(join(workspace, name));
    }
  });

  test('a line break in a path is written out', () => {
    writeFileSync(join(workspace, 'two\nlines.js'), door);
    try {
      const { code, out, err } = longview('workspace/two\nlines.js');
      assert.equal(code, 0, err);
      assert.match(out, /^- `open`: “Opens doors.” \(`two\\nlines\.js:1-4`\)\n/);
    } finally {
      rmSync(join(workspace, 'two\nlines.js'));
    }
  });

  const wrong: [string, string[], RegExp, number][] = [
    ['no such path', ['workspace/none.js'], /There is no file or folder .*none\.js/, 1],
    ['no such lines', ['workspace/lib/door.js', '--lines', '9-12'], /--lines 9-12: give lines/, 2],
    ['lines of a folder', ['workspace', '--lines', '1-2'], /workspace is a folder/, 2],
    ['lines of what has none', ['door.bin', '--lines', '1'], /door\.bin has no lines to be read: binary/, 2],
    ['changes of a file', ['workspace/lib/door.js', '--changes'], /Changes are those of a whole workspace/, 2],
    ['no commit yet', ['workspace', '--changes'], /no commit yet/, 1],
  ];
  for (const [name, args, message, expected] of wrong) {
    test(`wrong: ${name}: one line that says so`, () => {
      const { code, out, err } = longview(...args);
      assert.equal(code, expected, err);
      assert.equal(out, '');
      assert.match(err, message);
      assert.match(err, /^longview: [^\n]+\n$/);
    });
  }
});
