/**
 * Questions that a source file answers itself: the first sentence of a function's doc comment asks for that function, in
 * the text without any doc comment (recall.md). Python, TypeScript and JavaScript, Go, Rust; by the starts of lines and
 * their indentation. Never runs or parses a program; what it does not understand it leaves out.
 */
import { functionHeads, type Head, type SourceLanguage, languageOfPath } from './function-heads.js';
import { indent, lastLineOf } from './function-extent.js';

export interface DocFunction {
  readonly name: string;
  /** Lines of the text without doc comments, counted from 1, both included. */
  readonly startLine: number;
  readonly endLine: number;
}

export interface DocQuestion {
  /** Index of the function that it asks for. */
  readonly function: number;
  readonly sentence: string;
}

export interface DocText {
  /** The file's text without its doc comments. */
  readonly text: string;
  readonly functions: readonly DocFunction[];
  readonly questions: readonly DocQuestion[];
}

/** Fewer words ask nothing. */
const LEAST_WORDS = 5;
/** Shorter functions say too little to be found by what they do. */
const LEAST_LINES = 3;

/** undefined for a file of another language. */
export function docQuestions(path: string, text: string): DocText | undefined {
  const language = languageOfPath(path);
  if (!language) return undefined;
  const lines = text.split(/\r\n|\r|\n/);
  const heads = functionHeads(language, lines);
  const comments = language === 'python' ? docstrings(lines) : docComments(language, lines);
  const dropped = new Set(comments.flatMap(({ first, last }) => range(first, last)));
  const newLine = new Map<number, number>();
  const kept: string[] = [];
  lines.forEach((line, at) => {
    if (!dropped.has(at + 1)) newLine.set(at + 1, kept.push(line));
  });
  const functions: DocFunction[] = [];
  const questions: DocQuestion[] = [];
  for (const head of heads) {
    const startLine = newLine.get(head.line);
    if (startLine === undefined) continue;
    const endLine = lastLineOf(kept, startLine, language);
    const comment = comments.find(own => (language === 'python' ? own.owner === head.line : belongs(own, head, lines)));
    const sentence = comment && firstSentence(comment.text, language, head.name);
    if (sentence !== undefined && endLine - startLine + 1 >= LEAST_LINES) {
      questions.push({ function: functions.length, sentence });
    }
    functions.push({ name: head.name, startLine, endLine });
  }
  return { text: kept.join('\n'), functions, questions };
}

interface DocComment {
  readonly first: number;
  readonly last: number;
  readonly text: string;
  /** Line of the definition whose docstring it is; 0 of a module. */
  readonly owner?: number;
}

const definition = /^\s*(?:async\s+)?(?:def|class)\s+\w+/;

function docstrings(lines: readonly string[]): DocComment[] {
  const out: DocComment[] = [];
  const open = /^\s*[rRuU]?("""|''')/;
  const take = (first: number, owner: number): void => {
    const mark = open.exec(lines[first - 1] ?? '');
    if (!mark) return;
    const quote = mark[1]!;
    const start = lines[first - 1]!.slice(mark[0].length);
    let last = first;
    let text = start;
    let close = start.indexOf(quote);
    while (close < 0 && last < lines.length) {
      last++;
      close = lines[last - 1]!.indexOf(quote);
      text += `\n${lines[last - 1]!}`;
    }
    if (close < 0) return;
    // A body that is a docstring alone stays: without it the function would end.
    if (owner > 0 && !hasMoreThan(lines, owner, last)) return;
    out.push({ first, last, text: text.slice(0, text.lastIndexOf(quote)), owner });
  };
  take(firstCode(lines, 1), 0);
  lines.forEach((line, at) => {
    if (definition.test(line)) take(firstCode(lines, endOfSignature(lines, at + 1) + 1), at + 1);
  });
  return out;
}

function hasMoreThan(lines: readonly string[], owner: number, last: number): boolean {
  const depth = indent(lines[owner - 1]!);
  const next = firstCode(lines, last + 1);
  return next <= lines.length && indent(lines[next - 1]!) > depth;
}

function firstCode(lines: readonly string[], from: number): number {
  let line = from;
  while (line <= lines.length && /^\s*(?:#.*)?$/.test(lines[line - 1]!)) line++;
  return line;
}

/** The line of the colon that ends a definition's head: the first that leaves no bracket open. */
function endOfSignature(lines: readonly string[], head: number): number {
  let open = 0;
  for (let line = head; line <= Math.min(lines.length, head + 40); line++) {
    const code = lines[line - 1]!.replace(/#.*$/, '');
    open += [...code.matchAll(/[([{]/g)].length - [...code.matchAll(/[)\]}]/g)].length;
    if (open <= 0 && /:\s*$/.test(code)) return line;
  }
  return head;
}

function docComments(language: SourceLanguage, lines: readonly string[]): DocComment[] {
  const out: DocComment[] = [];
  const marker = language === 'go' ? /^\s*\/\// : language === 'rust' ? /^\s*\/\/[/!]/ : undefined;
  for (let line = 1; line <= lines.length; line++) {
    const first = line;
    if (marker?.test(lines[line - 1]!)) {
      while (line < lines.length && marker.test(lines[line]!)) line++;
      const text = lines.slice(first - 1, line).map(own => own.replace(/^\s*\/\/[/!]?\s?/, ''));
      out.push({ first, last: line, text: text.join('\n') });
    } else if (language !== 'go' && /^\s*\/\*\*(?!\/)/.test(lines[line - 1]!)) {
      while (line < lines.length && !lines[line - 1]!.includes('*/')) line++;
      // Code behind a comment stays, and so does the comment then.
      if (!/\*\/\s*$/.test(lines[line - 1]!)) continue;
      const text = lines.slice(first - 1, line).map(own => own.replace(/^\s*\/?\*+\/?\s?|\s*\*+\/\s*$/g, ''));
      out.push({ first, last: line, text: text.join('\n') });
    }
  }
  return out;
}

/** A comment ends right above the head, but for decorators and attributes. */
function belongs(comment: DocComment, head: Head, lines: readonly string[]): boolean {
  if (comment.last >= head.line) return false;
  for (let line = comment.last + 1; line < head.line; line++) {
    if (!/^\s*(?:@|#\[|\)|\]|\}\)|.*,$)/.test(lines[line - 1]!)) return false;
  }
  return true;
}

/** The sentence in words, without the function's name; undefined if it asks too little or gives the name away. */
function firstSentence(text: string, language: SourceLanguage, name: string): string | undefined {
  const [paragraph = ''] = text.trim().split(/\n\s*(?:\n|@|#|[-*] |:param|Args:|Parameters)/);
  let [sentence = ''] = paragraph
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.!?])\s/);
  if (language === 'go' && sentence.startsWith(`${name} `)) {
    const rest = sentence.slice(name.length + 1);
    sentence = rest.charAt(0).toUpperCase() + rest.slice(1);
  }
  if (language === 'go' && sentence === paragraph && !/^[A-Z]/.test(sentence)) return undefined;
  sentence = sentence.replace(/\{@\w+ ([^}]*)\}/g, '$1').replace(/[`*]/g, '');
  if (sentence.split(' ').length < LEAST_WORDS || sentence.length > 400 || /^[@#]/.test(sentence)) return undefined;
  if (/copyright|licen[sc]e|eslint|@ts-/i.test(sentence)) return undefined;
  return new RegExp(`(?<![\\w$])${escaped(name)}(?![\\w$])`).test(sentence) ? undefined : sentence;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
