/** What is shown of a definition, cut from the text it stands in: its lines, its signature, its comment. Never reads files. */
import { extent, indentOf } from '../indentation.js';
import { languageOf, type Definition } from './definition.js';

/** Lines counted from 1, both ends included. */
export interface DefinitionText {
  readonly startLine: number;
  /** Its last line, at most `MOST_LINES` in all. */
  readonly endLine: number;
  readonly signature: string;
  readonly documentation?: string;
  /** Exact text of the lines. */
  readonly text: string;
}

export const MOST_LINES = 60;
const SIGNATURE_LINES = 10;
const SIGNATURE_CHARACTERS = 600;
const DOCUMENTATION_LINES = 12;
const DOCUMENTATION_CHARACTERS = 800;

export function definitionText(path: string, lines: readonly string[], definition: Definition): DefinitionText {
  const { line } = definition;
  const { family } = languageOf(path);
  const last =
    family === 'prose' ? endOfSection(lines, line) : extent(lines, indentsFrom(lines, line), line, lines.length).line;
  const endLine = Math.min(last, line + MOST_LINES - 1);
  const signatureEnd = family === 'prose' || family === 'data' ? line : endOfSignature(lines, line, endLine);
  const documentation =
    family === 'prose'
      ? firstParagraph(lines, line, endLine)
      : (commentAbove(lines, line) ?? docstring(family, lines, signatureEnd));
  return {
    startLine: line,
    endLine,
    signature: signatureOf(lines, line, signatureEnd),
    ...(documentation ? { documentation } : {}),
    text: lines.slice(line - 1, endLine).join('\n'),
  };
}

/** Indentations [L]; only those from `line` as far as a definition may be shown are looked at. */
function indentsFrom(lines: readonly string[], line: number): number[] {
  const indents: number[] = [];
  const depth = indentOf(lines[line - 1]!);
  for (let at = line - 1; at < lines.length; at++) {
    indents[at] = indentOf(lines[at]!);
    // What stands less deep ends it; beyond the shown lines nothing matters.
    const indent = indents[at]!;
    if (at >= line && ((indent >= 0 && indent < depth) || at - line > MOST_LINES)) {
      indents.length = lines.length;
      indents.fill(-1, at + 1);
      break;
    }
  }
  return indents;
}

function endOfSection(lines: readonly string[], line: number): number {
  const level = /^[#=]+/.exec(lines[line - 1]!)?.[0].length ?? 1;
  for (let at = line; at < lines.length; at++) {
    const marks = /^(#{1,6}|={1,6})\s/.exec(lines[at]!)?.[1];
    if (marks && marks.length <= level) return at;
  }
  return lines.length;
}

/** The line on which the brackets of the head are closed. */
function endOfSignature(lines: readonly string[], line: number, endLine: number): number {
  let depth = 0;
  for (let at = line; at <= Math.min(endLine, line + SIGNATURE_LINES - 1); at++) {
    for (const character of lines[at - 1]!) {
      if (character === '(' || character === '[') depth++;
      if (character === ')' || character === ']') depth--;
    }
    if (depth <= 0) return at;
  }
  return line;
}

function signatureOf(lines: readonly string[], line: number, end: number): string {
  const head = lines.slice(line - 1, end);
  const margin = Math.min(...head.filter(text => text.trim() !== '').map(text => /^\s*/.exec(text)![0].length));
  const text = head.map(one => one.slice(margin).trimEnd()).join('\n');
  const bare = text.replace(/\s*\{$/, '');
  return bare.length <= SIGNATURE_CHARACTERS ? bare : `${bare.slice(0, SIGNATURE_CHARACTERS)}…`;
}

const lineMark = /^\s*(?:\/\/[/!]?|#(?!\[|!)+|--|;+)\s?/;
const aboveHead = /^\s*(?:@|#\[|\[[A-Z]|template\s*<)/;

function commentAbove(lines: readonly string[], line: number): string | undefined {
  let at = line - 1;
  while (at > 0 && aboveHead.test(lines[at - 1]!)) at--;
  // A block comment may stand one blank line above what it is about.
  if (at > 1 && lines[at - 1]!.trim() === '' && /\*\/\s*$/.test(lines[at - 2]!)) at--;
  if (at === 0) return undefined;
  if (/\*\/\s*$/.test(lines[at - 1]!)) {
    let start = at;
    while (start > 1 && !lines[start - 1]!.includes('/*') && at - start < 200) start--;
    if (!/^\s*\/\*/.test(lines[start - 1]!)) return undefined;
    return cleaned(
      lines.slice(start - 1, at).map(text =>
        text
          .replace(/^\s*\/\*+!?\s?/, '')
          .replace(/\s*\*+\/\s*$/, '')
          .replace(/^\s*\*\s?/, ''),
      ),
    );
  }
  const comment: string[] = [];
  while (at > 0 && lineMark.test(lines[at - 1]!) && comment.length < 200)
    comment.unshift(lines[--at]!.replace(lineMark, ''));
  return cleaned(comment);
}

/** Python's: the string that is the body's first statement. */
function docstring(family: string, lines: readonly string[], signatureEnd: number): string | undefined {
  if (family !== 'python') return undefined;
  let at = signatureEnd;
  while (at < lines.length && lines[at]!.trim() === '') at++;
  const quote = /^\s*[rRuU]?("""|'''|"|')/.exec(lines[at] ?? '');
  if (!quote) return undefined;
  const text: string[] = [];
  let rest = lines[at]!.slice(quote[0].length);
  for (let seen = 0; seen < 200; seen++) {
    const end = rest.indexOf(quote[1]!);
    text.push(end < 0 ? rest : rest.slice(0, end));
    if (end >= 0 || quote[1]!.length === 1) break;
    rest = lines[++at] ?? quote[1]!;
  }
  return cleaned(text);
}

function firstParagraph(lines: readonly string[], line: number, endLine: number): string | undefined {
  let at = line;
  while (at < endLine && /^\s*(?:[=~^"-]{3,})?\s*$/.test(lines[at]!)) at++;
  const out: string[] = [];
  while (at < endLine && lines[at]!.trim() !== '' && !/^[#=]/.test(lines[at]!)) out.push(lines[at++]!);
  return cleaned(out);
}

/** Without margin, outer blank lines and what is too much. */
function cleaned(text: readonly string[]): string | undefined {
  const rest = text.slice(1).filter(line => line.trim() !== '');
  const margin = rest.length > 0 ? Math.min(...rest.map(line => /^\s*/.exec(line)![0].length)) : 0;
  const flat = text.map((line, at) => (at === 0 ? line.trim() : line.slice(margin).trimEnd()));
  while (flat.length > 0 && flat[0] === '') flat.shift();
  while (flat.length > 0 && flat.at(-1) === '') flat.pop();
  if (flat.length === 0) return undefined;
  let out = flat.slice(0, DOCUMENTATION_LINES).join('\n');
  if (flat.length > DOCUMENTATION_LINES) out += '\n…';
  return out.length <= DOCUMENTATION_CHARACTERS ? out : `${out.slice(0, DOCUMENTATION_CHARACTERS)}…`;
}
