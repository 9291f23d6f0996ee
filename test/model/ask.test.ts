/**
 * The whole way with the real model, through the command line: read, ask, ask again, edit, stop, forget.
 * The text is commander's, a dependency that nothing here was tuned on; which file answers is known from reading it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AskResult } from '../../src/assist/index.js';
import type { FileStatus, ReadReport, WorkspaceStatus } from '../../src/memory/index.js';
import { dataFolder } from '../../src/models/index.js';

const files = ['lib/argument.js', 'lib/error.js', 'lib/option.js', 'lib/suggestSimilar.js'];

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

suite('ask with the real model', function () {
  this.timeout(600_000);
  let scratch: string;
  let workspace: string;
  let data: string;

  suiteSetup(() => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'longview-model-')));
    workspace = join(scratch, 'workspace');
    data = join(scratch, 'data');
    mkdirSync(data);
    // A store of its own, beside the installed models.
    symlinkSync(join(dataFolder(), 'models'), join(data, 'models'), 'junction');
    for (const file of files) cpSync(join('node_modules/commander', file), join(workspace, file));
  });
  suiteTeardown(() => rmSync(scratch, { recursive: true, force: true }));

  /** Runs a command; `onErr` sees what it says on stderr, and may stop it. */
  function longview(args: readonly string[], onErr?: (text: string, stop: () => void) => void): Promise<Outcome> {
    const child = spawn(process.execPath, [resolve('out/src/cli/main.js'), ...args, '--data', data], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
      onErr?.(text, () => child.kill('SIGINT'));
    });
    return new Promise(done => child.once('close', code => done({ code, out, err })));
  }

  async function json<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await longview([...args, '--json']);
    assert.equal(code, 0, err);
    return JSON.parse(out) as T;
  }

  const linesOf = (file: string): number => readFileSync(join(workspace, file), 'utf8').split('\n').length;

  test('Ctrl-C while it reads: ends with code 130, says so, keeps what was read', async () => {
    let stopped = false;
    const { code, out, err } = await longview(['read', workspace], (text, stop) => {
      if (!stopped && text.includes('Reading')) {
        stopped = true;
        stop();
      }
    });
    assert.equal(code, 130, err);
    assert.equal(out, '');
    assert.match(err, /what is done is kept/);
    const status = await json<WorkspaceStatus>('status', workspace);
    assert.equal(status.coverage.total, files.length);
    assert.ok(status.coverage.read < files.length, 'it was stopped before the end');
  });

  test('the file that answers is among the first three places; citations that passed exist', async () => {
    const question = 'Which function computes the edit distance between two words?';
    const result = await json<AskResult>('ask', workspace, question, '--max-tokens', '60');
    const first = result.recalled.slice(0, 3).map(place => place.path);
    assert.ok(first.includes('lib/suggestSimilar.js'), first.join(', '));
    for (const { path, startLine, endLine } of [...result.recalled, ...result.citations.filter(place => place.ok)]) {
      assert.ok(files.includes(path), path);
      assert.ok(startLine >= 1 && startLine <= endLine && endLine <= linesOf(path), `${path}:${startLine}-${endLine}`);
    }
    assert.deepEqual(result.coverage, { total: 4, read: 4, stale: 0, waiting: 0, coarse: 0, skipped: 0 });
    assert.ok(result.answer.endsWith('4 of 4 files read, 0 stale, 0 skipped'), result.answer);
    const { timing } = result;
    assert.ok(timing.readTokens > 0 && timing.writtenTokens > 0 && timing.writtenTokens <= 60);
    assert.ok(timing.readMs <= timing.firstTokenMs && timing.firstTokenMs <= timing.totalMs);
    assert.equal(result.model, 'smollm2-135m-instruct');
    assert.equal(result.provider, 'cpu');
  });

  test('a second question reads nothing again, in text form the answer alone is on stdout', async () => {
    const { code, out, err } = await longview([
      'ask',
      workspace,
      'Which error means an invalid argument?',
      '--max-tokens',
      '40',
    ]);
    assert.equal(code, 0, err);
    assert.match(err, /^Recalled: lib\//m);
    assert.doesNotMatch(err, /tokens in/, 'nothing was read');
    assert.match(out, /4 of 4 files read, 0 stale, 0 skipped\n$/);
    assert.doesNotMatch(out, /Recalled: /);
  });

  test('after an edit only that file is read again', async () => {
    const before = await json<WorkspaceStatus>('status', workspace);
    appendFileSync(join(workspace, 'lib/error.js'), '\n// One line more.\n');
    const report = await json<ReadReport>('read', workspace);
    assert.equal(report.filesRead, 1);
    const status = await json<WorkspaceStatus & { files: FileStatus[] }>('status', workspace, '--files');
    const edited = status.files.find(file => file.path === 'lib/error.js')!;
    assert.equal(edited.state, 'read');
    assert.equal(report.tokensRead, edited.tokens);
    assert.ok(status.tokens > before.tokens, 'the new line counts');
    assert.ok(status.state.slots > 0 && status.state.bytes > 0 && status.recall.slots > 0 && status.store.bytes > 0);
  });

  test('--now answers without looking for changes', async () => {
    appendFileSync(join(workspace, 'lib/error.js'), '// And one more.\n');
    const result = await json<AskResult>('ask', workspace, 'What is an option?', '--now', '--max-tokens', '8');
    assert.equal(result.timing.readTokens, 0);
    assert.equal(result.timing.readMs, 0);
    assert.ok(
      result.recalled.every(place => place.path !== 'lib/error.js'),
      'a changed file is never quoted',
    );
  });

  test('forget: the file is out of the memory', async () => {
    const before = await json<WorkspaceStatus>('status', workspace);
    const { forgotten } = await json<{ forgotten: string }>('forget', workspace, 'lib/option.js');
    assert.equal(forgotten, 'lib/option.js');
    const result = await json<AskResult>('ask', workspace, 'What is an option?', '--now', '--max-tokens', '8');
    assert.ok(result.recalled.every(place => place.path !== 'lib/option.js'));
    const after = await json<WorkspaceStatus>('status', workspace);
    assert.ok(after.tokens < before.tokens, `${after.tokens} < ${before.tokens}`);
  });
});
