/** Which names of a line are looked up, and the words of a hover. Right values are written out by hand. */
import assert from 'node:assert/strict';
import { escapeMarkdown, hintText, hoverMarkdown } from '../../src/extension/definition-text.js';
import { nameAt, namesIn, sharedUse } from '../../src/extension/names-in-line.js';
import type { DefinitionCandidate, RecallAtReply } from '../../src/protocol/index.js';

suite('names in a line', () => {
  const names = (line: string, languageId: string): string[] =>
    namesIn(line, languageId).map(({ name, isCall }) => (isCall ? `${name}()` : name));

  test('identifiers of code: no keywords, no numbers, no single letters', () => {
    assert.deepEqual(names('  return await pool.take<T>(x, 0xff, limit);', 'typescript'), ['pool', 'take()', 'limit']);
    assert.deepEqual(names('def send(self, timeout=None):', 'python'), ['send()', 'timeout']);
  });

  test('a string is a name or prose', () => {
    assert.deepEqual(names(`config.get("max_retries", 'not a name')`, 'python'), ['config', 'get()', 'max_retries']);
    assert.deepEqual(names(`log("it's in readFile here")`, 'javascript'), ['log()', 'readFile']);
    assert.deepEqual(names(`fn f<'a>(text: &'a Reader)`, 'rust'), ['text', 'Reader']);
  });

  test('comments and documents: only what looks like a name or is marked as one', () => {
    assert.deepEqual(names('x(); // then call `close` or readText again', 'typescript'), ['close', 'readText']);
    assert.deepEqual(names(' * Opens with readText, as usual.', 'typescript'), ['readText']);
    assert.deepEqual(names('a_b: 1 # the max_retries of it', 'yaml'), ['a_b', 'max_retries']);
    assert.deepEqual(names('Use `take` or read_text for it.', 'markdown'), ['take', 'read_text']);
  });

  test('at a character: inside the name or just behind it', () => {
    assert.deepEqual(nameAt('ab.cde(', 3, 'python'), { name: 'cde', start: 3, end: 6, isCall: true });
    assert.equal(nameAt('ab.cde(', 6, 'python')?.name, 'cde');
    assert.equal(nameAt('ab.cde(', 7, 'python'), undefined);
    assert.deepEqual(namesIn('x'.repeat(2001), 'python'), []);
  });

  test('uses that share an answer: of one name after one receiver, and never after one that depends on the place', () => {
    const key = (line: string): string | undefined => sharedUse(line, namesIn(line, 'typescript').at(-1)!);
    assert.equal(key('  return close('), 'close');
    assert.equal(key('  pool.close('), 'pool.close');
    assert.equal(key('  a.pool?.close('), 'a.pool.close');
    assert.equal(key('  Pool::close('), 'Pool.close');
    for (const alone of ['this.close(', 'self.pool.close(', '  .close(', 'open().close(', 'all[0].close('])
      assert.equal(key(alone), undefined, alone);
  });
});

suite('hover text', () => {
  const translate = (message: string, ...args: string[]): string =>
    message.replace(/\{(\d)\}/g, (_, at: string) => args[Number(at)]!);
  const linkTo = ({ path, startLine }: DefinitionCandidate): string => `file:///w/${path}#L${startLine}`;
  const text = (reply: RecallAtReply): string | undefined => hoverMarkdown(reply, { translate, linkTo });
  const candidate = (path: string, signature = 'def send(x):', documentation?: string): DefinitionCandidate => ({
    path,
    startLine: 3,
    endLine: 9,
    score: 1,
    name: 'send',
    signature,
    languageId: 'python',
    ...(documentation === undefined ? {} : { documentation }),
  });

  test('one: signature, documentation, link, how', () => {
    assert.equal(
      text({
        candidates: [candidate('lib/a.py', 'def send(x):', 'Sends.\nTwice.')],
        certainty: 'one',
        how: 'only one',
      }),
      '```python\ndef send(x):\n```\n\nSends\\.  \nTwice\\.\n\n[lib/a\\.py:3](file:///w/lib/a.py#L3)  \n*Longview: only one*',
    );
  });

  test('several: worded as possible, at most three, with what is left', () => {
    const paths = ['a.py', 'b.py', 'c.py', 'd.py', 'e.py'];
    const shown = text({ candidates: paths.map(path => candidate(path)), certainty: 'ranked', how: '5 of them' })!;
    assert.ok(shown.startsWith('May be one of these:\n\n1. [a\\.py:3](file:///w/a.py#L3)\n\n```python'), shown);
    assert.ok(shown.endsWith('2 more with Recall at Cursor  \n*Longview: 5 of them*'), shown);
    assert.equal(shown.includes('d\\.py'), false);
  });

  test('one that is not certain: worded as possible', () => {
    const shown = text({ candidates: [candidate('a.py')], certainty: 'ranked', how: 'but' })!;
    assert.ok(shown.startsWith('May be this one:\n\n[a\\.py:3]'), shown);
  });

  test('none: no hover', () => {
    assert.equal(text({ candidates: [], certainty: 'none', how: 'nothing' }), undefined);
    assert.equal(text({ candidates: [candidate('a.py')], certainty: 'none', how: 'nothing' }), undefined);
  });

  test('text of the workspace is never markup: no picture, link, HTML or fence comes through', () => {
    assert.equal(
      escapeMarkdown('![x](https://evil.example/a.png) <img src=x> **b** `c`'),
      '\\!\\[x\\]\\(https&#58;//evil\\.example/a\\.png\\) &lt;img src=x\\> \\*\\*b\\*\\* \\`c\\`',
    );
    const shown = text({ candidates: [candidate('a.py', 'x = """\n```\n![y](z)')], certainty: 'one', how: 'x' })!;
    assert.ok(shown.startsWith('````python\n'), 'the fence is longer than the one inside');
  });

  test('what reorders text, and control characters, are made visible: code reads as it runs', () => {
    const hidden = candidate('lib/\u202epy.a', 'def send(x):  # \u2066admin\u2069', 'Sends.\u202e\u001b');
    const shown = text({ candidates: [hidden], certainty: 'one', how: 'only one' })!;
    assert.match(shown, /def send\(x\): {2}# \[U\+2066\]admin\[U\+2069\]\n/);
    assert.match(shown, /Sends\\\.\\\[U\\\+202E\\\]␛\n/);
    assert.match(shown, /\[lib\/\\\[U\\\+202E\\\]py\\\.a:3\]/);
    assert.equal(hintText({ path: '\u202ex.ts', startLine: 1 }), '→ [U+202E]x.ts:1');
  });

  test('hint', () => assert.equal(hintText({ path: 'src/x.ts', startLine: 12 }), '→ src/x.ts:12'));
});
