/**
 * Citations in what the model wrote: found, checked against the files, and struck out where they do not hold.
 * The text is untrusted. Never reads outside the workspace: every look at a file goes through the memory.
 */
import { escaped } from '../base/index.js';
import { lineCountOf, type WorkspaceMemory } from '../memory/index.js';

/** Lines count from 1, both ends included. */
export interface Citation {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** As in `Place`. */
  readonly place?: string;
  readonly ok: boolean;
  /** Why it does not hold. */
  readonly why?: string;
}

/** Lines of a file. */
export interface Place {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** Where the lines stand in a document, e.g. `page 3`; none where they are the file's own. */
  readonly place?: string;
}

/** A reference in a text, before it is checked. */
export interface Reference extends Place {
  /** Where it stands in the text. */
  readonly from: number;
  readonly to: number;
}

export interface CheckedText {
  /** Full paths in the citations that hold; the others as `~~path:line~~ (why)`. */
  readonly text: string;
  readonly citations: readonly Citation[];
}

type Files = Pick<WorkspaceMemory, 'files' | 'hashOf' | 'source' | 'placeName'>;

const range = String.raw`(?::L?|#L|,?\s+lines?\s+)(\d{1,7})(?:\s?[-–]\s?L?(\d{1,7}))?(?![\w:])`;
const quoted = new RegExp(String.raw`\x60([^\x60\n:#]{1,300}?)\x60?${range}\x60?`, 'gu');
const bare = new RegExp(String.raw`(?<![\p{L}\p{N}/\\.@~+-])([\p{L}\p{N}_@~+.\-/\\()\[\]$]{1,300}?)${range}`, 'gu');
const numbered = /(?<![\p{L}\p{N}_\])`])\[(\d{1,2}(?:\s*,\s*\d{1,2})*)\](?![([:\p{L}\p{N}])/gu;

/** A bracket before a path that is not closed in it. */
const opening = /^[([]+(?=[^)\]]*$)/;

/** All references in a text, by their place in it; `[n]` is the n-th of `places`. */
export function referencesIn(text: string, places: readonly Place[], isFile: (path: string) => boolean): Reference[] {
  const found: Reference[] = [];
  // Places of the prompt as they stand there, whatever signs their paths have.
  for (const place of places) {
    const literal = `\`${placeOf(place)}\``;
    for (let from = text.indexOf(literal); from >= 0; from = text.indexOf(literal, from + 1)) {
      found.push({ ...place, from, to: from + literal.length });
    }
  }
  const literals = [...found];
  const isTaken = (from: number, to: number): boolean => literals.some(one => from < one.to && to > one.from);
  for (const pattern of [quoted, bare]) {
    for (const match of text.matchAll(pattern)) {
      if (isTaken(match.index, match.index + match[0].length)) continue;
      if (pattern === quoted && closesCode(text, match.index)) continue;
      const path = tidy(match[1]!);
      if (!looksLikePath(path) && !isFile(path)) continue;
      const startLine = Number(match[2]);
      found.push({
        path,
        startLine,
        endLine: match[3] === undefined ? startLine : Number(match[3]),
        from: match.index + (opening.exec(match[1]!)?.[0].length ?? 0),
        to: match.index + match[0].length,
      });
    }
  }
  for (const match of text.matchAll(numbered)) {
    const numbers = match[1]!.split(',').map(Number);
    if (numbers.some(n => n < 1 || n > places.length)) continue;
    for (const n of numbers) {
      const { path, startLine, endLine } = places[n - 1]!;
      found.push({ path, startLine, endLine, from: match.index, to: match.index + match[0].length });
    }
  }
  found.sort((a, b) => a.from - b.from || b.to - a.to);
  return found.filter((one, at) => !found.slice(0, at).some(other => one.from < other.to && one.from !== other.from));
}

/** Checks one place; what lies within `shown` holds. */
export function checkPlace(place: Place, memory: Files, shown?: Place): Promise<Citation> {
  return check(place, memory, new Set(memory.files().map(file => file.path)), shown);
}

