/** The last line of a function, by indentation and the line that closes it. */
import type { SourceLanguage } from './function-heads.js';

const MOST_LINES = 400;

export function lastLineOf(lines: readonly string[], head: number, language: SourceLanguage): number {
  const depth = indent(lines[head - 1]!);
  let last = head;
  for (let line = head + 1; line <= Math.min(lines.length, head + MOST_LINES); line++) {
    const text = lines[line - 1]!;
    if (text.trim() === '') continue;
    const own = indent(text);
    if (own < depth) break;
    if (own === depth) {
      // What closes the signature or the body stands as deep as the head; only a signature's end goes on.
      if (!/^\s*[)\]}]/.test(text)) break;
      last = line;
      const more = language === 'python' ? /:\s*(?:#.*)?$/ : /\{\s*$/;
      if (!more.test(text)) break;
      continue;
    }
    last = line;
  }
  return last;
}

/** Characters before the first one that is no space. */
export function indent(line: string): number {
  return line.length - line.trimStart().length;
}
