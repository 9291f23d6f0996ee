/** Summaries over the fake engine: which sections get a sentence, what of the model's words is kept, places, cancellation. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { summarize, summaryCoverageLine, type SummarySentence } from '../../src/assist/index.js';
import { isFaithful } from '../../src/assist/faithful.js';
import { shares, spread } from '../../src/assist/summary-plan.js';
import { firstSentence, sectionsOf } from '../../src/assist/summary-sections.js';
import type { LongviewError } from '../../src/base/index.js';
import { linesOf, type WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from '../memory/fake-engine.js';
import { Folder } from '../memory/folder.js';

const pool = [
  '"""Keeps connections open between requests. More words."""',
  'import time',
  '',
  '',
  'def drain(pool, limit):',
  '    """Closes idle connections until at most limit are left."""',
  '    while len(pool.idle) > limit:',
  '        pool.idle.pop().close()',
  '',
  '',
  'def wait(seconds):',
  '    time.sleep(seconds)',
  '',
].join('\n');
const guide = '# Pool\n\nA pool of **connections**. It is small.\n\n## Limits\n\nAt most [ten](x.md) are open.\n';

const codeOf = (expected: string) => (error: unknown) => (error as LongviewError).code === expected;

suite('summarize', () => {
  let folder: Folder;
  let engine: FakeEngine;
  let memory: WorkspaceMemory;
  setup(async () => {
    folder = await Folder.of({ 'src/pool.py': pool, 'README.md': guide, 'logo.bin': '\0\0', 'empty.py': '' });
    engine = new FakeEngine();
    engine.answer = '';
    memory = await folder.memory(engine);
  });
  teardown(() => folder.dispose());
  const file = { kind: 'file', path: 'src/pool.py' } as const;

  test('a model that writes nothing: the author’s words in quotation marks, or the definition, each with its lines', async () => {
    const heard: SummarySentence[] = [];
    const result = await summarize({ memory, engine, target: file }, { onSentence: one => heard.push(one) });
    const place = (startLine: number, endLine: number) => [{ path: 'src/pool.py', startLine, endLine }];
    assert.deepEqual(result.summary, [
      { text: '“Keeps connections open between requests.”', places: place(1, 2), quoted: true },
      {
        text: '`drain`: “Closes idle connections until at most limit are left.”',
        places: place(5, 8),
        quoted: true,
      },
      { text: 'Defines `def wait(seconds)`.', places: place(11, 12), quoted: true },
    ]);
    assert.deepEqual(heard, result.summary, 'each sentence was told when it was there');
    assert.deepEqual(engine.reads, ['src/pool.py'], 'the other files wait');
    assert.deepEqual(result.coverage.sections, { total: 3, used: 3 });
    assert.deepEqual(result.coverage.files, { total: 1, used: 1 });
    assert.equal(result.coverage.read, 1);
    assert.ok(result.timing.readTokens > 0);
  });

  test('what the model writes over the lines is kept; it sees the exact lines and attends to the file’s state', async () => {
    engine.answer = request =>
      request.messages[1]!.content.includes('def drain') ? '`drain` closes idle connections of the pool.' : '';
    const { summary } = await summarize({ memory, engine, target: file });
    assert.deepEqual(summary[1], {
      text: '`drain` closes idle connections of the pool.',
      places: [
        { path: 'src/pool.py', startLine: 5, endLine: 8 },
        { path: 'src/pool.py', startLine: 1, endLine: 2 },
      ].slice(0, summary[1]!.places.length),
      quoted: false,
    });
    for (const prompt of engine.prompts) assert.match(prompt.states![0]!, /^gist:/);
    assert.ok(engine.prompts[1]!.messages[1]!.content.includes('        pool.idle.pop().close()'));
  });

  test('words from elsewhere, numbers and names of its own, loops and leftovers of the prompt are not kept', async () => {
    for (const bad of [
      '`drain` trains neural networks on graphics cards.',
      '`drain` closes 7 idle connections.',
      '`drain` closes idle connections with `shutdown_all`.',
      '`drain` closes idle connections, closes idle connections, closes idle connections.',
      'Say in one sentence what `drain` does.',
      '`drain` closes (idle connections.',
      '`drain`.',
    ]) {
      engine.answer = request => (request.messages[1]!.content.includes('def drain') ? bad : '');
      const { summary } = await summarize({ memory, engine, target: file });
      assert.equal(summary[1]?.quoted, true, `${bad} was kept`);
    }
  });

  test('the same sentence is never said twice', async () => {
    engine.answer = 'Closes idle connections of the pool.';
    const { summary } = await summarize({ memory, engine, target: { kind: 'workspace' } });
    const texts = summary.map(sentence => sentence.text.replace(/^`[^`]+`: /, ''));
    assert.equal(new Set(texts).size, texts.length, texts.join('\n'));
  });

  test('a folder: sentences begin with the path of their file; the workspace’s state is attended to', async () => {
    const { summary, coverage } = await summarize({ memory, engine, target: { kind: 'workspace' }, maxSentences: 2 });
    assert.deepEqual(
      summary.map(({ text, places }) => [text, places[0]!.path]),
      [
        ['`README.md`: “A pool of connections.”', 'README.md'],
        ['`src/pool.py`: “Keeps connections open between requests.”', 'src/pool.py'],
      ],
    );
    assert.match(engine.prompts[0]!.states![0]!, /^workspace:/);
    assert.deepEqual(coverage.files, { total: 2, used: 2 });
    const below = await summarize({ memory, engine, target: { kind: 'folder', path: 'src' } });
    assert.ok(below.summary.every(({ places }) => places.every(({ path }) => path === 'src/pool.py')));
    assert.deepEqual(below.coverage.files, { total: 1, used: 1 });
  });

  test('a selection is summarized as the editor shows it, before anything is read', async () => {
    const text = 'def unsaved():\n    """Not on the disk."""\n';
    const target = { kind: 'selection', path: 'src/new.py', startLine: 40, endLine: 41, text } as const;
    const { summary } = await summarize({ memory, engine, target });
    assert.deepEqual(summary, [
      {
        text: '`unsaved`: “Not on the disk.”',
        places: [{ path: 'src/new.py', startLine: 40, endLine: 41 }],
        quoted: true,
      },
    ]);
    assert.deepEqual(engine.reads, []);
  });

  test('a long file: as many sentences as asked for, spread over it; the coverage says of how many sections', async () => {
    const part = (at: number): string =>
      `def part${at}(x):\n    """Does step ${at} of many."""\n    return x + ${at}\n\n`;
    await folder.write('long.py', Array.from({ length: 100 }, (_, at) => part(at)).join('\n'));
    const { summary, coverage } = await summarize({ memory, engine, target: { kind: 'file', path: 'long.py' } });
    assert.equal(summary.length, 8);
    assert.deepEqual(coverage.sections, { total: 100, used: 8 });
    // 500 lines, cut into 8 runs of equal weight; the sections that two neighbouring runs give are at most two runs apart.
    const starts = [1, ...summary.map(({ places }) => places[0]!.startLine), 500];
    for (const [at, start] of starts.slice(1).entries()) assert.ok(start - starts[at]! <= 126, starts.join(' '));
    assert.match(
      summaryCoverageLine(coverage),
      /^The sentences are about 8 of 100 sections, 1 file; nothing is said of the others\. /,
    );
  });

  test('cancelled between sentences and within one: no more is written', async () => {
    const between = new AbortController();
    await assert.rejects(
      summarize({ memory, engine, target: file }, { signal: between.signal, onSentence: () => between.abort() }),
      codeOf('cancelled'),
    );
    assert.equal(engine.prompts.length, 1);
    const within = new AbortController();
    engine.answer = () => {
      within.abort();
      return 'half a sen';
    };
    await assert.rejects(summarize({ memory, engine, target: file }, { signal: within.signal }), codeOf('cancelled'));
    assert.equal(engine.prompts.length, 2);
  });

  test('a file that changes while its sentence is written gives no sentence', async () => {
    engine.answer = () => {
      void folder.write('src/pool.py', '# new\n');
      return '';
    };
    await memory.refresh();
    const { summary } = await summarize({ memory, engine, target: file });
    assert.deepEqual(summary, []);
  });

  test('what cannot be summarized: a message that says why', async () => {
    const of = (path: string) => summarize({ memory, engine, target: { kind: 'file', path } });
    await assert.rejects(of('missing.py'), codeOf('not-found'));
    await assert.rejects(of('logo.bin'), { code: 'unsupported', message: /logo\.bin is not read \(binary\)/ });
    await assert.rejects(of('empty.py'), { code: 'unsupported', message: /empty\.py is not read \(empty\)/ });
    await assert.rejects(summarize({ memory, engine, target: file, maxSentences: 0 }), codeOf('usage'));
  });
});

suite('parts of a summary', () => {
  test('sections: headings with their paragraphs, definitions with their doc comments', () => {
    const said = (path: string, text: string) =>
      sectionsOf(path, linesOf(text)).map(({ startLine, endLine, name, ownWords }) => [
        startLine,
        endLine,
        name,
        ownWords,
      ]);
    assert.deepEqual(said('a.md', guide), [[1, 7, 'Pool', 'A pool of connections.']]);
    const ts = [
      '/** Opens a door. Slowly. */',
      'export function open(door: Door): void {',
      '  door.swing();',
      '}',
      '',
      '// eslint-disable-next-line',
      'export const limit = 3;',
      '',
      '/**',
      ' * A door of wood.',
      ' * @see Window',
      ' */',
      'export class Door {',
      '  swing(): void {',
      '    turn(90);',
      '  }',
      '}',
    ];
    assert.deepEqual(said('a.ts', ts.join('\n')), [
      [1, 4, 'open', 'Opens a door.'],
      [6, 7, 'limit', undefined],
      [9, 17, 'Door', 'A door of wood.'],
    ]);
  });

  test('sections of any text: in order, apart, and no line with words is left out', () => {
    const line = fc.constantFrom('', '# a', 'def f():', '    x = 1', '    def g():', '}', '/** c */', 'word', '  - i');
    fc.assert(
      fc.property(fc.array(line, { maxLength: 120 }), fc.constantFrom('a.md', 'a.py'), (lines, path) => {
        const sections = sectionsOf(path, lines);
        let last = 0;
        const inside = new Set<number>();
        for (const { startLine, endLine } of sections) {
          assert.ok(startLine > last && endLine >= startLine && endLine <= lines.length);
          last = endLine;
          for (let at = startLine; at <= endLine; at++) inside.add(at);
        }
        lines.forEach((text, at) => assert.ok(text.trim() === '' || inside.has(at + 1), `line ${at + 1}: ${text}`));
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  test('first sentence: ends at a full stop before a new one, not at a file name or an abbreviation', () => {
    assert.equal(
      firstSentence(['Reads a.ts and b.ts, e.g. twice. Then', 'stops.']),
      'Reads a.ts and b.ts, e.g. twice.',
    );
    assert.equal(firstSentence(['E.g. `1 of 2` files. More.']), 'E.g. `1 of 2` files.');
    assert.equal(firstSentence(['See [the **guide**](g.md) now']), 'See the guide now');
    assert.equal(firstSentence(['----', '123']), undefined);
  });

  test('spread: the heaviest of each part of the weight, never more than asked for, never weight 0', () => {
    assert.deepEqual(spread([1, 5, 1, 1, 5, 1], 2), [1, 4]);
    assert.deepEqual(spread([1, 0, 2], 5), [0, 2]);
    assert.deepEqual(spread([100, 1, 1, 1], 2), [0, 1]);
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 100, noNaN: true })),
        fc.integer({ min: 1, max: 12 }),
        (all, most) => {
          const chosen = spread(all, most);
          assert.equal(chosen.length, Math.min(most, all.filter(weight => weight > 0).length));
          assert.deepEqual(
            chosen,
            [...new Set(chosen)].sort((a, b) => a - b),
          );
        },
      ),
      { seed: 3 },
    );
  });

  test('shares: one each, the rest to the larger, within the limits', () => {
    // √900 / 2 is still more than √100.
    assert.deepEqual(shares([100, 900], [3, 3], 4), [1, 3]);
    assert.deepEqual(shares([100, 900], [3, 1], 4), [3, 1]);
  });

  test('a sentence is faithful by its words, not by its begin', () => {
    const shown = 'def copyfile(src, dst):\n    """Copy data from src to dst."""';
    assert.equal(isFaithful(' is a Python function that copies data to dst.', shown, '`copyfile`', 0.75), true);
    assert.equal(isFaithful(' is a function that uses it.', shown, '`copyfile`', 0.75), false);
    assert.equal(isFaithful(' downloads models from a server.', shown, '`copyfile`', 0.75), false);
  });
});
