/**
 * Whether a text gives a name a meaning of its own anywhere: declares it inside of something, assigns it, loops over it, takes
 * it as a parameter or out of an object. By what stands around each place, for many languages; no parser. For doubt only:
 * what it finds may be in another scope, and what it misses is not certain by that.
 */
import type { Family } from '../memory/index.js';

/** Places of a name that are looked at; how far around each, and how far on its own line, in characters. */
const MOST_PLACES = 300;
const AROUND = 1200;
const ON_LINE = 200;
/** Brackets around a place that are looked at. */
const MOST_BRACKETS = 4;

const closingOf: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const typedFamilies: ReadonlySet<Family> = new Set(['curly', 'c']);
/** What ends a list of parameters without a word before it: `name(a, b) {`, `(a, b) =>`. */
const bodyOfSome: ReadonlySet<Family> = new Set(['script', 'curly', 'c']);
/** Where `name => value` takes a parameter. */
const lambdas: ReadonlySet<Family> = new Set(['script', 'curly']);

const declares =
  /(?:^|[^\w$.])(?:(?:function\s*\*?|class|def|fn|func|fun|struct|enum|interface|trait|record|object|module|namespace|type)|(?:const|let|var|val|my|local|auto)(?:\s+(?:mut|ref))?(?:\s+[\w$]+\s*,)*|catch\s*\(|lambda(?:\s+[\w$]+\s*,)*)\s*$/;
const startsStatement =
  /(?:^|[;{}(])\s*(?:(?:if|for|switch|while|else|var|let|const)\s+)?(?:[\w$.*()\s]*,\s*)?[*(]?\s*$/;
const assigned = /^\s*(?::\s*[\w.[\], |"'<>]+)?(?::=|=(?![=>~]))/;
const assignedInList = /^\s*\)?\s*(?:,\s*\*?[\w$.]*\s*)+\)?\s*(?::=|=(?![=>~]))/;
const typeBefore =
  /(?:^|[;{}(,<])\s*(?:(?:const|static|final|unsigned|struct|enum|volatile|extern|readonly|ref|out)\s+)*(?<type>[A-Za-z_][\w.:]*)(?:<[^;(){}]*>|\[\])?(?:\s+[*&]*|[*&?]+\s+)$/;
const noType =
  /^(?:return|new|else|case|throw|goto|in|is|as|extends|implements|import|package|using|typeof|sizeof|await|yield|delete|not|and|or|throws|instanceof|operator|where)$/;
const modifiers =
  /^(?:\s|\.\.\.|[*&]|(?:mut|ref|public|private|protected|readonly|override|final|val|var)\b|@[\w.]+(?:\([^()]*\))?)*$/;
const control =
  /(?:^|[^\w$.])(?:if|while|for|switch|with|catch|return|match|until|unless|when|foreach|elif|using|lock)\s*$/;
const named = /(?:^|[^\w$.])(?:def|fn|func|fun|function)\b[^()\n]*(?:\([^()]*\)[^()\n]*)?$/;
const body = /^\s*(?:(?::|->|throws\b|noexcept\b|const\b|override\b)[^;=(){}]*(?:\([^()]*\))?[^;=(){}]*)?(?:\{|=>)/;

export function bindsAnywhere(name: string, text: string, family: Family): boolean {
  if (family === 'prose' || family === 'data') return false;
  const place = new RegExp(
    `(?<![\\p{L}\\p{M}\\p{N}_$.])${name.replace(/\$/g, '\\$&')}(?![\\p{L}\\p{M}\\p{N}_$])`,
    'gu',
  );
  let seen = 0;
  for (const { index } of text.matchAll(place)) {
    if (++seen > MOST_PLACES) break;
    const before = text.slice(Math.max(0, index - AROUND), index);
    const after = text.slice(index + name.length, index + name.length + AROUND);
    if (bindsHere(before, after, family)) return true;
  }
  return false;
}

function bindsHere(before: string, after: string, family: Family): boolean {
  const left = before.slice(before.lastIndexOf('\n') + 1).slice(-ON_LINE);
  const right = /^[^\n]*/.exec(after.slice(0, ON_LINE))![0];
  if (declares.test(left)) return true;
  if (lambdas.has(family) && /^\s*=>/.test(right)) return true;
  // In Python `name=` between brackets is an argument.
  const isArgument = family === 'python' && before[opening(before, before.length)] === '(';
  if (!isArgument && startsStatement.test(left) && (assigned.test(right) || assignedInList.test(right))) return true;
  // `for (const [a, name] of all)`, `[name for name in all]`, `for (Type name : all)`.
  if (/\b(?:for|foreach)\b(?:(?!\b(?:in|of)\b)[^;:])*$/.test(left) && /^[^;=]*?(?:\s(?:in|of)\s|\s:\s)/.test(right))
    return true;
  if (family === 'python' && /\bas\s+\(?(?:\s*\w+\s*,)*\s*$/.test(left)) return true;
  if ((family === 'rust' || family === 'ruby') && /(?:^|[\s({,=])\|[^|=;]*$/.test(left) && /^[^|;]*\|/.test(right))
    return true;
  // `Some(name) =>` of a match.
  if (
    family === 'rust' &&
    /^\s*[\w:&(,\s]*[({]\s*(?:[\w\s,]*,\s*)?$/.test(left) &&
    /^[\w\s,.]*[)}]+\s*(?:if\b[^=]*)?=>/.test(right)
  )
    return true;
  if (typedFamilies.has(family) && isTyped(left) && /^\s*(?:=(?!=)|[;,)[]|:\s)/.test(right)) return true;
  return isInPattern(before, after, family);
}

function isTyped(left: string): boolean {
  const type = typeBefore.exec(left)?.groups?.['type'];
  return type !== undefined && !noType.test(type);
}

/** Whether a bracket around the place is a list of parameters or is assigned to, and the place one of its names. */
function isInPattern(before: string, after: string, family: Family): boolean {
  let from = before.length;
  let to = 0;
  for (let level = 0; level < MOST_BRACKETS; level++) {
    const end = from;
    from = opening(before, end);
    if (from < 0) return false;
    const bracket = before[from]!;
    const own = sinceComma(before.slice(from + 1, end));
    if (level === 0 ? !isNamed(own, after, bracket, family) : /[^:]:(?!:)|=/.test(own)) return false;
    // Statements stand between: it is a block.
    if (bracket === '{' && /;|\n\s*\n/.test(before.slice(from))) return false;
    to = closing(after, to, closingOf[bracket]!);
    if (to < 0) return false;
    const head = before.slice(Math.max(0, from - ON_LINE), from);
    const rest = after.slice(to, to + ON_LINE);
    const isIndex = bracket === '[' && /[\w$)\]]$/.test(head);
    if (!isIndex && /^\s*=(?![=>~])/.test(rest)) return true;
    if (bracket !== '(' || control.test(head)) continue;
    if (named.test(head)) return true;
    if (bodyOfSome.has(family) && body.test(rest)) return true;
  }
  return false;
}

/** Whether a place in a list is the name of its entry, not its type or its value. `own`: what stands before it in the entry. */
function isNamed(own: string, after: string, bracket: string, family: Family): boolean {
  const isFirst = modifiers.test(own);
  if (family === 'go') return isFirst && /^(?:\s*,\s*\w+)*\s+(?:\.\.\.)?[\w*[\]&]/.test(after);
  if (typedFamilies.has(family) && !isFirst) return isTyped(own) && /^\s*(?:[,)=[]|$)/.test(after);
  if (family === 'c') return false;
  const isRenamed = bracket === '{' && /^\s*["']?[\w$]+["']?\s*:\s*$/.test(own);
  return (isFirst || isRenamed) && /^\s*\??\s*(?:[:,)=}\]]|$)/.test(after);
}

/** The last entry of the start of a list. */
function sinceComma(text: string): string {
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at]!;
    if (')]}>'.includes(character) && !text.startsWith('=>', at - 1)) depth++;
    else if ('([{<'.includes(character)) depth--;
    else if (character === ',' && depth === 0) return text.slice(at + 1);
  }
  return text;
}

/** Where the bracket opens that is still open at `end`; -1 where there is none. */
function opening(text: string, end: number): number {
  let depth = 0;
  for (let at = end - 1; at >= 0; at--) {
    const character = text[at]!;
    if (character === ')' || character === ']' || character === '}') depth++;
    else if (character in closingOf && --depth < 0) return at;
  }
  return -1;
}

/** Behind the bracket that closes what is open at `start`; -1 where that is not the one given, or none. */
function closing(text: string, start: number, bracket: string): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at]!;
    if (character in closingOf) depth++;
    else if ((character === ')' || character === ']' || character === '}') && --depth < 0)
      return character === bracket ? at + 1 : -1;
  }
  return -1;
}
