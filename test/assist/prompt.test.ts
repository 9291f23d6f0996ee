/** Prompts stay within their budget whatever question and files look like. Tokens are counted as characters here. */
import assert from 'node:assert/strict';
import { placeOf, promptOf } from '../../src/assist/index.js';
import { referencesIn } from '../../src/assist/citations.js';

const countTokens = (text: string): Promise<number> => Promise.resolve(text.length);
const span = (text: string) => ({ path: 'farm.md', startLine: 3, endLine: 3, score: 1, text });

suite('prompt', () => {
  for (const style of ['plain', 'numbered'] as const) {
    test(`${style}: a paragraph on one line longer than the budget is shown as far as it fits`, async () => {
      const parts = { question: 'Who?', style, spans: [span('wombat '.repeat(500))], budget: 900, countTokens };
      const { messages, places } = await promptOf(parts);
      assert.deepEqual(places, [{ path: 'farm.md', startLine: 3, endLine: 3 }]);
      assert.match(messages[1]!.content, /(wombat ){20}/);
      assert.ok(messages[0]!.content.length + messages[1]!.content.length <= 900);
    });

    test(`${style}: of such a paragraph what says most about the question`, async () => {
      const text = `${'wombat '.repeat(300)}and the otter sleeps at noon ${'wombat '.repeat(300)}`;
      const parts = { question: 'When does the otter sleep?', style, spans: [span(text)], budget: 900, countTokens };
      const { messages, places } = await promptOf(parts);
      assert.deepEqual(places, [{ path: 'farm.md', startLine: 3, endLine: 3 }]);
      assert.match(messages[1]!.content, /wombat and the otter sleeps at noon wombat/);
    });

    test(`${style}: of a place that does not fit, the lines that say most about the question`, async () => {
      const lines = Array.from({ length: 60 }, (_, i) =>
        i === 40 ? 'the otter sleeps at noon' : `line ${i} of the farm`,
      );
      const spans = [{ ...span(lines.join('\n')), endLine: 62 }];
      const { messages, places } = await promptOf({
        ...{ question: 'When does the otter sleep?', style, spans, countTokens },
        budget: 900,
      });
      assert.match(messages[1]!.content, /the otter sleeps at noon/);
      const { startLine, endLine } = places[0]!;
      // Line 40 of the place, which begins at line 3.
      assert.ok(startLine <= 43 && 43 <= endLine && endLine - startLine < 59, `${startLine}-${endLine}`);
    });

    test(`${style}: where attention found lines, those, whatever words stand elsewhere`, async () => {
      const lines = Array.from({ length: 60 }, (_, i) =>
        i === 40 ? 'the otter sleeps at noon' : `line ${i} of the farm`,
      );
      const spans = [{ ...span(lines.join('\n')), endLine: 62, focus: { startLine: 10, endLine: 17 } }];
      const { places } = await promptOf({
        ...{ question: 'When does the otter sleep?', style, spans, countTokens },
        budget: 900,
      });
      const { startLine, endLine } = places[0]!;
      assert.ok(startLine <= 10 && 17 <= endLine && endLine < 43, `${startLine}-${endLine}`);
      // As many lines before the focus as after it, but for one.
      assert.ok(Math.abs(10 - startLine - (endLine - 17)) <= 1 || startLine === 3, `${startLine}-${endLine}`);
    });

    test(`${style}: a question of 10,000 characters leaves room for a passage`, async () => {
      const question = 'where? '.repeat(1500);
      const { messages, places } = await promptOf({
        question,
        style,
        spans: [span('one line')],
        budget: 900,
        countTokens,
      });
      assert.equal(places.length, 1);
      assert.ok(messages[0]!.content.length + messages[1]!.content.length <= 900);
    });
  }

  test('a place of the prompt is found as it stands there, whatever signs its path has', () => {
    for (const path of ['c#/walrus.cs', 'otter:old.c', '~walrus.c', 'x\\y.c', 'a`b.md']) {
      const place = { path, startLine: 1, endLine: 2 };
      const text = `In \`${placeOf(place)}\`, the walrus.`;
      const [found, ...more] = referencesIn(text, [place], name => name === path);
      assert.deepEqual(found, { ...place, from: 3, to: 3 + placeOf(place).length + 2 });
      assert.deepEqual(more, []);
    }
  });
});
