/** Lines of a recalled place as they stand in the file, beside an answer: what they say is surely there. Never changes what it shows. */
import { fenced } from '../base/index.js';
import { linesOf, type RecalledSpan } from '../memory/index.js';
import type { Place } from './citations.js';
import { shownPlace } from './citations.js';
import { linesAbout, partAbout } from './lines-about.js';

const MOST_LINES = 8;
/** Of one line. */
const MOST_CHARACTERS = 240;

export interface Quote {
  readonly place: Place;
  /** Markdown: the place, and the lines as a block of code. */
  readonly text: string;
}

/** The lines of a span that say most about the question, `MOST_LINES` at most. */
export function quoteOf(
  span: Pick<RecalledSpan, 'path' | 'startLine' | 'text' | 'place' | 'focus'>,
  question: string,
): Quote {
  const lines = linesOf(span.text);
  const best = linesAbout(span, lines, question, MOST_LINES);
  const chosen = lines.slice(best, best + MOST_LINES);
  const startLine = span.startLine + best;
  const place = { path: span.path, startLine, endLine: startLine + chosen.length - 1 };
  const named = { ...place, ...(span.place !== undefined && { place: span.place }) };
  const text = chosen.map(line => shortened(line, question)).join('\n');
  return { place: named, text: `${shownPlace(named)}\n\n${fenced(text)}` };
}

/** Of a long line, what says most about the question. */
function shortened(line: string, question: string): string {
  const { start, text } = partAbout(line, question, MOST_CHARACTERS);
  if (text.length === line.length) return line;
  return `${start > 0 ? '… ' : ''}${text.trim()}${start + text.length < line.length ? ' …' : ''}`;
}
