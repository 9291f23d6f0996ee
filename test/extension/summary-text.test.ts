/** The text of a summary's document, while it grows, when it is complete and when it failed. */
import assert from 'node:assert/strict';
import { findPlaces } from '../../src/extension/answer-text.js';
import { renderSummary, renderSummaryWithFigures } from '../../src/extension/summary-text.js';
import type { SummaryReply } from '../../src/protocol/index.js';

suite('summary text', () => {
  const sentence = {
    text: '`a.ts` changed in 1 place (+1 −0 lines): `open`: “Opens a door.”',
    places: [
      { path: 'a.ts', startLine: 3, endLine: 3 },
      { path: 'a.ts', startLine: 1, endLine: 9 },
    ],
    quoted: true,
  };
  const reply: SummaryReply = {
    summary: [sentence],
    notes: ['Deleted: `b.ts`.'],
    coverage: { total: 2, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 0 },
    basis: 'The sentences are about 1 of 4 sections.',
    timing: { totalMs: 2340, readTokens: 7, writtenTokens: 9 },
    model: 'Tiny',
  };

  test('grows by sentences, each with its places; ends with notes and basis', () => {
    assert.equal(renderSummary({ title: 'Summary of a', sentences: [] }), '# Summary of a\n');
    const line = `- ${sentence.text} (a.ts:3, a.ts:1-9)`;
    assert.equal(renderSummary({ title: 'Summary of a', sentences: [sentence] }), `# Summary of a\n\n${line}\n`);
    assert.equal(
      renderSummary({ title: 'Summary of a', sentences: [], reply }),
      `# Summary of a\n\n${line}\n\nDeleted: \`b.ts\`.\n\n---\n\nThe sentences are about 1 of 4 sections.\n`,
    );
    assert.ok(
      renderSummaryWithFigures({ title: 'Summary of a', sentences: [], reply }).endsWith(
        ' of 4 sections.\n\n7 tokens read · 2.3 s · Tiny\n',
      ),
    );
  });

  test('a summary that was stopped keeps its sentences and says so', () => {
    const text = renderSummary({ title: 'T', sentences: [sentence], problem: 'Stopped.' });
    assert.ok(text.includes('a.ts:1-9') && text.endsWith('\n\n*Stopped.*\n'));
  });

  test('its places are found again for the links, and no path without lines', () => {
    const text = renderSummary({ title: 'T', sentences: [sentence] });
    assert.deepEqual(
      findPlaces(text, ['a.ts']).map(({ place }) => place),
      sentence.places,
    );
  });
});
