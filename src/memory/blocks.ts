/**
 * Cuts a text into the places a question can be answered with: definitions with their bodies, sections, paragraphs.
 * Knows indentation, blank lines and headings, not languages, so that it works on any. Never reads files and never scores.
 */
import type { Block } from './block.js';
import { codeBlocks } from './code-blocks.js';
import { proseBlocks } from './prose-blocks.js';

const proseNames =
  /(\.(md|markdown|mdx|rst|adoc|asciidoc|txt|text|org|tex|pdf|docx|ipynb)|(^|\/)(readme|changelog|authors|license|contributing)[^/.]*)$/i;

/** Comments, decorators and attributes above the line that names a definition. */
const aside = /^\s*(?:$|@|\/\/|\/?\*|--|;|#)/;

/** Lines of a text; the last one may be empty. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

/** Lines of a text without an empty one at its end. */
export function lineCountOf(text: string): number {
  let count = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Whether a file of that name holds sentences rather than code or data. */
export function isProse(path: string): boolean {
  return proseNames.test(path);
}

/** The blocks of a text, in the order of their first lines, outer before inner. */
export function blocksOf(path: string, lines: readonly string[]): Block[] {
  const prose = isProse(path);
  const blocks = prose ? proseBlocks(lines) : codeBlocks(lines);
  const seen = new Set<string>();
  return blocks
    .filter(block => {
      const key = `${block.startLine}-${block.endLine}`;
      if (block.endLine < block.startLine || seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .sort((a, b) => a.startLine - b.startLine || b.endLine - a.endLine)
    .map(({ startLine, endLine }) => ({
      startLine,
      endLine,
      headLine: prose ? startLine : headOf(lines, startLine, endLine),
    }));
}

/** The first line that is no comment and no decorator. */
function headOf(lines: readonly string[], startLine: number, endLine: number): number {
  for (let line = startLine; line <= endLine; line++) if (!aside.test(lines[line - 1]!)) return line;
  return startLine;
}