/** Finds and checks every reference of a text. What lies within `shown`, lines that the user selected, holds. */
export async function checkCitations(
  text: string,
  places: readonly Place[],
  memory: Files,
  shown?: Place,
): Promise<CheckedText> {
  const known = new Set(memory.files().map(file => file.path));
  const references = referencesIn(text, places, path => known.has(path));
  const checked = new Map<string, Citation>();
  let out = '';
  let at = 0;
  for (const [index, reference] of references.entries()) {
    const path = fullPath(reference.path, places, known);
    const key = placeOf({ ...reference, path });
    const citation = checked.get(key) ?? (await check({ ...reference, path }, memory, known, shown));
    checked.set(key, citation);
    const isList = index > 0 && references[index - 1]!.from === reference.from;
    out += isList ? ', ' : text.slice(at, reference.from);
    out += citation.ok ? shownPlace(citation) : `~~${key}~~ (${citation.why ?? 'not checked'})`;
    at = reference.to;
  }
  return { text: out + text.slice(at), citations: [...checked.values()] };
}

/** `path:line` or `path:line-line`, on one line whatever the path holds. */
export function placeOf({ path, startLine, endLine }: Place): string {
  return startLine === endLine ? `${escaped(path)}:${startLine}` : `${escaped(path)}:${startLine}-${endLine}`;
}

/** `path:line-line (page 3)`: as `placeOf`, and where that is in a document. */
export function placeInDocument(place: Place): string {
  return placeOf(place) + inDocument(place);
}

/** The same of a recalled place, and what its text leaves out. */
export function recalledPlace(span: Place & { readonly cut?: number }): string {
  if (span.cut === undefined) return placeInDocument(span);
  return `${placeInDocument(span)}, cut: ${span.cut.toLocaleString('en-US')} more characters`;
}

/** The same as Markdown: the lines as code. */
export function shownPlace(place: Place): string {
  return `\`${placeOf(place)}\`${inDocument(place)}`;
}

function inDocument({ place }: Place): string {
  return place === undefined ? '' : ` (${place})`;
}

export function placeOnly({ path, startLine, endLine, place }: Place): Place {
  return { path, startLine, endLine, ...(place !== undefined && { place }) };
}

export function isWithin(inner: Place, outer: Place): boolean {
  return (
    inner.path === outer.path &&
    inner.startLine >= outer.startLine &&
    inner.endLine <= outer.endLine &&
    inner.startLine <= inner.endLine
  );
}

export function overlaps(a: Place, b: Place): boolean {
  return a.path === b.path && a.startLine <= b.endLine && b.startLine <= a.endLine;
}

async function check(
  place: Place,
  memory: Files,
  known: ReadonlySet<string>,
  shown: Place | undefined,
): Promise<Citation> {
  const { path, startLine, endLine } = place;
  if (shown && isWithin(place, shown)) return { path, startLine, endLine, ok: true };
  const failed = (why: string): Citation => ({ path, startLine, endLine, ok: false, why });
  if (isOutside(path) && !known.has(path)) return failed('outside the folder');
  if (!known.has(path)) return failed('no such file');
  if (memory.hashOf(path) === undefined) return failed('file was not read');
  const source = await memory.source(path);
  if (!source.ok) return failed(source.reason);
  const count = lineCountOf(source.value);
  if (startLine < 1 || endLine < startLine) return failed('no such lines');
  if (endLine > count) return failed(`the file has ${count} lines`);
  const named = await memory.placeName(path, startLine, endLine);
  return { path, startLine, endLine, ...(named !== undefined && { place: named }), ok: true };
}

/** True if the tick at that place ends what an earlier one on its line began. */
function closesCode(text: string, tick: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', tick - 1) + 1, tick);
  return line.split('`').length % 2 === 0;
}

function tidy(path: string): string {
  return path
    .trim()
    .replace(/\\/g, '/')
    .replace(opening, '')
    .replace(/^(?:\.\/)+/, '');
}

function looksLikePath(path: string): boolean {
  return /[\p{L}_]/u.test(path) && (path.includes('/') ? !path.startsWith('//') : /\.[A-Za-z]\w{0,9}$/.test(path));
}

function isOutside(path: string): boolean {
  return path.startsWith('/') || path.startsWith('~') || /^[A-Za-z]:/.test(path) || path.split('/').includes('..');
}

/** A model often writes only the end of a path: if exactly one place, or one file, ends so, that is meant. */
function fullPath(path: string, places: readonly Place[], known: ReadonlySet<string>): string {
  if (known.has(path) || isOutside(path)) return path;
  for (const paths of [new Set(places.map(place => place.path)), known]) {
    const fitting = [...paths].filter(other => other.endsWith(`/${path}`));
    if (fitting.length === 1) return fitting[0]!;
  }
  return path;
}
