/**
 * Cuts a text into the sections a summary is made of, and finds what the text itself says of each: its heading or name, its
 * first sentence or doc comment. Knows the shapes of headings, comments and definitions, not languages. Never reads files.
 */
import { blocksOf, isProse, type Block } from '../memory/index.js';
import type { Place } from './citations.js';

export interface Section extends Place {
  readonly kind: 'prose' | 'code';
  /** Exact lines of the place. */
  readonly lines: readonly string[];
  /** A heading, or the identifier that is defined here. */
  readonly name?: string;
  /** The author's first sentence about it: of a doc comment, a docstring or the first paragraph. */
  readonly ownWords?: string;
  /** The line that names it, without what opens its body. */
  readonly head: string;
  /** How much it matters for the whole, at least 0. */
  readonly weight: number;
}

/** Sections in order; they do not overlap, and every line that is not blank is in one of them. */
export function sectionsOf(path: string, lines: readonly string[], firstLine = 1): Section[] {
  const kind = isProse(path) ? 'prose' : 'code';
  const blocks = partition(blocksOf(path, lines), lines);
  return (kind === 'prose' ? blocks : whole(blocks, lines)).map((block, at) => {
    const place = { path, startLine: block.startLine + firstLine - 1, endLine: block.endLine + firstLine - 1 };
    const own = lines.slice(block.startLine - 1, block.endLine);
    const headLine = lines[(block.headLine ?? block.startLine) - 1]!;
    const said = kind === 'prose' ? prose(own) : code(own, headLine);
    return { ...place, kind, lines: own, ...said, weight: weightOf(own, said, kind, at === 0) };
  });
}

/** The outermost blocks, and runs of lines that no block has. */
function partition(blocks: readonly Block[], lines: readonly string[]): Block[] {
  const out: Block[] = [];
  let next = 1;
  const fill = (before: number): void => {
    let [start, end] = [next, before - 1];
    while (start <= end && lines[start - 1]!.trim() === '') start++;
    while (end >= start && lines[end - 1]!.trim() === '') end--;
    if (start <= end) out.push({ startLine: start, endLine: end });
  };
  for (const block of blocks) {
    if (block.startLine < next) continue;
    fill(block.startLine);
    out.push(block);
    next = block.endLine + 1;
  }
  fill(lines.length + 1);
  return out;
}

/** Pieces of a body that is too long to be one block, put together again; definitions inside it stay apart. */
function whole(blocks: readonly Block[], lines: readonly string[]): Block[] {
  const out: Block[] = [];
  for (const block of blocks) {
    const head = lines[(block.headLine ?? block.startLine) - 1]!;
    const before = out.at(-1);
    if (before?.endLine === block.startLine - 1 && isComment(before, lines) && !listing.test(head)) {
      out[out.length - 1] = { ...block, startLine: before.startLine };
      continue;
    }
    const isPiece = /^[\s)\]}]/.test(head) && (control.test(head) || !(inner.test(head) && method.test(head)));
    if (before && isPiece && !definition.test(head.replace(variable, ''))) {
      out[out.length - 1] = { ...before, endLine: block.endLine };
    } else out.push(block);
  }
  return out;
}

function isComment({ startLine, endLine }: Block, lines: readonly string[]): boolean {
  return lines.slice(startLine - 1, endLine).every(line => comment.test(line));
}

type Said = Pick<Section, 'name' | 'ownWords' | 'head'>;

