/** A summary in the Ask view, over a fake server: what is shown and copied, stopping, making it again, waiting for a model. */
import assert from 'node:assert/strict';
import type { AskSession } from '../../src/extension/ask-session.js';
import type { ExchangeView, SummaryReply, SummarySentence } from '../../src/protocol/index.js';
import { FakeServer, offer, reply, sessionOver, settle } from './ask-server.js';

const sentence = (text: string, startLine: number): SummarySentence => ({
  text,
  places: [{ path: 'lib/a.js', startLine, endLine: startLine + 5 }],
  quoted: false,
});
const summaryReply: SummaryReply = {
  summary: [sentence('Opens a `door`.', 1), sentence('Shuts it.', 10)],
  notes: ['Deleted: `lib/b.js`.'],
  coverage: reply.coverage,
  basis: 'The sentences are about 2 of 3 sections, 1 file.',
  timing: { totalMs: 2340, readTokens: 7, writtenTokens: 9 },
  model: 'tiny',
};

suite('summary in the ask session', () => {
  let server: FakeServer;
  let session: AskSession;
  setup(() => {
    server = new FakeServer();
    ({ session } = sessionOver(server));
  });
  const latest = (): ExchangeView => session.state.exchanges[0]!;
  const summaryOf = {
    folder: 'file:///b',
    target: { kind: 'file', path: 'lib/a.js' },
    title: 'Summary of lib/a.js',
  } as const;

  test('a summary: sentence by sentence with links to its lines, then notes, basis and figures; copied as Markdown', async () => {
    const making = session.summarize(summaryOf);
    await settle();
    assert.equal(server.last.method, 'longview/summarize');
    assert.deepEqual(server.last.params, { folder: 'file:///b', target: summaryOf.target, maxSentences: undefined });
    assert.deepEqual([latest().kind, latest().title, latest().folder], ['summary', 'Summary of lib/a.js', 'b']);
    const listener = server.last.listener!;
    listener.onSentence!(summaryReply.summary[0]!);
    listener.onProgress!({ id: '1', task: 'Summarizing', done: 1, total: 2, unit: 'steps', item: 'lib/a.js' });
    assert.deepEqual(
      [latest().phase, latest().progress, latest().fraction],
      ['writing', 'Summarizing · lib/a.js', 0.5],
      'progress goes on beside the sentences',
    );
    const place = { path: 'lib/a.js', startLine: 1, endLine: 6 };
    assert.deepEqual(latest().blocks, [
      {
        kind: 'list',
        ordered: false,
        items: [
          [
            { kind: 'text', text: 'Opens a ' },
            { kind: 'code', text: 'door' },
            { kind: 'text', text: '.' },
            { kind: 'text', text: ' (' },
            { kind: 'place', text: 'lib/a.js:1-6', place },
            { kind: 'text', text: ')' },
          ],
        ],
      },
    ]);
    server.last.answer(summaryReply);
    const exchange = await making;
    assert.deepEqual(
      [latest().phase, latest().coverage, latest().figures],
      ['done', summaryReply.basis, '7 tokens read · 2.3 s · tiny'],
    );
    assert.deepEqual(
      latest().blocks.map(block => (block.kind === 'list' ? block.items.length : block.kind)),
      [2, 'paragraph'],
    );
    assert.ok(exchange!.mayOpen(place));
    assert.ok(!exchange!.mayOpen({ path: 'lib/b.js', startLine: 1, endLine: 1 }));
    assert.equal(
      exchange!.copied,
      '# Summary of lib/a.js\n\n- Opens a `door`. (lib/a.js:1-6)\n- Shuts it. (lib/a.js:10-15)\n\n' +
        'Deleted: `lib/b.js`.\n\n---\n\nThe sentences are about 2 of 3 sections, 1 file.',
    );
    assert.equal(exchange!.document, `${exchange!.copied}\n\n7 tokens read · 2.3 s · tiny\n`);
    assert.deepEqual(session.state.box.history, [], 'it is no question');
  });

  test('a summary that is stopped keeps its sentences; it can be made again, and a question stops it', async () => {
    const making = session.summarize(summaryOf);
    await settle();
    server.last.listener!.onSentence!(summaryReply.summary[0]!);
    await session.stop();
    const stopped = (await making)!;
    assert.deepEqual(
      [stopped.view.phase, stopped.view.problem, stopped.view.remedies, stopped.view.blocks.length],
      ['stopped', 'Stopped.', ['summarizeAgain'], 1],
    );
    const again = session.again(stopped);
    await settle();
    assert.deepEqual(server.last.params, { folder: 'file:///b', target: summaryOf.target, maxSentences: undefined });
    const asking = session.ask({ question: 'Where?' });
    assert.equal((await again)!.view.phase, 'stopped');
    await settle();
    server.last.answer(reply);
    await asking;
    assert.deepEqual(
      session.state.exchanges.map(({ id, phase }) => [id, phase]),
      [
        [3, 'done'],
        [2, 'stopped'],
        [1, 'stopped'],
      ],
    );
  });

  test('a summary waits for a model as a question does; control characters of a file’s words are shown, not obeyed', async () => {
    server.isInstalled = false;
    assert.equal(await session.summarize(summaryOf), undefined);
    assert.deepEqual(server.calls, []);
    const installing = session.install();
    await settle();
    server.isInstalled = true;
    server.last.answer({ ...offer, installed: true });
    await settle();
    assert.equal(server.last.method, 'longview/summarize');
    server.last.answer({ ...summaryReply, summary: [sentence('Red \u001b[31m.', 1)], notes: [] });
    const [block] = (await installing)!.view.blocks;
    assert.ok(block?.kind === 'list');
    assert.deepEqual(block.items[0]![0], { kind: 'text', text: 'Red ␛[31m.' });
  });
});
