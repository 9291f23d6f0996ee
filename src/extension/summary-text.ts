/**
 * The text of a summary's document: a list of sentences, each with its places as plain `path:line-line`, which the document
 * makes links of; then notes and what the sentences rest on. Markdown. Knows nothing of the editor.
 */
import type { SummaryReply, SummarySentence } from '../protocol/index.js';
import { placeText } from './answer-text.js';

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
  if (reply) {
    blocks.push(...reply.notes, '---', reply.basis);
    blocks.push(
      `${reply.timing.readTokens} tokens read · ${(reply.timing.totalMs / 1000).toFixed(1)} s · ${reply.model}`,
    );
  }
  return `${blocks.join('\n\n')}\n`;
}

/** Paths that the sentences may link to. */
export function pathsOf({ sentences, reply }: SummaryParts): string[] {
  return (reply?.summary ?? sentences).flatMap(({ places }) => places.map(place => place.path));
}

function sentenceText({ text, places }: SummarySentence): string {
  return `- ${text} (${places.map(placeText).join(', ')})`;
}
