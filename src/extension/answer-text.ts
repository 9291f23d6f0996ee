/**
 * The text of an answer document: question, what was recalled, the checked words (they end with coverage), figures.
 * Markdown, with places as plain `path:line-line`, which the document makes links of. Knows nothing of the editor.
 */
import { escaped } from '../base/index.js';
import type { AskReply, Place, RecalledPlace } from '../protocol/index.js';

export interface AnswerParts {
  readonly question: string;
  readonly recalled: readonly RecalledPlace[];
  /** What was written so far. */
  readonly text: string;
  /** Why the answer ended early. */
  readonly problem?: string;
  readonly reply?: AskReply;
}

export function renderAnswer({ question, recalled, text, problem, reply }: AnswerParts): string {
  const blocks = [`# ${question.replace(/\s+/g, ' ').trim()}`];
  if (recalled.length > 0) blocks.push(`Recalled:\n\n${recalled.map(place => `- ${recalledShown(place)}`).join('\n')}`);
  const words = (reply?.answer ?? text).trim();
  if (words !== '') blocks.push('---', words);
  if (problem !== undefined) blocks.push(`*${problem}*`);
  if (reply) blocks.push('---', figuresOf(reply));
  return `${blocks.join('\n\n')}\n`;
}

/** What the answer's own last line, the coverage, does not say. */
export function figuresOf({ timing, model, provider }: AskReply): string {
  const parts = [
    `${timing.readTokens} tokens read`,
    `first word after ${(timing.firstTokenMs / 1000).toFixed(1)} s`,
    `${model} on ${provider}`,
  ];
  return parts.join(' · ');
}

export function placeText({ path, startLine, endLine }: Place): string {
  const name = escaped(path);
  return startLine === endLine ? `${name}:${startLine}` : `${name}:${startLine}-${endLine}`;
}

/** `path:line-line (page 3)`: as `placeText`, and where that is in a document. */
export function placeShown(place: Place): string {
  return place.place === undefined ? placeText(place) : `${placeText(place)} (${place.place})`;
}

/** The same of a recalled place, and what its text leaves out. */
export function recalledShown(place: RecalledPlace): string {
  if (place.cut === undefined) return placeShown(place);
  return `${placeShown(place)}, cut: ${place.cut.toLocaleString('en-US')} more characters`;
}

/** True if the lines of places in that file are not the file's own: it is opened as a whole. */
export function isDocument(path: string): boolean {
  return /\.(pdf|docx|ipynb)$/i.test(path);
}

export interface PlaceInText {
  readonly place: Place;
  /** Offsets in the text, end excluded. */
  readonly start: number;
  readonly end: number;
}

/** Where the text names a line of one of `paths`; struck-out places are left alone. */
export function findPlaces(text: string, paths: readonly string[]): PlaceInText[] {
  const found: PlaceInText[] = [];
  // Longest first, so that `lib/a.js` wins over `a.js` inside it.
  const alternatives = [...new Set(paths)].sort((a, b) => b.length - a.length).map(escapePattern);
  if (alternatives.length === 0) return found;
  const pattern = new RegExp(`(?<![\\w/.~-])(${alternatives.join('|')}):(\\d+)(?:[-–](\\d+))?`, 'g');
  for (const match of text.matchAll(pattern)) {
    const startLine = Number(match[2]);
    const place = { path: match[1]!, startLine, endLine: match[3] === undefined ? startLine : Number(match[3]) };
    found.push({ place, start: match.index, end: match.index + match[0].length });
  }
  return found;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
