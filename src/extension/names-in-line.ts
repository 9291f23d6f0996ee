/**
 * Which names of a line are worth looking up: identifiers of code, not keywords, numbers, words of prose. One line at a time,
 * so a string or comment of several lines is told by its own marks only. Knows nothing of the editor.
 */

export interface NameInLine {
  readonly name: string;
  /** Offsets in the line, end excluded. */
  readonly start: number;
  readonly end: number;
  readonly isCall: boolean;
}

const identifier = /[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu;
const keywords = new Set(
  (
    'abstract and any as assert async await auto base begin bool boolean break byte case catch char class const constructor continue crate debugger ' +
    'declare def default defer del delete do double dyn echo elif else elsif end ensure enum export extends extern extends false False final finally ' +
    'float fn for foreach from func function global go goto if impl implements import in include inline instanceof int interface internal is keyof ' +
    'lambda let local long loop match mod module mut mutable namespace native never new next nil None nonlocal not null number object of operator or ' +
    'out override package pass private protected pub public puts raise readonly ref require rescue return satisfies sealed self Self short signed ' +
    'sizeof static str string struct super switch symbol template then this throw throws trait true True try type typedef typeof typename undefined ' +
    'union unknown unless unsafe unsigned until use using val var virtual void volatile when where while with yield'
  ).split(' '),
);
const proseLanguages = new Set(['markdown', 'plaintext', 'restructuredtext', 'asciidoc', 'latex', 'git-commit']);
const hashComments = new Set(
  'python ruby shellscript yaml toml ini properties dockerfile makefile perl r julia elixir powershell coffeescript'.split(
    ' ',
  ),
);

export function nameAt(line: string, character: number, languageId: string): NameInLine | undefined {
  return namesIn(line, languageId).find(({ start, end }) => character >= start && character <= end);
}

export function namesIn(line: string, languageId: string): NameInLine[] {
  // What a tool wrote is not read by anyone.
  if (line.length > 2000) return [];
  const kinds = kindsOf(line, languageId);
  const out: NameInLine[] = [];
  for (const match of line.matchAll(identifier)) {
    const name = match[0];
    const start = match.index;
    const end = start + name.length;
    if (name.length < 2 || keywords.has(name) || /[\p{N}]/u.test(line[start - 1] ?? '')) continue;
    const kind = kinds(start);
    // In prose a word is a name if it looks like one, or is marked as one.
    if (kind === 'prose' && !isCompound(name)) continue;
    out.push({ name, start, end, isCall: kind === 'code' && /^\s*(?:<[\w$, ]*>)?\(/.test(line.slice(end)) });
  }
  return out;
}

/**
 * What uses of one document have in common that mean the same: the name and what stands before its dot. Undefined where that
 * is not on the line, or depends on the class around: such a use stands alone.
 */
export function sharedUse(line: string, { name, start }: NameInLine): string | undefined {
  const left = line.slice(0, start);
  if (!/(?:\.|::|->)\s*$/.test(left)) return name;
  const receiver =
    /[\p{L}_$][\p{L}\p{M}\p{N}_$]*(?:(?:\.|::|->)[\p{L}_$][\p{L}\p{M}\p{N}_$]*)*(?=(?:\?\.|!\.|\.|::|->)\s*$)/u.exec(
      left,
    )?.[0];
  return receiver === undefined || /^(?:this|self|cls|super|base|parent)\b/i.test(receiver)
    ? undefined
    : `${receiver}.${name}`;
}

type Kind = 'code' | 'name' | 'prose';

/** What a place of the line is: code, a name in quotes or backticks, or prose. */
function kindsOf(line: string, languageId: string): (at: number) => Kind {
  const isProse = proseLanguages.has(languageId);
  const spans: { start: number; end: number; kind: Kind }[] = [];
  const comment = isProse ? -1 : commentStart(line, languageId);
  // A quote before a lifetime opens nothing.
  const quotes = isProse || /^\s*\*/.test(line) ? '`' : languageId === 'rust' ? '"' : `"'\``;
  for (let at = 0; at < line.length; at++) {
    const quote = line[at]!;
    const marks = comment >= 0 && at >= comment ? '`' : quotes;
    if (!marks.includes(quote)) continue;
    const end = closing(line, at);
    // An apostrophe, a lifetime, or a string that goes on below.
    if (end < 0) continue;
    const content = line.slice(at + 1, end);
    spans.push({ start: at, end, kind: /^[\w$.:/@-]*(?:\(\))?$/.test(content) ? 'name' : 'prose' });
    at = end;
  }
  const outside: Kind = isProse || /^\s*\*(?!\s*[\w$]+\s*\()/.test(line) ? 'prose' : 'code';
  return at =>
    spans.find(span => at > span.start && at < span.end)?.kind ?? (comment >= 0 && at >= comment ? 'prose' : outside);
}

function commentStart(line: string, languageId: string): number {
  const marks = hashComments.has(languageId)
    ? ['#']
    : ['//', '/*', ...(/sql|lua|haskell/.test(languageId) ? ['--'] : [])];
  for (let at = 0; at < line.length; at++) {
    if (`"'\``.includes(line[at]!)) {
      const end = closing(line, at);
      if (end > at) at = end;
    } else if (marks.some(mark => line.startsWith(mark, at))) return at;
  }
  return -1;
}

function closing(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === '\\') at++;
    else if (line[at] === line[start]) return at;
  }
  return -1;
}

function isCompound(name: string): boolean {
  return /[\p{L}\p{N}]_[\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name);
}
