/**
 * The markup of an answer as data: paragraphs, headings, lists, code, bold, italics, struck-out citations. The text is the
 * model's: whatever stands in it, a link can only become of a place that was checked. Knows nothing of the editor.
 */
import type { Block, Inline, Place } from '../protocol/index.js';
import { findPlaces } from './answer-text.js';

/** An answer longer than this is shown in part. */
const mostCharacters = 100_000;
/** Bold in italics in bold: deeper markup stays text. */
const deepest = 3;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const item = /^\s{0,6}(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;
const rule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;

/** `checked`: a place within one of these becomes a link. */
export function markupOf(text: string, checked: readonly Place[]): Block[] {
  const links = new Links(checked);
  const shown = text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
  const blocks: Block[] = [];
  const lines = shown.split('\n');
  for (let at = 0; at < lines.length;) {
    const opened = fence.exec(lines[at]!)?.[1];
    if (opened !== undefined) {
      const end = lines.findIndex((line, index) => index > at && closes(line, opened));
      const stop = end < 0 ? lines.length : end;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, stop).join('\n') });
      at = stop + 1;
    } else if (lines[at]!.trim() === '' || rule.test(lines[at]!)) {
      at++;
    } else if (heading.test(lines[at]!)) {
      blocks.push({ kind: 'heading', inlines: inlinesOf(heading.exec(lines[at]!)![1]!, links) });
      at++;
    } else {
      const begin = at++;
      const isList = item.test(lines[begin]!);
      while (at < lines.length && continues(lines[at]!, isList)) at++;
      const part = lines.slice(begin, at);
      blocks.push(
        isList ? listOf(part, links) : { kind: 'paragraph', inlines: inlinesOf(part.join('\n').trim(), links) },
      );
    }
  }
  return blocks;
}

/** Text within one paragraph or item. `checked` as above. */
export function inlineMarkup(text: string, checked: readonly Place[]): Inline[] {
  return inlinesOf(text, new Links(checked));
}

function closes(line: string, opened: string): boolean {
  const trimmed = line.trim();
  return trimmed.startsWith(opened) && trimmed.replaceAll(opened[0]!, '') === '';
}

function continues(line: string, inList: boolean): boolean {
  if (line.trim() === '' || fence.test(line) || heading.test(line) || rule.test(line)) return false;
  return inList || !item.test(line);
}

function listOf(lines: readonly string[], links: Links): Block {
  const items: string[] = [];
  for (const line of lines) {
    const begun = item.exec(line)?.[3];
    if (begun === undefined) items.push(`${items.pop() ?? ''}\n${line.trim()}`);
    else items.push(begun);
  }
  const ordered = item.exec(lines[0]!)?.[2] !== undefined;
  return { kind: 'list', ordered, items: items.map(text => inlinesOf(text, links)) };
}

/** Code, bold, italics, struck out: in the order in which they are tried at one position. No part crosses an empty line. */
const spans = /(`+)([^\n]+?)\1(?!`)|\*\*(?=\S)([^\n]+?\S|\S)\*\*|\*(?=[^\s*])([^\n*]*[^\s*])\*|~~([^\n~]+)~~/g;

function inlinesOf(text: string, links: Links, depth = 0): Inline[] {
  const inlines: Inline[] = [];
  let at = 0;
  for (const match of text.matchAll(spans)) {
    inlines.push(...links.inText(text.slice(at, match.index)));
    const [whole, , code, strong, emphasis, struck] = match;
    if (code !== undefined) inlines.push(links.ofCode(code));
    else if (struck !== undefined) inlines.push({ kind: 'struck', text: struck });
    else if (depth >= deepest) inlines.push({ kind: 'text', text: whole });
    else if (strong !== undefined) inlines.push({ kind: 'strong', inlines: inlinesOf(strong, links, depth + 1) });
    else if (emphasis !== undefined) inlines.push({ kind: 'emphasis', inlines: inlinesOf(emphasis, links, depth + 1) });
    at = match.index + whole.length;
  }
  inlines.push(...links.inText(text.slice(at)));
  return inlines;
}

class Links {
  private readonly paths: string[];

  constructor(private readonly checked: readonly Place[]) {
    this.paths = checked.map(place => place.path);
  }

  inText(text: string): Inline[] {
    const inlines: Inline[] = [];
    let at = 0;
    const plain = (part: string): void => {
      if (part !== '') inlines.push({ kind: 'text', text: part });
    };
    for (const { place, start, end } of findPlaces(text, this.paths)) {
      const checked = this.checkedFor(place);
      if (!checked) continue;
      plain(text.slice(at, start));
      inlines.push({ kind: 'place', text: text.slice(start, end), place: checked });
      at = end;
    }
    plain(text.slice(at));
    return inlines;
  }

  ofCode(text: string): Inline {
    const code = /^ .*[^ ].* $/.test(text) ? text.slice(1, -1) : text;
    const found = findPlaces(code, this.paths)[0];
    const isWhole = found?.start === 0 && found.end === code.length;
    const place = isWhole ? this.checkedFor(found.place) : undefined;
    return place ? { kind: 'place', text: code, place } : { kind: 'code', text: code };
  }

  /** The place, with what is known of where it is in a document; undefined where it was not checked. */
  private checkedFor(place: Place): Place | undefined {
    const around = this.checked.filter(whole => isPlaceWithin(place, whole));
    // The closest one: a citation is often a part of what was recalled.
    const whole = around.sort((a, b) => a.endLine - a.startLine - (b.endLine - b.startLine))[0];
    return whole && { ...place, ...(whole.place !== undefined && { place: whole.place }) };
  }
}

export function isPlaceWithin(inner: Place, outer: Place): boolean {
  const { path, startLine, endLine } = inner;
  return path === outer.path && startLine >= outer.startLine && endLine <= outer.endLine && startLine <= endLine;
}
