/**
 * A summary as text: a list of sentences, each with its places as plain `path:line-line`, which the document
 * makes links of; then notes and what the sentences rest on. Markdown. Knows nothing of the editor.
 */
import type { SummaryReply, SummarySentence } from '../protocol/index.js';
import { placeShown } from './answer-text.js';

export interface SummaryParts {
  readonly title: string;
  /** What is there so far. */
  readonly sentences: readonly SummarySentence[];
  /** Why the summary ended early. */
  readonly problem?: string;
  readonly reply?: SummaryReply;
}

export function renderSummary({ title, sentences, problem, reply }: SummaryParts): string {
  const blocks = [`# ${title.replace(/\s+/g, ' ').trim()}`];
  const shown = reply?.summary ?? sentences;
  if (shown.length > 0) blocks.push(shown.map(sentenceText).join('\n'));
  if (problem !== undefined) blocks.push(`*${problem}*`);
  if (reply) blocks.push(...reply.notes, '---', reply.basis);
  return `${blocks.join('\n\n')}\n`;
}

export function renderSummaryWithFigures(parts: SummaryParts): string {
  const figures = parts.reply ? `\n${figuresOfSummary(parts.reply)}\n` : '';
  return `${renderSummary(parts)}${figures}`;
}

export function figuresOfSummary({ timing, model }: SummaryReply): string {
  return `${timing.readTokens} tokens read · ${(timing.totalMs / 1000).toFixed(1)} s · ${model}`;
}

function sentenceText({ text, places }: SummarySentence): string {
  return `- ${text} (${places.map(placeShown).join(', ')})`;
}
