/** From a question to lines: blocks, words, ranking, and recall over a folder with a fake engine. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { blocksOf, linesOf } from '../../src/memory/blocks.js';
import { TermIndex, bm25, bm25OfTexts, questionTerms, termsOf } from '../../src/memory/lexical.js';
import { distinct, fusedScores, standardised } from '../../src/memory/rank.js';
import { FileLines, MOST_CHARACTERS, cutText, recalledTexts, shownText } from '../../src/memory/recalled-text.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const python = `import os

LIMIT = 3


class Session:
    """Keeps connections."""

    def __init__(self, retries=LIMIT):
        self.retries = retries
        self.pool = {}

    @property
    def size(self):
        if self.pool:
            return len(self.pool)
        return 0


def open_session(
    retries,
    timeout=None,
):
    session = Session(retries)
    return session
`;

suite('blocks', () => {
  const spans = (path: string, text: string): string[] =>
    blocksOf(path, linesOf(text)).map(block => `${block.startLine}-${block.endLine}`);

  test('Python: a class and its methods with decorators, functions with long heads, the rest as paragraphs', () => {
    // 1-3 imports and constant, 6-17 the class, 9-11 and 13-17 its methods (with @property), 20-25 the function.
    assert.deepEqual(spans('a.py', python), ['1-3', '6-17', '9-11', '13-17', '20-25']);
  });

  test('braces: comments belong to what follows, callbacks and control flow are no blocks of their own', () => {
    const text = [
      '/** Adds. */', // 1
      'export function add(a: number, b: number): number {',
      '  for (const x of [a]) {',
      '    log(x);',
      '  }',
      '  return a + b;',
      '}', // 7
      '',
      'class Box {', // 9
      '  items = [];',
      '  map(f: Mapper): Box {',
      '    this.items.forEach(item => {',
      '      f(item);',
      '    });',
      '  }', // 15
      '}', // 16
    ].join('\n');
    assert.deepEqual(spans('a.ts', text), ['1-7', '9-16', '11-15']);
  });

  test('a brace on its own line opens the body of the line above', () => {
    const text = ['int main(void)', '{', '    return 0;', '}', '', 'static int x;'].join('\n');
    assert.deepEqual(spans('a.c', text), ['1-4', '6-6']);
  });

  test('the head is below comments and decorators', () => {
    const heads = blocksOf('a.py', linesOf('# Note\n@cached\ndef f(x):\n    return x\n')).map(block => block.headLine);
    assert.deepEqual(heads, [3]);
    assert.deepEqual(
      blocksOf('a.md', ['# Top', 'text']).map(block => block.headLine),
      [1],
    );
  });

  test('Markdown: sections hold their subsections; a heading in a code fence is none', () => {
    const text = ['# Top', 'Intro.', '', '## Setup', 'Run it.', '```', '# not a heading', '```', '## Use', 'Call it.'];
    assert.deepEqual(spans('README.md', text.join('\n')), ['1-10', '1-2', '4-8', '9-10']);
  });

  test('flat data is cut into even windows of about 20 lines', () => {
    const text = Array.from({ length: 65 }, (_, at) => `${at},x`).join('\n');
    assert.deepEqual(spans('a.csv', text), ['1-17', '18-34', '35-51', '52-65']);
  });

  test('every line that is not blank is in a block of at most 60 lines, whatever the text', () => {
    const line = fc.oneof(
      fc.constantFrom(
        '',
        'def f(x):',
        'if x {',
        '}',
        '# Head',
        '// note',
        '@deco',
        '{',
        ') {',
        '#ifdef X',
        'a = 1',
        '===',
      ),
      fc.string(),
    );
    const indented = fc.tuple(fc.constantFrom('', '  ', '    ', '\t', '        '), line).map(([a, b]) => a + b);
    fc.assert(
      fc.property(fc.array(indented, { maxLength: 150 }), fc.constantFrom('a.py', 'a.md'), (texts, path) => {
        const lines = linesOf(texts.join('\n'));
        const covered = new Set<number>();
        for (const { startLine, endLine } of blocksOf(path, lines)) {
          assert.ok(startLine >= 1 && endLine <= lines.length && endLine - startLine < 61, `${startLine}-${endLine}`);
          for (let at = startLine; at <= endLine; at++) covered.add(at);
        }
        lines.forEach((text, at) => assert.ok(text.trim() === '' || covered.has(at + 1), `line ${at + 1}: ${text}`));
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});

suite('words', () => {
  test('identifiers are split, and kept whole', () => {
    assert.deepEqual(termsOf('parseHTTPHeader max_retries'), [
      'parsehttpheader',
      'pars',
      'http',
      'header',
      'max_retries',
      'max',
      'retry',
    ]);
  });

  test('forms of a word meet; writing without spaces gives pairs', () => {
    assert.deepEqual(new Set(termsOf('retry retries')), new Set(['retry']));
    assert.deepEqual(termsOf('parsing parsed parse'), ['pars', 'pars', 'pars']);
    assert.deepEqual(termsOf('超时重试'), ['超时', '时重', '重试']);
  });

  test('a question loses its words of asking, unless it has no others', () => {
    assert.deepEqual(questionTerms('Where is the timeout of a request handled?'), ['timeout', 'request', 'handl']);
    assert.deepEqual(questionTerms('what is this'), ['what', 'is', 'this']);
  });

  test('BM25 as by hand', async () => {
    const index = await TermIndex.of(['alpha beta', 'beta', 'gamma gamma']);
    const blocks = [
      { startLine: 1, endLine: 1 },
      { startLine: 2, endLine: 2 },
      { startLine: 3, endLine: 3 },
    ];
    const [first, second, third] = await bm25(['alpha'], [{ index, blocks }]);
    // Lengths 2, 1, 2, mean 5/3; one of three has it: idf ln(1 + 2.5/1.5); it stands in the block's first line, so tf is 1 + 2.
    assert.ok(
      Math.abs(first! - (Math.log(1 + 2.5 / 1.5) * 3 * 2.2) / (3 + 1.2 * (0.25 + (0.75 * 2) / (5 / 3)))) < 1e-12,
    );
    assert.deepEqual([second, third], [0, 0]);
  });

  test('BM25 of whole texts as by hand; a term of the path counts as one of a naming line', async () => {
    const texts = [
      { path: 'src/alphaRouter.ts', index: await TermIndex.of(['alpha beta', 'beta']) },
      { path: 'b.ts', index: await TermIndex.of(['alpha', 'gamma', 'alpha']) },
      { path: 'c.ts', index: await TermIndex.of(['delta', 'delta', 'delta']) },
    ];
    // Each of three terms; two of three texts have "alpha": idf ln(1 + 1.5/2.5). Of the first, tf is 1 + 2 by its path.
    const idf = Math.log(1 + 1.5 / 2.5);
    const [first, second, third] = await bm25OfTexts(['alpha'], texts);
    assert.ok(Math.abs(first! - (idf * 3 * 2.2) / (3 + 1.2)) < 1e-12);
    assert.ok(Math.abs(second! - (idf * 2 * 2.2) / (2 + 1.2)) < 1e-12);
    assert.equal(third, 0);
  });
});

suite('ranking', () => {
  // One key head, two slots: slot 0 has two tokens of line 1 and one of line 2, slot 1 one token of line 3.
  const provenance = {
    slotStart: Uint32Array.of(0, 2, 3),
    lines: Uint32Array.of(1, 2, 3),
    weights: Uint16Array.of(2, 1, 1),
  };

  test('the stretches of a file own its lines once and know the parts that their blocks touch', () => {
    const part = (path: string, firstLine: number, lines: number) => ({
      ...{ path, key: '', contentHash: 'h', firstLine, slots: 0, ram: 0, provenance },
      tokens: new Float64Array(lines + 1),
    });
    // b.txt: lines 1 to 200, 201 to 300; line 300 is cut twice, so two parts begin in it.
    const parts = [part('a.txt', 1, 9), part('b.txt', 1, 200), part('b.txt', 201, 100), part('b.txt', 300, 1)];
    const texts = recalledTexts([...parts, part('b.txt', 300, 50)]);
    assert.deepEqual(
      texts.map(({ path, firstLine, lastLine, parts: touched }) => [path, firstLine, lastLine, touched.join()]),
      [
        ['a.txt', 1, Infinity, '0'],
        ['b.txt', 1, 200, '1,2'],
        ['b.txt', 201, 299, '2,3,4'],
        ['b.txt', 300, Infinity, '2,3,4'],
      ],
    );
  });

  test('the stretches of a text have its blocks between them, and every line of them', async () => {
    const lines = Array.from({ length: 400 }, (_, at) => (at % 7 === 3 ? '' : `word${at} in line ${at + 1}`));
    const all = await FileLines.of(lines.join('\r\n'));
    assert.deepEqual(
      [all.count, all.between(3, 4), all.between(399, 900)],
      [400, ['word2 in line 3', ''], lines.slice(398)],
    );
    const covered = new Set<number>();
    for (const [firstLine, lastLine] of [
      [1, 130],
      [131, 290],
      [291, Infinity],
    ] as const) {
      const cut = await cutText({ path: 'a.txt', contentHash: '', firstLine, lastLine, parts: [] }, all);
      for (const block of cut.blocks) {
        assert.ok(block.startLine >= firstLine && block.startLine <= lastLine);
        for (let line = block.startLine; line <= block.endLine; line++) covered.add(line);
        const middle = block.startLine + Math.floor((block.endLine - block.startLine) / 2);
        if (lines[middle - 1] !== '') assert.equal(cut.terms.count(`word${middle - 1}`, block), 1);
      }
    }
    lines.forEach((line, at) => assert.ok(line === '' || covered.has(at + 1), `line ${at + 1}`));
  });

  test('scores are attention, words and, 1.2 times as much, the words of the text, in standard deviations', () => {
    // Of two values the standardised ones are -1 and 1.
    const scores = fusedScores({ attention: [5, 9], words: [2, 1], wordsOfText: [0, 3] }, 0.25);
    assert.deepEqual(
      scores.map(score => Number(score.toFixed(12))),
      [-1 + 0.25 * (1 - 1.2), 1 + 0.25 * (-1 + 1.2)].map(score => Number(score.toFixed(12))),
    );
    // Blocks of one text: its words tell nothing.
    assert.deepEqual(fusedScores({ attention: [5, 9], words: [0, 0], wordsOfText: [4, 4] }, 0.25), [-1, 1]);
  });

  test('standard scores put what has none last', () => {
    assert.deepEqual(standardised([1, 3, -Infinity]), [-1, 1, -1]);
    assert.deepEqual(standardised([-Infinity]), [0]);
  });

  test('of overlapping places the better one stays, and only so many of a file before all others', () => {
    const at = (path: string, startLine: number, endLine: number, score: number) => ({
      path,
      startLine,
      endLine,
      score,
    });
    const all = [at('a', 1, 9, 1), at('a', 3, 5, 2), at('a', 20, 25, 0.5), at('a', 30, 31, 0.4), at('b', 1, 2, 0.3)];
    assert.deepEqual(
      [...distinct(all, 2)].map(({ path, startLine }) => `${path}:${startLine}`),
      ['a:3', 'a:20', 'b:1', 'a:30'],
    );
  });
});

suite('places of very long lines', () => {
  test('text is shown up to its limit, its last line and what is left out are told', async () => {
    const at = async (text: string, last: number): Promise<ReturnType<typeof shownText>> =>
      shownText(await FileLines.of(text), 1, last);
    assert.deepEqual(await at('a\nb\nc', 2), { endLine: 2, text: 'a\nb' });
    const long = `one\n${'x'.repeat(5_000_000)}\nlast`;
    // 4 characters are the first line and its end.
    const shown = { endLine: 2, text: `one\n${'x'.repeat(MOST_CHARACTERS - 4)}` };
    assert.deepEqual(await at(long, 3), { ...shown, cut: long.length - MOST_CHARACTERS });
    // A character of two code units stays whole.
    const wide = `a${'🙂'.repeat(MOST_CHARACTERS)}`;
    assert.deepEqual(await at(wide, 1), {
      endLine: 1,
      text: `a${'🙂'.repeat(MOST_CHARACTERS / 2 - 1)}`,
      cut: wide.length - MOST_CHARACTERS + 1,
    });
  });
});

suite('recall over a folder', () => {
  let folder: Folder;
  const engine = new FakeEngine();
  suiteSetup(async () => {
    folder = await Folder.of({
      'session.py': python,
      'guide.md': '# Guide\n\nIntroduction to everything.\n\n## Proxies\n\nSet the proxy address in the environment.\n',
      'tls.go': 'package tls\n\nfunc verifyCertificate(chain []byte) error {\n\treturn check(chain)\n}\n',
    });
  });
  suiteTeardown(() => folder.dispose());

  for (const lexicalWeight of [0, 0.5]) {
    test(`finds the exact lines, words weighing ${lexicalWeight}`, async () => {
      const memory = await folder.memory(new FakeEngine(), { lexicalWeight });
      await memory.refresh();
      const [proxy] = await memory.recall('proxy address environment', { limit: 3 });
      assert.deepEqual([proxy?.path, proxy?.startLine, proxy?.endLine], ['guide.md', 5, 7]);
      assert.equal(proxy?.text, '## Proxies\n\nSet the proxy address in the environment.');
      const [certificate] = await memory.recall('verify certificate chain', { limit: 1 });
      assert.deepEqual([certificate?.path, certificate?.startLine, certificate?.endLine], ['tls.go', 3, 5]);
    });
  }

  test('slots go to the engine once', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    await memory.recall('proxy', { limit: 2 });
    await memory.recall('session', { limit: 2 }); // The fake throws when slots are put twice.
    assert.equal(engine.recall.size, 3);
  });

  test('an engine that lost its slots gets them again', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    engine.restart();
    await memory.recall('proxy', { limit: 1 });
    engine.restart();
    assert.equal((await memory.recall('proxy address', { limit: 1 }))[0]?.path, 'guide.md');
    // Also between the first score and the second, which asks for the same slots.
    engine.beforeSpans = () => engine.restart();
    assert.equal((await memory.recall('proxy address', { limit: 1 }))[0]?.path, 'guide.md');
    assert.equal(engine.beforeSpans, undefined);
  });

  test('a file that changed on disk is left out and marked stale', async () => {
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    await memory.recall('proxy address', { limit: 1 });
    await folder.write('guide.md', '# Guide\n\nNothing about it.\n');
    const spans = await memory.recall('proxy address', { limit: 5 });
    assert.ok(spans.every(span => span.path !== 'guide.md'));
    assert.equal(memory.coverage().stale, 1);
    assert.deepEqual(await memory.source('guide.md'), { ok: false, reason: 'file changed since it was read' });
  });

  test('nothing read, nothing recalled, and no engine for it', async () => {
    const empty = await Folder.of({});
    try {
      const memory = await empty.memory(() => Promise.reject(new Error('must not start')));
      assert.deepEqual(await memory.recall('anything', { limit: 3 }), []);
    } finally {
      await empty.dispose();
    }
  });
});
