/**
 * Cuts a text into the places a question can be answered with: definitions with their bodies, sections, paragraphs.
 * Knows indentation, blank lines and headings, not languages, so that it works on any. Never reads files and never scores.
 */
import type { Block } from './block.js';
import { codeBlocks } from './code-blocks.js';
import { proseBlocks } from './prose-blocks.js';

const proseNames =
  /(\.(md|markdown|mdx|rst|adoc|asciidoc|txt|text|org|tex|pdf|docx|ipynb)|(^|\/)(readme|changelog|authors|license|contributing)[^/.]*)$/i;

/** Lines of a text; the last one may be empty. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

/** The blocks of a text, in the order of their first lines, outer before inner. */
export function blocksOf(path: string, lines: readonly string[]): Block[] {
  const blocks = proseNames.test(path) ? proseBlocks(lines) : codeBlocks(lines);
  const seen = new Set<string>();
  return blocks
    .filter(block => {
      const key = `${block.startLine}-${block.endLine}`;
      if (block.endLine < block.startLine || seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .sort((a, b) => a.startLine - b.startLine || b.endLine - a.endLine);
}
