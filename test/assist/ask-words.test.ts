/** What of a model's words is left in an answer: places, names of code, and of a small model sentences beside the lines. */
import assert from 'node:assert/strict';
import { ask } from '../../src/assist/index.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import type { FakeEngine } from '../memory/fake-engine.js';
import type { Folder } from '../memory/folder.js';
import { openAskFolder, question, retry } from './ask-folder.js';

suite('words of an answer', () => {
  let folder: Folder;
  let engine: FakeEngine;
  let memory: WorkspaceMemory;
  setup(async () => {
    ({ folder, engine, memory } = await openAskFolder());
  });
  teardown(() => folder.dispose());

  test('names of code that stand in no file recalled are struck out, the first time with the reason', async () => {
    engine.answer =
      'In src/retry.py:1, `send_with_backoff` calls `wait(2)`, then `retryPolicy.apply()` and max_tries, not `retryPolicy.apply()`.';
    const result = await ask({ memory, engine, question });
    assert.equal(
      result.answer.split('\n')[0],
      'In `src/retry.py:1`, `send_with_backoff` calls `wait(2)`, then ~~retryPolicy.apply()~~ (not in the files recalled) ' +
        'and ~~max_tries~~ (not in the files recalled), not ~~retryPolicy.apply()~~.',
    );
    assert.deepEqual(result.unknownNames, ['retryPolicy.apply()', 'max_tries']);
  });

  test('a name in another part of a file that was recalled, in the question or in a path is no made-up one', async () => {
    const far = `${'pass\n'.repeat(400)}def far_away():\n    pass\n`;
    await folder.write('src/retry.py', `${retry}${far}`);
    await folder.write('lib/other_name.py', 'pass\n');
    engine.answer = 'Not `far_away`, `asked_for`, other_name or lib/other_name.py:1.';
    const result = await ask({ memory, engine, question: `${question} Is it asked_for?` });
    assert.deepEqual(result.unknownNames, []);
    assert.equal(result.answer.split('\n')[0], 'Not `far_away`, `asked_for`, other_name or `lib/other_name.py:1`.');
  });

  test('a place behind code on its line is a place', async () => {
    engine.answer = '`wait` in src/retry.py:3, `send`, and `src/close.py:1`.';
    const result = await ask({ memory, engine, question });
    assert.equal(result.answer.split('\n')[0], '`wait` in `src/retry.py:3`, `send`, and `src/close.py:1`.');
  });

  test('of a small model: the best places in their own lines at once, then what rests on them; nothing else', async () => {
    Object.assign(engine, { model: { ...engine.model, heads: 1, headSize: 16 } });
    const quote = `\`src/retry.py:1-4\`\n\n\`\`\`\n${retry.trimEnd()}\n\`\`\``;
    engine.answer =
      'In `src/retry.py:1-4`, the request does wait(2) with backoff. It uses the `RetryManager` of Enterprise 7.';
    let told = '';
    const result = await ask({ memory, engine, question }, { onText: text => (told += text) });
    const other = '`src/close.py:1-2`\n\n```\ndef close(pool):\n    pool.clear()\n```';
    const sentence = 'In `src/retry.py:1-4`, the request does wait(2) with backoff.';
    assert.equal(told, `${quote}\n\n${other}\n\n${sentence}`);
    assert.equal(result.answer, `${told}\n\n2 of 3 files read, 0 stale, 1 skipped`);
    assert.deepEqual(
      result.citations.map(({ path, startLine, endLine, ok }) => [path, startLine, endLine, ok]),
      [
        ['src/retry.py', 1, 4, true],
        ['src/close.py', 1, 2, true],
      ],
    );
    engine.answer = 'Developers configure many enterprise policies here.';
    const none = await ask({ memory, engine, question });
    assert.match(
      none.answer,
      /\n\nThe model wrote no sentence that rests on the places recalled; they may not answer the question\.\n\n/,
    );
    assert.ok(none.answer.startsWith(quote));
  });

  test('of a small model about a selection: its place, without the lines that the user sees', async () => {
    Object.assign(engine, { model: { ...engine.model, heads: 1, headSize: 16 } });
    engine.answer = 'Nothing of that.';
    const selection = {
      path: 'src/retry.py',
      startLine: 2,
      endLine: 3,
      text: retry.split('\n').slice(1, 3).join('\n'),
    };
    const { answer, citations } = await ask({ memory, engine, question, selection });
    assert.ok(answer.startsWith('`src/retry.py:2-3` (selected)\n\n`src/close.py:1-2`\n\n```\n'), answer);
    assert.deepEqual(citations[0], { path: 'src/retry.py', startLine: 2, endLine: 3, ok: true });
  });
});
