/** Which lines begin inside a comment or a string of several lines. Knows quotes and comment marks, no grammar. */
import type { Family } from './definition.js';

interface Marks {
  /** Opening → closing. */
  readonly pairs: readonly (readonly [open: string, close: string])[];
  readonly quotes: string;
  readonly lineComment: string;
}

const marksOf: Readonly<Partial<Record<Family, Marks>>> = {
  python: {
    pairs: [
      ['"""', '"""'],
      ["'''", "'''"],
    ],
    quotes: `"'`,
    lineComment: '#',
  },
  script: {
    pairs: [
      ['/*', '*/'],
      ['`', '`'],
    ],
    quotes: `"'`,
    lineComment: '//',
  },
  go: {
    pairs: [
      ['/*', '*/'],
      ['`', '`'],
    ],
    quotes: `"'`,
    lineComment: '//',
  },
  rust: { pairs: [['/*', '*/']], quotes: '"', lineComment: '//' },
  curly: {
    pairs: [
      ['/*', '*/'],
      ['"""', '"""'],
    ],
    quotes: `"'`,
    lineComment: '//',
  },
  c: { pairs: [['/*', '*/']], quotes: `"'`, lineComment: '//' },
};

export function insideOf(family: Family, lines: readonly string[]): boolean[] {
  const marks = marksOf[family];
  if (!marks) return lines.map(() => false);
  const whole = scan(lines, marks);
  if (!whole.open) return whole.inside;
  // A mark that is never closed was none (a backtick in a pattern): comments alone are told then.
  const comments = scan(lines, { ...marks, pairs: marks.pairs.filter(([open, close]) => open !== close) });
  return comments.open ? lines.map(() => false) : comments.inside;
}

function scan(lines: readonly string[], { pairs, quotes, lineComment }: Marks): { inside: boolean[]; open: boolean } {
  let close: string | undefined;
  const inside = lines.map(line => {
    const begins = close !== undefined;
    let at = 0;
    while (at < line.length) {
      if (close !== undefined) {
        const end = line.indexOf(close, at);
        if (end < 0) break;
        if (close !== '*/' && line[end - 1] === '\\') {
          at = end + close.length;
          continue;
        }
        at = end + close.length;
        close = undefined;
        continue;
      }
      if (at === 0 && !pairs.some(([open]) => line.includes(open))) break;
      if (line.startsWith(lineComment, at)) break;
      const opened = pairs.find(([open]) => line.startsWith(open, at));
      if (opened) {
        close = opened[1];
        at += opened[0].length;
      } else if (quotes.includes(line[at]!)) {
        const end = closingQuote(line, at);
        at = end < 0 ? at + 1 : end + 1;
      } else at++;
    }
    return begins;
  });
  return { inside, open: close !== undefined };
}

function closingQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === '\\') at++;
    else if (line[at] === line[start]) return at;
  }
  return -1;
}