const heading = /^(?:#{1,6}|={1,6}|\*{1,6})\s+(.*?)[\s#=]*$/;
const underline = /^([=\-~^"'+#*])\1{2,}\s*$/;
/** Lines of prose that are no sentences: tables, badges, rules, directives, code, lists of links. */
const noSentence = /^\s*(?:$|\||!?\[|<|```|~~~|\.\.\s|:\w+:|[-=*_~^"'+#]{3,}\s*$)/;

function prose(lines: readonly string[]): Said {
  const first = lines[0]!;
  const marked = heading.exec(first)?.[1] ?? (underline.test(lines[1] ?? '') ? first.trim() : undefined);
  const text: string[] = [];
  let fenced = false;
  for (const line of lines.slice(marked === undefined ? 0 : 1)) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const isText = !fenced && !noSentence.test(line) && !heading.test(line);
    if (isText) text.push(line.trim().replace(/^(?:[-*+]|\d+[.)])\s+/, ''));
    else if (text.length > 0) break;
  }
  return { name: marked && plain(marked), ownWords: firstSentence(text), head: first.trim() };
}

const definition =
  /(?:^|[\s(])(?:def|class|function\*?|fn|func|fun|sub|proc|interface|struct|enum|trait|impl|module|namespace|protocol|object|type|record|const|let|var|val|message|service|macro|defn)\s+(?:\([^)]*\)\s*)?([\p{L}_$][\p{L}\p{N}_$]*)/u;
const method = /^\s*(?:[\w<>[\],*&:]+\s+)*([\p{L}_$#][\p{L}\p{N}_$]*)\s*(?:<[^>]*>)?\s*\(/u;
/** Head of a method: it opens a body. */
const inner = /\)[^;=]*[{:]\s*$/;
/** A call, ended or handed a function: it looks like a method's head and defines nothing. */
const call = /[;,]\s*$|\(.*(?:\bfunction\b|=>)/;
const variable = /\b(?:const|let|var|val|type)\s/g;
const control =
  /^\s*(?:[)\]}]|(?:if|for|foreach|while|switch|catch|try|return|throw|import|export\s*[*{]|from|require|else|elif|with|assert|await|yield|case|do|finally|except|raise)\b)/;

function code(lines: readonly string[], headLine: string): Said {
  const head = headLine
    .trim()
    .replace(/\s*(?:\{|:|=>\s*[{(]?|=\s*[{([]?)$/, '')
    .slice(0, 160);
  const name = control.test(head)
    ? undefined
    : (definition.exec(head)?.[1] ?? (call.test(headLine) ? undefined : method.exec(head)?.[1]));
  return { name, ownWords: docOf(lines, headLine), head };
}

const comment = /^\s*(?:\/\*\*?|\*|\/\/[/!]?|#(?!!|\[|\s*(?:if|ifdef|ifndef|include|define|pragma)\b)|--|;+)\s?/;
const docstring = /^\s*[rRuUbB]{0,2}("""|''')/;

/** First sentence of the comment that a block begins with, or of the docstring below its head. */
function docOf(lines: readonly string[], headLine: string): string | undefined {
  const text: string[] = [];
  for (const line of lines) {
    const mark = comment.exec(line);
    if (!mark) break;
    const words = line
      .slice(mark[0].length)
      .replace(/\*\/\s*$/, '')
      .trim();
    if (/^@|^(?:eslint|prettier|ts-|noqa|pylint|type:|copyright|spdx|licen[sc]e)/i.test(words)) break;
    if (words === '' && text.length > 0) break;
    if (/[\p{L}]/u.test(words)) text.push(words);
    if (line.includes('*/')) break;
  }
  if (text.length > 0) return firstSentence(text);
  const after = docstring.test(lines[0]!) ? 0 : lines.indexOf(headLine) + 1;
  const opens = lines.findIndex((line, at) => at >= after && at < after + 8 && docstring.test(line));
  if (opens < 0) return undefined;
  const quote = docstring.exec(lines[opens]!)![1]!;
  let line = lines[opens]!.slice(lines[opens]!.indexOf(quote) + 3);
  for (let at = opens; at < lines.length; line = lines[++at] ?? '') {
    const [words = ''] = line.split(quote);
    if (words.trim() === '' && text.length > 0) break;
    if (words.trim() !== '') text.push(words.trim());
    if (line.includes(quote)) break;
  }
  return firstSentence(text);
}

/** Characters of a sentence that is quoted at most. */
const LONGEST_SENTENCE = 240;

/** The first sentence of joined lines, without marks of emphasis and links; undefined where there are no words. */
export function firstSentence(lines: readonly string[]): string | undefined {
  const text = plain(lines.join(' '));
  if (!/\p{L}{2}/u.test(text)) return undefined;
  const end = /(?<!\b(?:[Ee]\.g|[Ii]\.e|cf|vs|etc))[.!?](?=["')\]]*\s+["'(`]?[\p{Lu}\p{N}])|[。！？]/u.exec(text);
  const sentence = (end ? text.slice(0, end.index + 1) : text).trim();
  if (sentence.length <= LONGEST_SENTENCE) return sentence;
  return `${sentence.slice(0, sentence.lastIndexOf(' ', LONGEST_SENTENCE) || LONGEST_SENTENCE)} …`;
}

/** Markdown's links and emphasis as their words. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(\*\*|__)(?=\S)(.+?)\1/g, '$2')
    .replace(/\s+/g, ' ')
    .trim();
}

const exported = /^\s*(?:export\b|pub\b|public\b|module\.exports|def [a-z]|class [A-Z]|func [A-Z])/;
const listing =
  /^\s*(?:import\b|from\s+\S+\s+import\b|#include\b|using\b|require\b|export\s+(?:type\s+)?(?:\*|\{)|package\b|use\b)/;

/** Longer, named, documented, exported sections matter more, and the first one; lists of imports hardly. */
function weightOf(lines: readonly string[], said: Said, kind: Section['kind'], first: boolean): number {
  const characters = lines.reduce((sum, line) => sum + line.trim().length, 0);
  if (characters === 0) return 0;
  let weight = Math.sqrt(Math.min(characters, 4000));
  if (said.ownWords === undefined) weight *= 0.5;
  else if (first) weight *= 2;
  if (kind === 'prose') {
    const level = /^#{1,6}/.exec(said.head)?.[0].length ?? (said.name === undefined ? 4 : 2);
    return weight * (1.6 - 0.15 * level);
  }
  if (said.name !== undefined) weight *= 1.5;
  if (exported.test(said.head)) weight *= 1.5;
  return listing.test(said.head) && said.ownWords === undefined ? weight * 0.1 : weight;
}
