/**
 * What goes into chat and tool results: text of models and files made harmless, and answers cut at their places. Knows
 * nothing of the editor. The input is untrusted: it never becomes a link, an image, HTML or a command.
 */
import { fenced } from '../base/index.js';
import type { CitedPlace, CoverageCounts, Place, RecallReply, SummaryReply } from '../protocol/index.js';
import { findPlaces, placeShown, placeText, recalledShown } from './answer-text.js';

export type AnswerPart = { readonly markdown: string } | { readonly place: Place };

/** An answer as markdown with its places, where they hold, apart. */
export function answerParts(answer: string, citations: readonly CitedPlace[]): AnswerPart[] {
  const good = new Set(citations.filter(place => place.ok).map(placeText));
  const parts: AnswerPart[] = [];
  let at = 0;
  const paths = citations.filter(place => place.ok).map(place => place.path);
  for (const { place, start, end } of findPlaces(answer, paths)) {
    if (!good.has(placeText(place))) continue;
    // A place in backticks of its own: they go with it.
    const quoted = answer[start - 1] === '`' && answer[end] === '`' ? 1 : 0;
    if (start - quoted > at) parts.push({ markdown: plainMarkdown(answer.slice(at, start - quoted)) });
    parts.push({ place });
    at = end + quoted;
  }
  if (at < answer.length) parts.push({ markdown: plainMarkdown(answer.slice(at)) });
  return parts;
}

/** Keeps code, emphasis and lists; brackets, angle brackets, addresses and loose backticks become plain text. */
export function plainMarkdown(text: string): string {
  const lines = text.split(/\r\n?|\n/);
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const end = /^```[^`]*$/.test(lines[at]!) ? lines.findIndex((line, i) => i > at && closesFence(line)) : -1;
    if (end < 0) {
      out.push(plainLine(lines[at]!));
    } else {
      out.push(...lines.slice(at, end + 1));
      at = end;
    }
  }
  return out.join('\n');
}

function closesFence(line: string): boolean {
  return /^ {0,3}`{3,}[ \t]*$/.test(line);
}

function plainLine(line: string): string {
  return line
    .split(/((?<!`)`[^`]+`(?!`))/)
    .map((piece, at) => (at % 2 === 1 ? piece : escaped(piece)))
    .join('');
}

function escaped(text: string): string {
  return text
    .replace(/[\\[\]<>!&|`@]/g, '\\$&')
    .replace(/~{3,}/g, tildes => '\\~'.repeat(tildes.length))
    .replace(/(https?|ftp|mailto|command|file|vscode[\w-]*):/gi, '$1\\:')
    .replace(/(www)\./gi, '$1\\.');
}

/** Text of a file as a block of code, in the language that the end of its name says. */
export function fencedFile(text: string, path: string): string {
  return fenced(text, /\.(\w{1,12})$/.exec(path)?.[1]);
}

const counted = new Intl.NumberFormat('en-US');

/** E.g. `1,204 of 1,310 files read, 3 stale, 91 skipped`. */
export function coverageText(coverage: CoverageCounts): string {
  const count = (n: number): string => counted.format(n);
  const partly = coverage.partly === undefined ? '' : ` (${count(coverage.partly)} of them in part)`;
  const parts = [`${count(coverage.read)} of ${count(coverage.total)} files read${partly}`];
  for (const state of ['stale', 'waiting', 'coarse', 'skipped'] as const) {
    if (coverage[state] > 0) parts.push(`${count(coverage[state])} ${state}`);
  }
  return parts.join(', ');
}

/** For another model: each place as `path:line-line` with its exact text. */
export function recallText({ places, coverage }: RecallReply): string {
  const found = places.map(place => `${recalledShown(place)}\n${fenced(place.text)}`);
  const unread = coverage.waiting + coverage.stale;
  const hint = unread === 0 ? '' : ' (longview_ask reads unread files before it answers)';
  return [...(found.length > 0 ? found : ['Nothing was found.']), `${coverageText(coverage)}${hint}`].join('\n\n');
}

export function summaryText({ summary, coverage }: SummaryReply): string {
  const lines = summary.map(({ text, places }) =>
    places.length === 0 ? `- ${text}` : `- ${text} (${places.map(placeShown).join(', ')})`,
  );
  return [lines.length > 0 ? lines.join('\n') : 'There is nothing to summarize.', coverageText(coverage)].join('\n\n');
}
