/** How deep a line stands, and which lines below belong to it. Knows no language: only the start of a line is looked at. */

/** How a line begins that closes what stands above it. */
export const closer =
  /^(?:[)\]}>]|end\b|fi\b|done\b|esac\b|else\b|elif\b|elsif\b|except\b|catch\b|finally\b|rescue\b|ensure\b)/;
const opener = /^\{/;
const invisible =
  /^(?:#\s*(?:if|ifdef|ifndef|else|elif|endif|define|undef|pragma|region|endregion)\b|(?:public|private|protected|signals|default)\b[^(]*:$)/;

/** Columns before the first character (a tab goes to the next multiple of 4); -1 for a blank or invisible line. */
export function indentOf(line: string): number {
  let columns = 0;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (c === ' ') columns++;
    else if (c === '\t') columns += 4 - (columns % 4);
    else return invisible.test(line.slice(i)) ? -1 : columns;
  }
  return -1;
}

/** The last line that belongs to the one at `head`: everything deeper, and the closing lines at its own depth. */
export function extent(
  lines: readonly string[],
  indents: readonly number[],
  head: number,
  last: number,
): { line: number; owns: boolean; bodyLine: number } {
  const depth = indents[head - 1]!;
  let end = head;
  let bodyLine = 0;
  for (let line = head + 1; line <= last; line++) {
    const indent = indents[line - 1]!;
    if (indent < 0) continue;
    if (indent > depth) bodyLine ||= line;
    else if (indent < depth) break;
    else {
      const text = lines[line - 1]!.trimStart();
      if (!(bodyLine > 0 && closer.test(text)) && !(bodyLine === 0 && line === head + 1 && opener.test(text))) break;
    }
    end = line;
  }
  if (bodyLine === 0) return { line: head, owns: false, bodyLine: head };
  return { line: end, owns: true, bodyLine };
}
